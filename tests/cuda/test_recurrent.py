"""Recurrent networks train on the device as on the host, in every setting, and wait for nothing."""

import numpy as np
import pytest

import cuda_library
import dygraph
from dygraph import cuda, nn, ops

PLACE = cuda_library.place()
pytestmark = pytest.mark.skipif(PLACE is None, reason="no CUDA library")

SETTINGS = [{}, {"LATE": 1}, {"REVERSE": 1}, {"LATE": 1, "REVERSE": 1}]
TIME, BATCH, WIDTH, HIDDEN = 5, 3, 4, 6
LOD = [[0, 4, 4, 5, 11]]


def padded(draw):
    return dygraph.to_variable(draw.normal(size=(TIME, BATCH, WIDTH)))


def ragged(draw):
    return dygraph.to_variable(draw.normal(size=(LOD[0][-1], WIDTH)), lod=LOD)


class Stack(nn.Layer):
    """A recurrent layer and a linear one on its outputs."""

    inputs = staticmethod(padded)

    def __init__(self, kind, **options):
        super().__init__()
        self.rnn = kind(WIDTH, HIDDEN, time_major=True, **options)
        self.linear = nn.Linear(HIDDEN * self.rnn.num_directions, 2)

    def forward(self, x):
        return self.linear(self.rnn(x)[0])


class OnLengths(Stack):
    """The same on sequences of different lengths, side by side."""

    inputs = staticmethod(ragged)


class OnRows(nn.Layer):
    """Fluid's operators on rows with a level of detail."""

    inputs = staticmethod(ragged)

    def __init__(self, kind, gates, biases, **attrs):
        super().__init__()
        self.kind, self.attrs = kind, attrs
        state = 3 if kind == "lstmp" else HIDDEN
        self.linear = nn.Linear(WIDTH, gates * HIDDEN)
        self.weight = self.create_parameter([state, gates * HIDDEN])
        self.bias = self.create_parameter([1, biases * HIDDEN])
        self.others = {}
        if kind == "lstmp":
            self.projection = self.create_parameter([HIDDEN, state])
            self.others["proj_weight"] = self.projection

    def forward(self, x):
        x = ops.lod_reset(self.linear(x), y=x)
        out = getattr(ops, self.kind)(
            x, weight=self.weight, bias=self.bias, **self.others, **self.attrs
        )
        return out[0] if isinstance(out, (list, tuple)) else out


class Units(nn.Layer):
    """A loop over the operators of one step."""

    inputs = staticmethod(padded)

    def __init__(self):
        super().__init__()
        self.gates = nn.Linear(WIDTH, 4 * HIDDEN)
        self.more = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.weight = self.create_parameter([HIDDEN, 3 * HIDDEN])

    def forward(self, x):
        c = h = dygraph.zeros([BATCH, HIDDEN], x.dtype)
        for step in x:
            c, out = ops.lstm_unit(self.gates(step), c, forget_bias=1.0)
            h = ops.gru_unit(self.more(out), h, self.weight)
        return h


NETWORKS = {
    "lstm": lambda: Stack(nn.LSTM),
    "gru": lambda: Stack(nn.GRU),
    "rnn": lambda: Stack(nn.SimpleRNN),
    "lstm deep": lambda: Stack(nn.LSTM, num_layers=2, direction="bidirectional", dropout=0.3),
    "gru deep": lambda: Stack(nn.GRU, num_layers=2, direction="bidirectional", dropout=0.3),
    "lstm lengths": lambda: OnLengths(nn.LSTM, num_layers=2),
    "gru lengths": lambda: OnLengths(nn.GRU, direction="bidirectional"),
    "lstm rows": lambda: OnRows("lstm", 4, 7),
    "lstm rows plain": lambda: OnRows("lstm", 4, 4, use_peepholes=False, is_reverse=True),
    "gru rows": lambda: OnRows("gru", 3, 3, is_reverse=True),
    "lstmp rows": lambda: OnRows("lstmp", 4, 7, cell_clip=0.2, proj_clip=0.1),
    "units": Units,
}


