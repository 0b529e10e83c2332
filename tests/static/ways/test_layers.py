"""Layers: weights are shared, buffers written; what a Layer keeps in Python is not forgotten."""

import numpy as np
import pytest

import dygraph
from dygraph import jit, nn
from dygraph.static.ways.explore import Input
from dygraph.static.ways.graph import Refused

from . import graph_runner, program_runner

INPUT = Input("x", [None, 3], "float32")
FEEDS = [
    np.random.default_rng(seed).normal(shift, 1.0, (rows, 3)).astype("float32")
    for seed, (rows, shift) in enumerate([(4, 0), (2, 1), (5, -1)])
]


class Gate(nn.Layer):
    """Asks, and scales its weight in Python."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.other = nn.Linear(3, 3)
        self.weight = self.create_parameter([3])

    def forward(self, x):
        scale = self.weight * 2
        x = self.linear(x) if x.sum() > 0 else self.other(x)
        return x * scale


class Stack(nn.Layer):
    def __init__(self):
        super().__init__()
        self.parts = nn.LayerList([Gate(), Gate()])
        self.kept = [Gate()]  # no sublayer
        self.seq = nn.Sequential(Gate(), nn.ReLU())

    def forward(self, x):
        for i, part in enumerate(self.parts):
            x = part(x) + i
        return self.seq(self.kept[0](x))


class Normalized(nn.Layer):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1D(3) if hasattr(nn, "BatchNorm1D") else nn.BatchNorm(3)

    def forward(self, x):
        if x.sum() > 0:
            x = self.norm(x)
        return x * 2


class Counts(nn.Layer):
    """A buffer that is bound to another value each call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", dygraph.zeros([1]))

    def forward(self, x):
        if x.sum() > 0:
            self.seen = self.seen + 1
        return x * self.seen


class Swaps(nn.Layer):
    """Buffers that are bound to each other's values, and given as they were."""

    def __init__(self):
        super().__init__()
        self.register_buffer("one", dygraph.ones([3]))
        self.register_buffer("two", dygraph.zeros([3]))

    def forward(self, x):
        before = self.one
        if x.sum() > 0:
            self.one, self.two = self.two, self.one
        else:
            self.one = self.one + 1
        return x * before + self.one * 10 + self.two * 100


