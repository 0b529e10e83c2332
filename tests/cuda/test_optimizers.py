"""Steps of optimizers on a CUDA device: the host's numbers, without a wait, in few launches."""

import contextlib

import numpy as np
import pytest

import cuda_library
import dygraph
from dygraph import _core, cuda

PLACE = cuda_library.place()
pytestmark = pytest.mark.skipif(PLACE is None, reason="no CUDA library")

SHAPES = [(7,), (33, 5), (1, 1), (3, 70, 70), (4,)]
STEPS = 5

optimizers = dygraph.optimizer
MAKERS = {
    "SGD": optimizers.SGD,
    "Momentum": lambda rate, **k: optimizers.Momentum(rate, 0.9, use_nesterov=True, **k),
    "LarsMomentum": lambda rate, **k: optimizers.LarsMomentum(rate, 0.9, **k),
    "Adam": optimizers.Adam,
    "AdamW": optimizers.AdamW,
    "Adamax": optimizers.Adamax,
    "NAdam": optimizers.NAdam,
    "RAdam": optimizers.RAdam,
    "Lamb": optimizers.Lamb,
    "RMSProp": lambda rate, **k: optimizers.RMSProp(rate, momentum=0.5, centered=True, **k),
    "Adagrad": optimizers.Adagrad,
    "DecayedAdagrad": optimizers.DecayedAdagrad,
    "Adadelta": optimizers.Adadelta,
    "Ftrl": optimizers.Ftrl,
}


class Net(dygraph.nn.Layer):
    """Parameters of several shapes."""

    def __init__(self, dtype):
        super().__init__()
        random = np.random.RandomState(3)
        for i, shape in enumerate(SHAPES):
            w = self.create_parameter(list(shape), dtype=dtype)
            w.set_value(random.uniform(0.5, 1.5, shape).astype(dtype))
            setattr(self, f"w{i}", w)

    def forward(self):
        loss = None
        for i, w in enumerate(self.parameters()):
            part = dygraph.mean(w * w) * float(i + 1)
            loss = part if loss is None else loss + part
        return loss


def train(name, dtype, steps=STEPS):
    """The parameters after some steps, and how often the host waited in those after the first."""
    net = Net(dtype)
    optimizer = MAKERS[name](0.01, parameter_list=net.parameters())
    waits = 0
    for step in range(steps):
        if step == 1:
            waits = cuda.syncs() if on_device() else 0
        net().backward()
        optimizer.step()
        optimizer.clear_gradients()
    waits = cuda.syncs() - waits if on_device() else 0
    return [p.numpy() for p in net.parameters()], waits


def on_device():
    return _core.current_place().kind == "CUDAPlace"


@contextlib.contextmanager
def counting(name):
    """A list that gets the count of the pretended CUDA."""
    with cuda_library.pretending() as library:
        key, got = name.encode(), []
        cuda.synchronize()
        library.pretend_cuda_set(key, 0)
        yield got
        cuda.synchronize()
        got.append(library.pretend_cuda_get(key))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", MAKERS)
def test_steps_are_those_of_the_host_and_wait_for_nothing(name, dtype):
    expected, _ = train(name, dtype)
    with cuda_library.on(PLACE):
        got, waits = train(name, dtype)
    assert waits == 0
    for want, given in zip(expected, got, strict=True):
        np.testing.assert_allclose(given, want, rtol=1e-6 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("setting", ["LATE", "REVERSE"])
@pytest.mark.parametrize("name", ["Adam", "Lamb", "NAdam"])
def test_whatever_the_order_of_work(name, setting):
    if not cuda_library.is_pretended():
        pytest.skip("settings of the pretended CUDA")
    expected, _ = train(name, "float32")
    with cuda_library.on(PLACE), cuda_library.pretending(**{setting: 1}):
        got, _ = train(name, "float32")
    for want, given in zip(expected, got, strict=True):
        np.testing.assert_allclose(given, want, rtol=1e-6)


@pytest.mark.parametrize("name, most", [("SGD", 1), ("Momentum", 1), ("Adam", 2), ("NAdam", 2)])
def test_all_parameters_are_one_launch(name, most):
    if not cuda_library.is_pretended():
        pytest.skip("counts of the pretended CUDA")
    with cuda_library.on(PLACE):
        net = Net("float32")
        optimizer = MAKERS[name](0.01, parameter_list=net.parameters())
        for _ in range(2):
            net().backward()
            with counting("LAUNCHES") as launches:
                optimizer.step()
            optimizer.clear_gradients()
    assert launches[0] <= most


def test_a_rate_on_the_host_reaches_waiting_loops():
    net_of, steps = {}, 3
    for place in (_core.CPUPlace(), PLACE):
        with cuda_library.on(place):
            net = Net("float32")
            optimizer = optimizers.Adam(0.01, parameter_list=net.parameters())
            for step in range(steps):
                net().backward()
                with cuda_library.on(_core.CPUPlace()):
                    optimizer.learning_rate = 0.01 / (step + 1)
                    optimizer.step()
                optimizer.clear_gradients()
            net_of[str(place)] = [p.numpy() for p in net.parameters()]
    for want, given in zip(*net_of.values(), strict=True):
        np.testing.assert_allclose(given, want, rtol=1e-6)


@pytest.mark.parametrize("op", ["sgd", "adam", "adagrad", "momentum", "rmsprop", "adamw"])
@pytest.mark.parametrize("attrs", [{}, {"lazy_mode": True}])
def test_selected_rows(op, attrs):
    if attrs and op not in ("adam", "adamw"):
        pytest.skip("has no lazy form")
    random = np.random.RandomState(4)
    rows, like = [4, 1, 4, 0], {}
    info = _core.describe_op(op)
    for slot in info["inputs"]:
        if slot["name"] in ("LearningRate", "Beta1Pow", "Beta2Pow"):
            like[slot["name"]] = np.array([0.5], "float32")
        elif slot["name"] not in ("Grad", "Beta1Tensor", "Beta2Tensor", "EpsilonTensor"):
            like[slot["name"]] = random.uniform(0.5, 1, (6, 3)).astype("float32")
    values = random.uniform(-1, 1, (4, 3)).astype("float32")

    def run():
        slots = {n: _core.to_variable(a) for n, a in like.items()}
        slots["Grad"] = _core.make_selected_rows(rows, 6, _core.to_variable(values))
        out = _core.run_op(op, slots, {"mu": 0.9} if op == "momentum" else attrs)
        return {n: v.numpy() for n, v in out.items()}

    expected = run()
    with cuda_library.on(PLACE):
        got = run()
    for name, want in expected.items():
        np.testing.assert_allclose(got[name], want, rtol=1e-6, err_msg=name)