class Training:
    """A network with an optimizer and one batch on the current place; starts alike everywhere."""

    def __init__(self, name):
        dygraph.seed(7)
        draw = np.random.default_rng(3)
        self.net = NETWORKS[name]()
        for p in self.net.parameters():
            p.set_value(draw.normal(0, 0.4, p.shape))
        self.x = self.net.inputs(draw)
        self.optimizer = dygraph.optimizer.Momentum(
            0.05, momentum=0.9, parameters=self.net.parameters()
        )

    def step(self):
        out = self.net(self.x)
        loss = (out * out).mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.clear_grad()
        return loss

    def numbers(self, steps=4):
        losses = [self.step() for _ in range(steps)]
        return np.array([v.item() for v in losses]), [p.numpy() for p in self.net.parameters()]


def assert_trains_as_the_host(name):
    with dygraph.guard(dtype="float64"):
        losses, parameters = Training(name).numbers()
        with cuda_library.on(PLACE):
            device_losses, device_parameters = Training(name).numbers()
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(device_losses, losses, 1e-6)
    for given, wanted in zip(device_parameters, parameters, strict=True):
        np.testing.assert_allclose(given, wanted, 1e-6, 1e-9)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: " ".join(s) or "usual")
def test_training_gives_the_hosts_numbers(name, settings):
    if settings and not cuda_library.is_pretended():
        pytest.skip("settings of the pretended CUDA")
    if not settings:
        return assert_trains_as_the_host(name)
    with cuda_library.pretending(**settings):
        assert_trains_as_the_host(name)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_step_computes_on_the_device_and_waits_for_nothing(name):
    with dygraph.guard(dtype="float64"), cuda_library.on(PLACE):
        training = Training(name)
        training.step()
        fallbacks, waits = cuda.fallbacks(), cuda.syncs(PLACE)
        loss = [training.step() for _ in range(2)][-1]
        assert cuda.syncs(PLACE) == waits
        assert cuda.fallbacks() == fallbacks
        assert loss.place == PLACE


def second_gradients(name):
    """Of the squares of the first ones, for the parameters and the input."""
    training = Training(name)
    training.x.stop_gradient = False
    places = [training.x, *training.net.parameters()]
    out = training.net(training.x)
    first = dygraph.grad([(out * out).mean()], places, create_graph=True)
    second = dygraph.grad([sum((g * g).sum() for g in first)], places)
    return [g.numpy() for g in (*first, *second)]


@pytest.mark.parametrize("name", NETWORKS)
def test_second_gradients_are_the_hosts(name):
    with dygraph.guard(dtype="float64"):
        wanted = second_gradients(name)
        with cuda_library.on(PLACE):
            before = cuda.fallbacks()
            given = second_gradients(name)
            assert cuda.fallbacks() == before
    for a, b in zip(given, wanted, strict=True):
        np.testing.assert_allclose(a, b, 1e-6, 1e-9)


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN_TANH"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_wide_cells_over_padded_sequences(mode, dtype):
    """More hidden units than a block has threads, and lengths beside the batch."""
    time, batch, width, hidden = 4, 5, 9, 300
    gates = {"LSTM": 4, "GRU": 3}.get(mode, 1)
    draw = np.random.default_rng(2)

    def results():
        draws = np.random.default_rng(2)

        def new(*shape):
            value = dygraph.to_variable(draws.uniform(-0.1, 0.1, shape).astype(dtype))
            value.stop_gradient = False
            return value

        states = [new(1, batch, hidden) for _ in range(2 if mode == "LSTM" else 1)]
        weights = [new(gates * hidden, k) for k in (width, hidden)]
        weights += [new(gates * hidden) for _ in range(2)]
        x = new(time, batch, width)
        out, last = ops.rnn(
            x, states, weights, sequence_length=dygraph.to_variable(lengths), mode=mode,
            input_size=width, hidden_size=hidden,
        )  # fmt: skip
        (out.sum() + sum((s * s).sum() for s in last)).backward()
        return [v.numpy() for v in (out, *last)] + [v.grad.numpy() for v in (x, *states, *weights)]

    lengths = draw.integers(0, time + 1, batch)
    wanted = results()
    with cuda_library.on(PLACE):
        given = results()
    bound = 1e-4 if dtype == "float32" else 1e-10
    for a, b in zip(given, wanted, strict=True):
        np.testing.assert_allclose(a, b, bound, bound)
