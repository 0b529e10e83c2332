"""Functions that describe blocks themselves: while_loop, cond, nn.RNN over ragged batches."""

import numpy as np
import pytest

import dygraph
from dygraph import jit, nn
from dygraph import ops as F
from dygraph.static import layers
from dygraph.static.ways.graph import Refused


def ragged(*lengths):
    rows = np.random.RandomState(sum(lengths)).uniform(-1, 1, (sum(lengths), 3)).astype("float32")
    return dygraph.to_variable(rows, lod=[np.cumsum([0, *lengths]).tolist()])


BATCHES = [ragged(3, 0, 5, 1), ragged(1, 2), ragged(4), ragged(2, 2, 2, 9, 1)]


class Leaky(nn.RNNCellBase):
    """A user's cell with two states."""

    state_shape = ((4,), (1,))

    def __init__(self):
        super().__init__()
        self.new, self.old = nn.Linear(3, 4), nn.Linear(4, 4)

    def forward(self, x, states):
        h, count = states
        h = (self.new(x) + self.old(h)).tanh()
        return h * 2.0, (h, count + 1.0)


class Asking(Leaky):
    """A cell whose Python asks for a value."""

    def forward(self, x, states):
        out, states = super().forward(x, states)
        if out.sum() > 0:
            out = out + 1.0
        return out, states


def flat(results):
    if isinstance(results, dygraph.Variable):
        return [results]
    return [v for part in results for v in flat(part)]


def number(value):
    return F.fill_constant(shape=[1], value=value, dtype="int64")


def types_of(captured, x):
    return [op.type for b in captured.entry(x).program.blocks for op in b.ops]


@pytest.fixture(autouse=True)
def without_gradients():
    with dygraph.no_grad():
        yield


RNN, BOTH = nn.RNN(Leaky()), nn.BiRNN(Leaky(), Leaky())


def between_questions(x):
    if x.sum() > 0:
        x = x * 2.0
    out, (_, count) = RNN(x)
    kept = out
    while out.abs().max() > 0.5:
        out = out * 0.5
    for _ in range(2):
        out = out + count.sum()
    return out, kept


def on_one_way(x):
    if x.sum() > 0:
        out, _ = RNN(x)
        return out.sum()
    return x.sum()


def turns(x):
    start = [number(0), x]
    return layers.while_loop(lambda i, s: i < 3, lambda i, s: [i + 1, s * 2.0], start)[1]


def no_turn(x):
    i, kept = layers.while_loop(lambda i, s: i < 0, lambda i, s: [i + 1, s * 2.0], [number(0), x])
    return kept + 1.0, x, i


def turns_in_turns(x):
    def inner(a):
        start = [number(0), a]
        return layers.while_loop(lambda j, b: j < 3, lambda j, b: [j + 1, b + 1.0], start)[1]

    start = [number(0), x.sum().reshape([1])]
    return layers.while_loop(lambda i, a: i < 2, lambda i, a: [i + 1, inner(a) * 2.0], start)[1]


def choice(x):
    big = layers.cond(x.sum() > 0.0, lambda: x * 2.0, lambda: x - 1.0)
    return big + x


def choices_in_turns(x):
    def turn(i, s):
        s = layers.cond(s.sum() > 3.0, lambda: s * 0.5, lambda: s + 1.0)
        return [i + 1, layers.case([(i > 1, lambda: s * 3.0)], lambda: s - 2.0)]

    return layers.while_loop(lambda i, s: i < 4, turn, [number(0), x])


def choice_of_choices(x):
    def inner():
        return layers.cond(x.max() > 0.9, lambda: x * 5.0, lambda: x * 7.0)

    first = layers.cond(x.sum() > 0.0, inner, lambda: x - 1.0)
    second = layers.cond(first.sum() > 1.0, lambda: first + 1.0, lambda: first)
    return first, second, layers.cond(x.sum() > 0.0, lambda: second, lambda: first)


