"""The documents' running example of a DynamicRNN, number by number.

Four pairs of sentences, the words of each side numbered throughout. The target sentences are the
step input; the source sentences, of other lengths, are the external memory, which is sorted by the
ranks of the step input. In steps 5 to 7 the batch shrinks.
"""

import numpy as np
import pytest

import dygraph
from dygraph import ops as F
from dygraph import static
from dygraph.static import layers

SOURCE, TARGET = [10, 8, 5, 7], [5, 7, 4, 6]
STEPS = [  # words of the target; by rank: sentences 2, 4, 1, 3
    [6, 17, 1, 13], [7, 18, 2, 14], [8, 19, 3, 15], [9, 20, 4, 16], [10, 21, 5], [11, 22], [12],
]  # fmt: skip
SORTED = [[*range(11, 19)], [*range(24, 31)], [*range(1, 11)], [*range(19, 24)]]


def words(lengths):
    """The words 1, 2, ... of sentences, as floats."""
    numbers = np.arange(1, sum(lengths) + 1, dtype="float32")[:, None]
    return dygraph.to_variable(numbers, lod=[np.cumsum([0, *lengths]).tolist()])


@pytest.fixture
def steps():
    """What each step of the network saw: (words, memory, external memory and its LoD)."""
    seen = []
    x = static.data("x", [None, 1], "float32", lod_level=1)
    external = static.data("external", [None, 1], "float32", lod_level=1)
    first = static.data("first", [None, 1], "float32")
    rnn = layers.DynamicRNN()
    with rnn.block():
        now, outside = rnn.step_input(x), rnn.static_input(external)
        memory = rnn.memory(init=first, need_reorder=True)

        def note(*values):
            seen.append([(v.numpy().ravel().tolist(), v.lod()) for v in values])
            return values[0]

        noted = (
            static.default_main_program()
            .current_block()
            .create_var(name="noted", dtype="float32", shape=[-1, 1])
        )
        layers.py_func(note, [now, memory, outside], noted)
        rnn.update_memory(memory, memory + 1.0)
        rnn.output(noted + memory * 0.0)
    feed = {
        "x": words(TARGET), "external": words(SOURCE),
        "first": np.array([[100], [200], [300], [400]], "float32"),
    }  # fmt: skip
    out = static.Executor().run(feed=feed, fetch_list=[rnn()], return_numpy=False)[0]
    return seen, out


def test_each_step_sees_the_words_of_the_sentences_that_are_long_enough(steps):
    seen, _ = steps
    assert [now for (now, _), *_ in seen] == STEPS
    assert [len(now) for (now, _), *_ in seen] == [4, 4, 4, 4, 3, 2, 1]


def test_the_memory_shrinks_with_the_batch(steps):
    seen, _ = steps
    starts = [200, 400, 100, 300]
    wanted = [[s + t for s in starts[: len(now)]] for t, now in enumerate(STEPS)]
    assert [memory for _, (memory, _), _ in seen] == wanted


def test_the_external_memory_is_sorted_by_the_step_input_and_shrinks(steps):
    seen, _ = steps
    for (now, _), _, (outside, lod) in seen:
        kept = SORTED[: len(now)]
        assert outside == [word for sentence in kept for word in sentence]
        assert lod == [np.cumsum([0, *map(len, kept)]).tolist()]


def test_the_results_come_in_the_order_of_the_input(steps):
    _, out = steps
    assert out.numpy().ravel().tolist() == list(range(1, 23))
    assert out.lod() == [[0, 5, 12, 16, 22]]


def test_the_same_with_eager_operators():
    x = words(TARGET)
    table = F.lod_rank_table(x)
    array = F.lod_tensor_to_array(x, table)
    numbers = [dygraph.to_variable(np.array([t])) for t in range(7)]
    assert [F.read_from_array(array, t).numpy().ravel().tolist() for t in numbers] == STEPS
    states = dygraph.ones([4, 2])
    shrunk = [F.shrink_rnn_memory(states, table, t).shape[0] for t in numbers]
    assert shrunk == [4, 4, 4, 4, 3, 2, 1]
    ordered = F.reorder_lod_tensor_by_rank(words(SOURCE), table)
    assert ordered.numpy().ravel().tolist() == [word for s in SORTED for word in s]
    assert ordered.lod() == [[0, 8, 15, 25, 30]]
    again = F.array_to_lod_tensor(array, table)
    assert again.numpy().ravel().tolist() == list(range(1, 23))
    assert again.lod() == [[0, 5, 12, 16, 22]]


def test_a_network_over_time_counts_the_same_rows():
    rows = []

    class Cell(dygraph.nn.RNNCellBase):
        state_shape = (1,)

        def forward(self, x, state):
            rows.append((x.shape[0], state.shape[0]))
            return x, state + x

    _, last = dygraph.nn.RNN(Cell())(words(TARGET))
    assert rows == [(n, n) for n in (4, 4, 4, 4, 3, 2, 1)]
    assert last.numpy().ravel().tolist() == [15, 63, 58, 117]
