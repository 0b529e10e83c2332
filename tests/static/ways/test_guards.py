"""Guards: a call whose function would read another value now never runs the old program."""

import collections
import gc
import weakref

import numpy as np
import pytest

import dygraph
from dygraph import jit, nn

X = np.arange(6, dtype="float32").reshape(2, 3)
FACTOR = 2.0


class Scale:
    offset = 0.0

    def __init__(self):
        self.by, self.parts, self.table = 2.0, [1.0, [2.0]], {"a": {"b": 3.0}}
        self.queue, self.names = collections.deque([4.0]), {"x"}
        self.array = np.full(3, 5, "float32")
        self.bias = dygraph.to_variable(np.full(3, 6, "float32"))

    def __call__(self, x):
        y = x * self.by + self.parts[1][0] + self.table["a"]["b"] + self.queue[0]
        y = y + dygraph.to_variable(self.array) + self.bias + self.offset + FACTOR
        return y * 2 if "x" in self.names else y


def x():
    return dygraph.to_variable(X)


def set_factor(scale, patch):
    patch.setitem(globals(), "FACTOR", 9.0)


CHANGES = {
    "number": lambda s, p: setattr(s, "by", 3.0),
    "sign of zero": lambda s, p: setattr(s, "by", -0.0),
    "int for float": lambda s, p: setattr(s, "by", 2),
    "list": lambda s, p: s.parts[1].__setitem__(0, 7.0),
    "list of another length": lambda s, p: setattr(s, "parts", [1.0, [8.0], 3.0]),
    "dict": lambda s, p: s.table["a"].update(b=8.0),
    "deque": lambda s, p: s.queue.appendleft(9.0),
    "set": lambda s, p: s.names.clear(),
    "array": lambda s, p: s.array.__setitem__(1, 70),
    "array in place": lambda s, p: np.copyto(s.array, 71),
    "variable": lambda s, p: s.bias.set_value(np.full(3, 8, "float32")),
    "another variable": lambda s, p: setattr(s, "bias", dygraph.ones([3])),
    "class": lambda s, p: p.setattr(Scale, "offset", 4.0),
    "attribute over the class's": lambda s, p: setattr(s, "offset", 4.0),
    "attributes replaced": lambda s, p: setattr(s, "__dict__", {**s.__dict__, "by": 5.0}),
    "global": set_factor,
}


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_changed_value_gives_a_new_answer(change, gradients, monkeypatch):
    scale = Scale()
    captured = jit.to_static(scale)
    given = x()
    given.stop_gradient = not gradients
    for _ in range(3):
        assert captured(given).numpy().tobytes() == scale(given).numpy().tobytes()
    before = captured(given).numpy().tobytes()
    change(scale, monkeypatch)
    want = scale(given).numpy().tobytes()
    for _ in range(3):
        assert captured(given).numpy().tobytes() == want
    monkeypatch.undo()
    assert captured(given).numpy().tobytes() == scale(given).numpy().tobytes()
    assert want != before or change is CHANGES["int for float"]


def test_closures_and_defaults():
    factor = 2.0

    def f(x, k=[1.0]):  # noqa: B006
        return x * factor + k[0]

    captured = jit.to_static(f)
    for value in (2.0, 3.0, 3.0, float("nan"), float("nan")):
        factor = value
        assert captured(x()).numpy().tobytes() == f(x()).numpy().tobytes()
    f.__defaults__[0][0] = 5.0
    factor = 1.0
    assert captured(x()).numpy().tolist() == (X + 5).tolist()


def test_memory_of_others_is_compared_by_value():
    array = np.ones(3, "float32")
    shared = dygraph.from_dlpack(array) if hasattr(dygraph, "from_dlpack") else None
    if shared is None:
        shared = dygraph.utils.dlpack.from_dlpack(array)
    captured = jit.to_static(lambda x: x + shared)
    for value in (1, 1, 4, 4, 2):
        array[:] = value
        assert captured(x()).numpy().tolist() == (X + shared.numpy()).tolist()


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.layer, self.scale = nn.Linear(3, 2), 1.0

    def forward(self, x):
        return self.layer(x) * self.scale


LAYER_CHANGES = {
    "attribute": lambda net: setattr(net, "scale", 2.0),
    "weight": lambda net: net.layer.weight.set_value(np.ones((3, 2), "float32")),
    "another layer": lambda net: setattr(net, "layer", nn.Linear(3, 2)),
    "another weight": lambda net: setattr(
        net.layer, "weight", dygraph.Parameter(np.ones((3, 2), "float32"))
    ),
    "frozen": lambda net: setattr(net.layer.weight, "stop_gradient", True),
    "mode": lambda net: net.eval(),
    "hook": lambda net: net.layer.register_forward_post_hook(lambda layer, i, o: o * 3),
    "forward": lambda net: setattr(net.layer, "forward", lambda x: x * 7),
}


@pytest.mark.parametrize("change", LAYER_CHANGES.values(), ids=LAYER_CHANGES.keys())
def test_a_changed_layer_gives_a_new_answer(change):
    net = Net()
    captured = jit.to_static(net)

    def both():
        found = []
        for call in (net, captured):
            given = x()
            given.stop_gradient = False
            result = call(given)
            (grad,) = dygraph.grad(result.sum(), given)
            found.append((result.numpy().tolist(), grad.numpy().tolist()))
        assert found[0] == found[1]
        return found[0]

    before = [both() for _ in range(3)][0]
    assert captured._ready
    change(net)
    after = [both() for _ in range(3)][0]
    assert before != after or change in (LAYER_CHANGES["frozen"], LAYER_CHANGES["mode"])


def test_a_captured_model_is_collected():
    net = Net()
    net.captured = jit.to_static(net)
    net.captured(x())
    net.captured(x())
    gone = weakref.ref(net.layer)
    del net
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("first", "second"),
    [((2, 3), (5, 3)), ((2, 3), (2, 4)), ((2, 3), (3,)), ((1, 3), (0, 3))],
)
def test_other_shapes_find_their_program(first, second):
    captured = jit.to_static(lambda x: x * 2 + 1)
    for shape in (first, second, first, second):
        assert captured(dygraph.ones(list(shape))).shape == shape


def test_other_arguments_find_their_program():
    captured = jit.to_static(lambda x, k=1, *, name="a": x * k + len(name))
    calls = [
        ((), {}, X + 1),
        ((2,), {}, X * 2 + 1),
        ((), {"k": 2}, X * 2 + 1),
        ((True,), {"name": "abc"}, X + 3),
        ((), {"name": "abc", "k": 3}, X * 3 + 3),
        ((2.0,), {}, X * 2 + 1),
    ]
    for _ in range(3):
        for args, kwargs, want in calls:
            assert captured(x(), *args, **kwargs).numpy().tolist() == want.tolist()
    with pytest.raises(TypeError):
        captured(x(), 1, 2)
