"""Networks under `auto_cast` on a device compute in the narrow type wherever the lists say so, with
no kernel missing; and the scaler of gradients.
"""

import numpy as np
import pytest

import cuda_library
import dygraph
from dygraph import _core, amp, cuda, nn, ops

PLACE = cuda_library.place()
pytestmark = pytest.mark.skipif(PLACE is None, reason="no CUDA library")

UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}  # what a value that is stored rounds by


@pytest.fixture(params=list(UNIT))
def dtype(request):
    return request.param


@pytest.fixture(autouse=True)
def everything_on_the_device():
    """Operators without a kernel there raise."""
    with cuda_library.on(PLACE):
        _core.set_flag("host_fallback", "off")
        yield


def draw(*shape):
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape)


class Noted:
    """The types of the results of layers while a network runs, by the layer's class."""

    def __init__(self, network):
        self.types = {}
        for _, layer in network.named_sublayers():
            layer.register_forward_post_hook(self._note)

    def _note(self, layer, inputs, output):
        first = output[0] if isinstance(output, (tuple, list)) else output
        self.types.setdefault(type(layer).__name__, set()).add(first.dtype.name)


class LeNet(nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2D(1, 6, 5, padding=2, act="relu")
        self.pool1 = nn.Pool2D(2, "max", 2)
        self.conv2 = nn.Conv2D(6, 16, 5, act="relu")
        self.pool2 = nn.Pool2D(2, "avg", 2)
        self.dense1 = nn.Linear(16, 24, act="relu")
        self.dense2 = nn.Linear(24, 10)

    def forward(self, x):
        x = self.pool2(self.conv2(self.pool1(self.conv1(x))))
        return self.dense2(self.dense1(dygraph.reshape(x, [len(x), 16])))


class Residual(nn.Layer):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2D(3, 8, 3, 2, 1)
        self.pool = nn.Pool2D(3, "max", 2, 1)
        self.conv1 = nn.Conv2D(8, 8, 3, 1, 1, bias_attr=False)
        self.norm1 = nn.BatchNorm(8, act="relu")
        self.conv2 = nn.Conv2D(8, 8, 3, 1, 1, bias_attr=False)
        self.norm2 = nn.BatchNorm(8)
        self.mean = nn.Pool2D(pool_type="avg", global_pooling=True)
        self.dense = nn.Linear(8, 10)

    def forward(self, x):
        x = self.pool(self.stem(x))
        y = self.norm2(self.conv2(self.norm1(self.conv1(x))))
        y = ops.relu(y + x)
        return self.dense(dygraph.reshape(self.mean(y), [len(y), 8]))


class Transformer(nn.Layer):
    """A block that normalises before, as in GPT."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
        self.attention = nn.MultiHeadAttention(16, 4)
        self.drop = nn.Dropout(0.0)
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)
        self.dense = nn.Linear(16, 10)

    def forward(self, x):
        x = x + self.drop(self.attention(self.norm1(x)))
        x = x + self.drop(self.down(ops.gelu(self.up(self.norm2(x)))))
        return self.dense(x[:, 0])


NETWORKS = {
    "LeNet": (LeNet, (4, 1, 12, 12), {"Conv2D", "Pool2D", "Linear"}),
    "Residual": (Residual, (4, 3, 16, 16), {"Conv2D", "Pool2D", "BatchNorm", "Linear"}),
    "Transformer": (Transformer, (3, 5, 16), {"MultiHeadAttention", "Dropout", "Linear"}),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_compute_in_the_narrow_type(name, dtype):
    network, shape, narrow = NETWORKS[name]
    rng = np.random.default_rng(2)
    x, labels = rng.normal(size=shape).astype("float32"), rng.integers(0, 10, (shape[0], 1))
    with dygraph.guard(PLACE, seed=1):
        _core.set_flag("host_fallback", "off")
        model = network()
        fallbacks = dict(cuda.fallbacks())

        def step(block):
            model.clear_gradients()
            with block:
                out = model(dygraph.to_variable(x))
                loss = ops.softmax_with_cross_entropy(out, dygraph.to_variable(labels)).mean()
            loss.backward()
            return loss.item(), {
                n: p.grad.numpy() for n, p in model.named_parameters() if p.grad is not None
            }

        buffers = {n: v.numpy() for n, v in model.state_dict().items()}
        loss, gradients = step(amp.auto_cast(enable=False))
        model.set_state_dict(buffers)  # the running statistics too
        noted, block = Noted(model), amp.auto_cast(dtype=dtype)
        narrow_loss, narrow_gradients = step(block)
    assert block.widened() == {} and dict(cuda.fallbacks()) == fallbacks
    for layer in narrow:
        assert noted.types[layer] == {dtype}, layer
    if name == "Transformer":
        assert noted.types["LayerNorm"] == {"float32"}
    # Some ten stores, each off by at most UNIT of itself, lie between the input and the loss, and
    # as many on the way back; norms divide by small deviations.
    assert narrow_loss == pytest.approx(loss, abs=10 * UNIT[dtype] * max(1, loss))
    assert narrow_gradients.keys() == gradients.keys()
    largest = max(np.abs(g).max() for g in gradients.values())
    for n, g in gradients.items():
        assert narrow_gradients[n].dtype == np.float32
        # The bias of the keys has no gradient, but what is left of sums of larger numbers.
        atol = UNIT[dtype] * (40 * np.abs(g).max() + largest)
        np.testing.assert_allclose(narrow_gradients[n], g, rtol=0, atol=atol, err_msg=n)


def test_batch_norm_takes_the_type_of_what_it_normalises(dtype):
    norm = nn.BatchNorm(3)
    x = dygraph.to_variable(draw(4, 3, 5, 5).astype("float32"))
    with amp.auto_cast(dtype=dtype):
        assert norm(x).dtype.name == "float32"
        assert norm(x.astype(dtype)).dtype.name == dtype
    assert norm._mean.dtype.name == norm._variance.dtype.name == "float32"
    assert "batch_norm" not in amp.black_list() | amp.white_list()
    with amp.auto_cast(dtype=dtype, custom_white_list={"batch_norm"}):
        assert norm(x).dtype.name == dtype


def test_what_is_mixed_computes_in_float32(dtype):
    x = dygraph.to_variable(draw(4, 3).astype("float32"))
    with amp.auto_cast(dtype=dtype):
        narrow = x.astype(dtype)
        assert ops.concat([narrow, x]).dtype.name == "float32"
        assert (narrow + x).dtype.name == "float32"
        bias = dygraph.Parameter(np.zeros(3, "float32"))
        assert ops.elementwise_add(narrow, bias).dtype.name == dtype
        assert ops.elementwise_add(x, bias).dtype.name == "float32"
        (ops.elementwise_add(narrow, bias)).astype("float32").sum().backward()
    assert bias.grad.dtype.name == "float32" and bias.grad.tolist() == [4.0] * 3


def test_functions_of_values_leave_types_to_the_block(dtype):
    x = dygraph.to_variable(draw(4, 4).astype("float32")).astype(dtype)
    with amp.auto_cast(dtype=dtype):
        assert dygraph.matmul(x, x).dtype.name == dygraph.add(x, x).dtype.name == dtype
        assert dygraph.tanh(x).dtype.name == dtype and dygraph.exp(x).dtype.name == "float32"
        assert dygraph.signbit(x).tolist() == (x.astype("float32").numpy() < 0).tolist()
    assert dygraph.tanh(x).dtype.name == dtype


def test_what_has_no_kernel_is_counted(dtype):
    x = dygraph.to_variable(draw(4, 3).astype("float32"))
    with amp.auto_cast(dtype=dtype) as block:
        ops.cumsum(ops.matmul_v2(x, x, trans_y=True))  # on the black list: not counted
        y = _core.ops.cumprod(ops.tanh(x.astype(dtype)), dim=1)
    assert y.dtype.name == "float32" and block.widened() == {"cumprod": 1}


# The scaler ---------------------------------------------------------------------------------------


def test_the_scaler_runs_on_the_device_without_waiting():
    gradients = [dygraph.to_variable(draw(30, 4).astype("float32")) for _ in range(3)]
    bad = dygraph.to_variable(np.array([1.0, np.inf], "float32"))
    state = [dygraph.to_variable(v) for v in (np.float32([8.0]), np.int32([1]), np.int32([0]))]
    factors = {"incr_every_n_steps": 2, "decr_every_n_nan_or_inf": 1}
    waits = cuda.syncs()
    results, found = ops.check_finite_and_unscale(gradients, state[0])
    _, grown, good, _ = ops.update_loss_scaling(results, found, *state, **factors)
    (_, worse), found_bad = ops.check_finite_and_unscale([gradients[0], bad], state[0])
    (cleared,), shrunk, none_good, _ = ops.update_loss_scaling(
        [worse], found_bad, *state, **factors
    )
    assert cuda.syncs() == waits
    assert all(v.place == PLACE for v in (*results, found, grown, good, shrunk))
    np.testing.assert_array_equal(results[0].numpy(), gradients[0].numpy() / 8)
    assert (found.tolist(), grown.tolist(), good.tolist()) == ([False], [16.0], [0])
    assert (found_bad.tolist(), shrunk.tolist(), none_good.tolist()) == ([True], [4.0], [0])
    assert cleared.tolist() == [0.0, 0.0]


def test_float16_gradients_that_overflow_skip_a_step():
    """The factor shrinks until the gradients fit; then steps are taken, and it grows."""
    w = dygraph.Parameter(np.full((4, 4), 0.5, "float32"))
    sgd = dygraph.optimizer.SGD(0.01, parameter_list=[w])
    scaler = amp.GradScaler(init_loss_scaling=2.0**20, incr_every_n_steps=3)
    x = dygraph.to_variable(np.ones((2, 4), "float32"))
    seen = []
    for _ in range(10):
        with amp.auto_cast(dtype="float16"):
            loss = (x @ w).mean()
        scaler.scale(loss).backward()
        before = w.numpy()
        scaler.step(sgd)
        scaler.update()
        sgd.clear_grad()
        seen.append((bool((w.numpy() != before).any()), scaler.get_loss_scaling()))
    moved, factors = zip(*seen, strict=True)
    first = moved.index(True)
    assert 0 < first < 6 and not any(moved[:first]) and all(moved[first : first + 3])
    assert factors[first - 1] == 2.0 ** (20 - first)
    assert factors[first + 2] == 2 * factors[first - 1]
