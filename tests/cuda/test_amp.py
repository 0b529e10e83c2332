"""Mixed precision: which calls get which type, gradients, and the scaler."""

import numpy as np
import pytest

import cuda_library
import dygraph
from dygraph import amp, nn
from dygraph import ops as F
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    NotFoundError,
    PreconditionNotMetError,
    UnimplementedError,
)

PLACE = cuda_library.place()
HOST = dygraph.CPUPlace()
PLACES = [HOST, *([PLACE] if PLACE else [])]
on_device = pytest.mark.skipif(PLACE is None, reason="no CUDA library")
pytestmark = pytest.mark.filterwarnings("ignore:.*has no kernel for CUDAPlace")


@pytest.fixture(params=PLACES, ids=str)
def place(request):
    with cuda_library.on(request.param):
        yield request.param


def leaf(values, dtype="float32"):
    x = dygraph.to_variable(np.asarray(values, dtype))
    x.stop_gradient = False
    return x


@on_device
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_products_are_narrow_where_the_device_takes_them(dtype):
    with cuda_library.on(PLACE):
        x, w = leaf(np.full((2, 3), 1 / 3)), leaf(np.ones((3, 4)))
        with amp.auto_cast(dtype=dtype):
            y = x @ w
            assert y.dtype.name == dtype
            assert dygraph.exp(y).dtype.name == "float32"
            assert F.softmax(y).dtype.name == "float32"
            assert y.sum().dtype.name == y.mean().dtype.name == "float32"
            assert (y + x[0, 0]).dtype.name == "float32"  # of two types
            y.sum().backward()
        assert x.grad.dtype.name == w.grad.dtype.name == "float32"
        np.testing.assert_allclose(x.grad.numpy(), np.full((2, 3), 4.0))
        np.testing.assert_allclose(w.grad.numpy(), np.full((3, 4), 2 / 3), rtol=1e-2)
        third = float(leaf([1 / 3]).astype(dtype).astype("float32").item())
        assert w.grad.numpy()[0, 0] == pytest.approx(2 * third, rel=1e-3)


def test_what_has_no_narrow_kernel_computes_in_float32(place):
    x, w = leaf(np.ones((2, 3))), leaf(np.ones((3, 4)))
    with amp.auto_cast():
        y = F.mul(x, w) if place == HOST else x @ w
        z = F.relu(y)
    assert z.tolist() == [[3.0] * 4] * 2
    z.astype("float32").sum().backward()
    assert w.grad.tolist() == [[2.0] * 4] * 3


def test_other_types_are_left_alone(place):
    x = leaf(np.ones((2, 2)), "float64")
    n = dygraph.to_variable(np.ones((2, 2), "int64"))
    with amp.auto_cast():
        assert (x @ x).dtype.name == "float64" and (n @ n).dtype.name == "int64"
        assert dygraph.to_variable([1.0]).dtype.name == "float32"


def test_lists_may_be_changed(place):
    x = leaf(np.ones((2, 2)))
    narrow = place != HOST
    with amp.auto_cast(custom_black_list={"matmul_v2"}):
        assert (x @ x).dtype.name == "float32"
    with amp.auto_cast():
        y = x @ x
    assert y.dtype.name == ("float16" if narrow else "float32")
    half = dygraph.to_variable(np.ones((2, 2), "float16"))
    with amp.auto_cast(custom_white_list=["exp"]):
        dygraph.exp(half)
    assert "matmul_v2" in amp.white_list() and "softmax" in amp.black_list()
    assert not amp.white_list() & amp.black_list()
    names = set(dygraph.op_names())
    assert amp.white_list() | amp.black_list() <= names
    with pytest.raises(InvalidArgumentError, match="on one list only"):
        amp.auto_cast(custom_white_list={"exp"}, custom_black_list={"exp"})
    with pytest.raises(NotFoundError):
        amp.auto_cast(custom_white_list={"no_such_operator"})
    with pytest.raises(ArgumentTypeError, match="collection of names"):
        amp.auto_cast(custom_black_list="exp")