FUNCTIONS = [
    between_questions, on_one_way, turns, no_turn, turns_in_turns, choice, choices_in_turns,
    choice_of_choices,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_bits_of_eager_calls(function):
    captured = jit.to_static(function)
    for x in [*BATCHES, *[dygraph.to_variable(-x.numpy(), lod=x.lod()) for x in BATCHES]]:
        for mine, eager in zip(flat(captured(x)), flat(function(x)), strict=True):
            assert np.array_equal(mine.numpy(), eager.numpy())
            assert mine.lod() == eager.lod()
    assert len(captured._entries) == 1


@pytest.mark.parametrize("layer", [RNN, BOTH], ids=["RNN", "BiRNN"])
def test_a_network_over_ragged_batches_is_one_program(layer):
    captured = jit.to_static(layer)
    for x in BATCHES:
        for mine, eager in zip(flat(captured(x)), flat(layer(x)), strict=True):
            assert np.array_equal(mine.numpy(), eager.numpy())
            assert mine.lod() == eager.lod()
    (entries,) = captured._entries.values()
    assert len(entries) == 1
    types = types_of(captured, BATCHES[0])
    wanted = {"lod_rank_table", "lod_tensor_to_array", "while", "shrink_rnn_memory"}
    assert wanted <= {*types}
    assert types.count("while") == (1 if layer is RNN else 2)


def test_it_is_saved_and_loaded(tmp_path):
    captured = jit.to_static(RNN)
    captured.save(tmp_path, BATCHES[0])
    loaded = jit.load(tmp_path)
    for x in BATCHES:
        for mine, eager in zip(flat(loaded(x)), flat(RNN(x)), strict=True):
            assert np.array_equal(mine.numpy(), eager.numpy())


def test_padded_batches_with_lengths():
    captured = jit.to_static(lambda x, n: RNN(x, sequence_length=n))
    x = dygraph.to_variable(ragged(20).numpy().reshape(4, 5, 3))
    for lengths in ([3, 0, 5, 2], [5, 5, 5, 5], [1, 2, 0, 0]):
        n = dygraph.to_variable(np.array(lengths))
        for mine, eager in zip(flat(captured(x, n)), flat(RNN(x, sequence_length=n)), strict=True):
            assert np.array_equal(mine.numpy(), eager.numpy())


def test_weights_are_shared_with_the_layer():
    rnn = nn.RNN(Leaky())
    captured, x = jit.to_static(rnn), BATCHES[0]
    before = captured(x)[0].numpy()
    rnn.cell.new.bias.set_value(rnn.cell.new.bias.numpy() + 1)
    after = captured(x)[0].numpy()
    assert not np.allclose(before, after)
    assert np.array_equal(after, rnn(x)[0].numpy())


def test_a_cell_that_asks_is_refused_with_the_line():
    rnn = nn.RNN(Asking())
    with pytest.raises(Refused, match=r"reads a value at \S*test_described_blocks.py:\d+"):
        jit.to_static(rnn)(BATCHES[0])
    whole = dygraph.to_variable(BATCHES[0].numpy().reshape(3, 3, 3))  # steps that Python takes
    assert np.array_equal(jit.to_static(rnn)(whole)[0].numpy(), rnn(whole)[0].numpy())


def test_other_operators_with_blocks_are_refused():
    def steps(x):
        rnn = layers.StaticRNN()
        with rnn.step():
            rnn.output(rnn.step_input(x) * 2.0)
        return rnn()

    with pytest.raises(
        Refused,
        match=r"recurrent with a block of its own, at test_described_blocks.py:\d+ in steps",
    ):
        jit.to_static(steps)(dygraph.to_variable(np.ones([4, 2, 3], "float32")))


def test_a_choice_between_types_is_refused_with_the_line():
    def chosen(x):
        positive = x.sum() > 0.0
        return layers.cond(positive, lambda: x * 2.0, lambda: dygraph.cast(x, "int64"))

    with pytest.raises(
        Refused, match=r"made at \S*test_described_blocks.py:\d+ in chosen, has nei"
    ):
        jit.to_static(chosen)(dygraph.to_variable(np.ones([2], "float32")))


@pytest.mark.parametrize("cell", [nn.GRUCell, nn.LSTMCell, nn.SimpleRNNCell])
def test_cells_of_the_library_in_evaluation(cell):
    rnn = nn.RNN(cell(3, 4))
    rnn.eval()
    captured = jit.to_static(rnn)
    for x in BATCHES:
        for mine, eager in zip(flat(captured(x)), flat(rnn(x)), strict=True):
            assert np.array_equal(mine.numpy(), eager.numpy())
            assert mine.lod() == eager.lod()
    with dygraph.set_grad_enabled(True):
        x = dygraph.to_variable(BATCHES[0].numpy(), lod=BATCHES[0].lod())
        x.stop_gradient = False
        sums = [(call(x)[0] ** 2).sum() for call in (captured, rnn)]
        mine, eager = (dygraph.grad(s, [x, *rnn.parameters()]) for s in sums)
    for a, b in zip(mine, eager, strict=True):
        assert np.array_equal(a.numpy(), b.numpy())
    assert eager[0].numpy().any()