class Resets(nn.Layer):
    """A buffer that is bound to a Variable made of Python values."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", dygraph.zeros([3]))

    def forward(self, x):
        if x.sum() > 0:
            self.seen = dygraph.to_variable(np.float32([1, 2, 3]))
        else:
            self.seen = self.seen + 1
        return x * self.seen


class GivesABuffer(nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", dygraph.zeros([3]))

    def forward(self, x):
        before = self.seen
        self.seen = self.seen + 1
        return before


class Loops(nn.Layer):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(3, 3)

    def forward(self, x):
        while x.sum() < 3:
            x = dygraph.tanh(self.cell(x)) + x + 0.5
        return x


class Base(nn.Layer):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x


class Derived(Base):
    def forward(self, x):
        return super().forward(x) + 1


class Hooked(nn.Layer):
    def __init__(self):
        super().__init__()
        self.inner = Base()
        self.inner.register_forward_post_hook(lambda layer, given, out: out + 10)

    def forward(self, x):
        return self.inner(x)


class Inner(nn.Layer):
    @jit.to_static
    def forward(self, x):
        while x.sum() < 4:
            x = x + 1
        return x


class Decorated(nn.Layer):
    """Its forward and that of a part are captured functions themselves."""

    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(Inner(), nn.ReLU())

    @jit.to_static
    def forward(self, x):
        for part in self.parts:
            x = part(x) * 2
        return x


class Mode(nn.Layer):
    def forward(self, x):
        return x * 2 if self.training else x


def state_of(layer):
    return {name: v.numpy().tobytes() for name, v in layer.state_dict().items()}


@pytest.fixture(autouse=True)
def captured_functions_run_programs():
    yield
    jit.ProgramTranslator().enable(True)


@pytest.mark.parametrize(
    "kind",
    [
        Gate,
        Stack,
        Normalized,
        Counts,
        Swaps,
        Resets,
        GivesABuffer,
        Loops,
        Derived,
        Hooked,
        Decorated,
        Mode,
    ],  # fmt: skip
    ids=lambda k: k.__name__,
)
@pytest.mark.parametrize("runs", [1, 2])
def test_layer_gives_eager_bits_and_leaves_the_same_state(kind, runs):
    dygraph.seed(3)
    one, two = kind(), kind()
    two.set_state_dict(one.state_dict())
    jit.ProgramTranslator().enable(kind is not Decorated)
    if isinstance(one, Stack):
        two.kept[0].set_state_dict(one.kept[0].state_dict())
    before = state_of(one)
    with dygraph.no_grad():
        explorer = graph_runner.explored(one, INPUT)
        assert state_of(one) == before
        for x in FEEDS:
            x = dygraph.to_variable(x)
            want = two(x)
            run = program_runner.run if program_runner.RUNS and runs == 2 else graph_runner.run
            got = run(explorer, {"x": x})
            assert got.numpy().tobytes() == want.numpy().tobytes()
            assert state_of(one) == state_of(two)


def test_weights_that_train_on_are_followed():
    layer = Gate()
    x = dygraph.to_variable(FEEDS[0])
    with dygraph.no_grad():
        explorer = graph_runner.explored(layer, INPUT)
        first = graph_runner.run(explorer, {"x": x}).numpy()
        layer.weight.set_value(layer.weight.numpy() + 1)
        layer.linear.weight.set_value(layer.linear.weight.numpy() * 2)
        layer.other.weight.set_value(layer.other.weight.numpy() * 2)
        second = graph_runner.run(explorer, {"x": x}).numpy()
        assert second.tobytes() == layer(x).numpy().tobytes()
    assert second.tobytes() != first.tobytes()


def test_parameters_are_back_after_exploring():
    layer = Gate()
    weight, forward = layer.weight, layer.forward
    graph_runner.explored(layer, INPUT)
    assert layer.weight is weight
    assert layer._parameters["weight"] is weight
    assert layer.forward == forward
    assert "forward" not in layer.__dict__


def test_attribute_that_is_written_is_refused():
    class Counter(nn.Layer):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x

    layer = Counter()
    with pytest.raises(Refused, match=r"changes self\.calls"):
        graph_runner.explored(layer, INPUT)
    assert layer.calls == 0


def test_value_that_a_layer_keeps_is_refused():
    class Keeps(nn.Layer):
        def forward(self, x):
            self.last = x
            return x * 2

    layer = Keeps()
    with pytest.raises(Refused, match=r"changes self\.last"):
        graph_runner.explored(layer, INPUT)
    assert not hasattr(layer, "last")


def test_weights_outside_layers():
    weight = dygraph.to_variable(np.ones(3, "float32"))
    weight.stop_gradient = False

    def beside_a_value(x):
        return x * weight

    def apart(x):
        return x * (weight * 2)

    explorer = graph_runner.explored(beside_a_value, INPUT)
    assert any(v is weight for v in explorer.held.values())
    with pytest.raises(Refused, match="computed from weights"):
        graph_runner.explored(apart, INPUT)


def test_dropout_is_drawn_by_the_program():
    def noisy(x):
        return nn.functional.dropout(x) if x.sum() > 0 else x

    noisy = noisy if hasattr(nn, "functional") else lambda x: dygraph.dropout(x, 0.5)
    explorer = graph_runner.explored(noisy, INPUT)
    x = dygraph.ones([50, 3])
    with dygraph.no_grad():
        dygraph.seed(5)
        want = noisy(x).numpy()
        dygraph.seed(5)
        got = graph_runner.run(explorer, {"x": x}).numpy()
    assert got.tobytes() == want.tobytes()
    assert 0 < np.count_nonzero(got) < got.size


def test_draws_of_constants_are_refused():
    noise = dygraph.ones([3])

    def drawn(x):
        return x + dygraph.dropout(noise, 0.5)

    with pytest.raises(Refused, match="draws random numbers"):
        graph_runner.explored(drawn, INPUT)