@on_device
def test_blocks_nest_and_end():
    with cuda_library.on(PLACE):
        x = leaf(np.ones((2, 2)))
        types = []

        def note():
            types.append((x @ x).dtype.name)

        with amp.auto_cast():
            note()
            with amp.auto_cast(enable=False):
                note()
                with amp.auto_cast(dtype="bfloat16"):
                    note()
                note()
            note()
            with pytest.raises(ZeroDivisionError), amp.auto_cast(level="O0"):
                note()
                raise ZeroDivisionError
            note()
        note()
        amp.auto_cast(dtype="bfloat16")(note)()
        assert types == [
            "float16", "float32", "bfloat16", "float32", "float16", "float32", "float16",
            "float32", "bfloat16",
        ]  # fmt: skip


def test_arguments():
    with pytest.raises(UnimplementedError, match="level must be O1"):
        amp.auto_cast(level="O2")
    with pytest.raises(InvalidArgumentError, match="auto_cast: dtype"):
        amp.auto_cast(dtype="float64")
    with pytest.raises(InvalidArgumentError, match="auto_cast: level"):
        amp.auto_cast(level="O3")


def network():
    return nn.Sequential(nn.Linear(4, 16, act="relu"), nn.LayerNorm(16), nn.Linear(16, 3))


def test_a_network_trains(place):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(32, 4)).astype("float32")
    labels = (inputs[:, :3].argmax(1)[:, None]).astype("int64")

    def train(enable, dtype):
        with dygraph.guard(place, seed=1):
            net = network()
            adam = dygraph.optimizer.Adam(0.01, parameter_list=net.parameters())
            scaler = amp.GradScaler(enable=enable and dtype == "float16", init_loss_scaling=256.0)
            x, y = dygraph.to_variable(inputs), dygraph.to_variable(labels)
            losses = []
            for _ in range(20):
                with amp.auto_cast(enable=enable, dtype=dtype):
                    loss = F.softmax_with_cross_entropy(net(x), y).mean()
                scaler.scale(loss).backward()
                scaler.step(adam)
                if scaler.is_enable():
                    scaler.update()
                adam.clear_grad()
                losses.append(loss.item())
            assert {p.dtype.name for p in net.parameters()} == {"float32"}
            return losses

    wide = train(False, "float16")
    assert wide[-1] < 0.9 * wide[0]
    for dtype, most in (("float16", 0.02), ("bfloat16", 0.1)):
        np.testing.assert_allclose(train(True, dtype), wide, rtol=most, atol=most)


# The scaler ---------------------------------------------------------------------------------------


def test_gradients_are_scaled_back(place):
    w = dygraph.Parameter([1.0, 2.0])
    sgd = dygraph.optimizer.SGD(0.5, parameter_list=[w])
    scaler = amp.GradScaler(init_loss_scaling=1024.0)
    loss = scaler.scale((w * w).sum())
    assert loss.item() == 5 * 1024.0
    loss.backward()
    assert w.grad.tolist() == [2048.0, 4096.0]
    scaler.unscale_(sgd)
    assert w.grad.tolist() == [2.0, 4.0]
    nn.utils.clip_grad_norm_([w], 1.0)  # between
    scaler.step(sgd)
    scaler.update()
    assert w.numpy() == pytest.approx([1 - 0.5 / 5**0.5, 2 - 1 / 5**0.5], rel=1e-5)


def test_steps_without_finite_gradients_are_skipped(place):
    w, v = dygraph.Parameter([1.0]), dygraph.Parameter([1.0])
    sgd = dygraph.optimizer.SGD(0.5, parameter_list=[w, v])
    scaler = amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=2, decr_every_n_nan_or_inf=2)
    seen = []
    for factor in (np.inf, np.nan, 1.0, 1.0, np.inf, 1.0, -np.inf, np.inf):
        sgd.clear_grad()
        scaler.scale((w * factor + v).sum()).backward()
        before = v.item()
        scaler.step(sgd)
        scaler.update()
        seen.append((v.item() != before, scaler.get_loss_scaling()))
    assert seen == [
        (False, 8.0), (False, 4.0), (True, 4.0), (True, 8.0),
        (False, 8.0), (True, 8.0), (False, 8.0), (False, 4.0),
    ]  # fmt: skip


def test_one_bad_optimizer_skips_alone_and_the_factor_shrinks(place):
    w, v = dygraph.Parameter([1.0]), dygraph.Parameter([1.0])
    one, two = (dygraph.optimizer.SGD(0.5, parameter_list=[p]) for p in (w, v))
    scaler = amp.GradScaler(init_loss_scaling=8.0)
    scaler.scale([(w * np.inf).sum(), v.sum()])[0].backward()
    scaler.scale(v.sum()).backward()
    scaler.step(one)
    scaler.step(two)
    scaler.update()
    assert (w.item(), v.item(), scaler.get_scale()) == (1.0, 0.5, 4.0)


def test_a_step_waits_once(place):
    w = dygraph.Parameter([1.0, 2.0])
    assert w.place == place
    sgd = dygraph.optimizer.SGD(0.5, parameter_list=[w])
    scaler = amp.GradScaler(init_loss_scaling=8.0)
    scaler.scale((w * w).sum()).backward()
    waits = dygraph.cuda.syncs()
    scaler.step(sgd)
    scaler.update()
    assert dygraph.cuda.syncs() == waits + (place != HOST)
    assert w.tolist() == [0.0, 0.0]


def test_sparse_gradients_are_scaled_back(place):
    table = nn.Embedding([5, 2], is_sparse=True)
    sgd = dygraph.optimizer.SGD(1.0, parameter_list=table.parameters())
    scaler = amp.GradScaler(init_loss_scaling=16.0)
    before = table.weight.numpy()
    scaler.scale(table(dygraph.to_variable(np.array([[1], [3]]))).sum()).backward()
    scaler.minimize(sgd, None)
    change = before - table.weight.numpy()
    np.testing.assert_allclose(change, [[0, 0], [1, 1], [0, 0], [1, 1], [0, 0]], atol=1e-6)


def test_states_go_on():
    w = dygraph.Parameter([1.0])
    sgd = dygraph.optimizer.SGD(0.0, parameter_list=[w])

    def run(scaler, steps):
        for _ in range(steps):
            scaler.minimize(sgd, scaler.scale(w.sum()))
            sgd.clear_grad()
        return scaler.get_loss_scaling()

    whole, first = (amp.GradScaler(init_loss_scaling=2.0, incr_every_n_steps=3) for _ in "ab")
    run(whole, 5)
    run(first, 2)
    second = amp.GradScaler()
    second.load_state_dict(first.state_dict())
    assert run(second, 3) == whole.get_loss_scaling() == 4.0
    assert second.state_dict() == whole.state_dict()
    assert whole.state_dict()["incr_count"] == 2
    with pytest.raises(InvalidArgumentError, match="load_state_dict"):
        second.load_state_dict({"scale": 1.0})


def test_a_disabled_scaler_does_nothing():
    w = dygraph.Parameter([1.0])
    sgd = dygraph.optimizer.SGD(0.5, parameter_list=[w])
    scaler = amp.GradScaler(enable=False)
    loss = w.sum()
    assert scaler.scale(loss) is loss and scaler.state_dict() == {}
    scaler.minimize(sgd, loss)
    assert w.item() == 0.5 and scaler.get_loss_scaling() == 1.0
    fixed = amp.GradScaler(init_loss_scaling=4.0, use_dynamic_loss_scaling=False)
    assert not fixed.is_use_dynamic_loss_scaling()
    sgd.clear_grad()
    fixed.minimize(sgd, fixed.scale((w * np.inf).sum()))
    assert w.item() == 0.5 and fixed.get_loss_scaling() == 4.0


def test_the_order_of_calls_is_checked():
    w = dygraph.Parameter([1.0])
    sgd = dygraph.optimizer.SGD(0.5, parameter_list=[w])
    scaler = amp.GradScaler()
    with pytest.raises(PreconditionNotMetError, match="update: there must have been"):
        scaler.update()
    scaler.scale(w.sum()).backward()
    scaler.unscale_(sgd)
    with pytest.raises(PreconditionNotMetError, match="got a second call"):
        scaler.unscale_(sgd)
    scaler.step(sgd)
    with pytest.raises(PreconditionNotMetError, match="got a second step"):
        scaler.step(sgd)
