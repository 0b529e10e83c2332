"""Cells, rnn and decoders beside NumPy."""

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.static import layers


def array(*shape):
    return np.random.RandomState(sum(shape)).uniform(-1, 1, shape).astype("float32")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def start(**values):
    static.Executor().run(static.default_startup_program())
    for name, value in values.items():
        static.global_scope().var(name).set(value)


def gru(x, h, wg, bg, wc, bc):
    r, u = np.split(sigmoid(np.concatenate([x, h], 1) @ wg + bg), 2, 1)
    c = np.tanh(np.concatenate([x, r * h], 1) @ wc + bc)
    return u * h + (1 - u) * c


def lstm(x, h, c, w, b):
    i, j, f, o = np.split(np.concatenate([x, h], 1) @ w + b, 4, 1)
    c = c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
    return np.tanh(c) * sigmoid(o), c


GRU = {
    "p_gate": array(7, 8),
    "b_gate": array(8),
    "p_candidate": array(7, 4),
    "b_candidate": array(4),
}


@pytest.mark.parametrize("lengths", [None, [5, 2, 3]])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("time_major", [False, True])
def test_rnn_of_a_gru(run, lengths, reverse, time_major):
    x = static.data("x", [5, None, 3] if time_major else [None, 5, 3], "float32")
    n = static.data("n", [None], "int64")
    cell = layers.GRUCell(4, param_attr="p", bias_attr="b")
    outputs, last = layers.rnn(
        cell, x, sequence_length=n if lengths else None, time_major=time_major, is_reverse=reverse
    )
    start(**GRU)
    value, h = array(3, 5, 3), np.zeros((3, 4), "float32")
    wanted = np.zeros((3, 5, 4), "float32")
    for t in reversed(range(5)) if reverse else range(5):
        new = gru(value[:, t], h, *GRU.values())
        wanted[:, t] = new
        h = new if lengths is None else np.where(np.array(lengths)[:, None] > t, new, h)
    feed = {"x": value.transpose(1, 0, 2) if time_major else value}
    if lengths:
        feed["n"] = np.array(lengths)
    got, state = run(outputs, last, **feed)
    got = got.transpose(1, 0, 2) if time_major else got
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(state, h, rtol=1e-5, atol=1e-6)


def test_rnn_of_an_lstm_over_any_number_of_steps(run):
    x = static.data("x", [None, None, 3], "float32")
    outputs, (h, c) = layers.rnn(layers.LSTMCell(4, param_attr="p", bias_attr="b"), x)
    w, b = array(7, 16), array(16)
    start(p=w, b=b)
    for steps in (1, 6):
        value = array(2, steps, 3)
        state = np.zeros((2, 4), "float32"), np.zeros((2, 4), "float32")
        wanted = []
        for t in range(steps):
            state = lstm(value[:, t], *state, w, b)
            wanted.append(state[0])
        for mine, theirs in zip(
            run(outputs, h, c, x=value), (np.stack(wanted, 1), *state), strict=True
        ):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_first_states():
    x = static.data("x", [None, 3], "float32")
    states = layers.LSTMCell(4).get_initial_states(x)
    assert [s.shape for s in states] == [(-1, 4), (-1, 4)]
    made = layers.RNNCell().get_initial_states(x, {"a": [2], "b": [3, 4]}, init_value=1.5)
    assert made["a"].shape == (-1, 2) and made["b"].shape == (-1, 3, 4)
    got = static.Executor().run(feed={"x": array(2, 3)}, fetch_list=[made["b"]])[0]
    assert np.array_equal(got, np.full((2, 3, 4), 1.5))
    with pytest.raises(NotImplementedError):
        layers.RNNCell().get_initial_states(x)


def test_a_cell_that_gives_other_states():
    x = static.data("x", [None, 5, 3], "float32")
    with pytest.raises(InvalidArgumentError, match="in the structure it is given"):
        layers.rnn(lambda x, h: (x, [h, h]), x, static.data("h", [None, 3], "float32"))
    with pytest.raises(ArgumentTypeError, match="dygraph.nn.RNN"):
        layers.rnn(lambda x, h: (x, h), dygraph.ones([2, 5, 3]))
    assert static.default_main_program().num_blocks == 1


# Decoders -----------------------------------------------------------------------------------------

WORDS, HIDDEN, BEAMS, END = 7, 5, 3, 1
EMBEDDING, OUT = array(WORDS, 3) * 2, array(HIDDEN, WORDS) * 3
W, U = array(3, HIDDEN) * 2, array(HIDDEN, HIDDEN)


class Plain(layers.RNNCell):
    """tanh(x W + h U)."""

    def call(self, inputs, states):
        w, u = (layers.assign(value) for value in (W, U))
        new = layers.tanh(layers.matmul(inputs, w) + layers.matmul(states, u))
        return new, new


def embed(ids):
    table = layers.assign(EMBEDDING)
    return layers.reshape(
        layers.gather(table, layers.reshape(ids, [-1])), [-1, *[BEAMS] * (len(ids.shape) - 1), 3]
    )


def scores(x):
    return layers.matmul(x, layers.assign(OUT))


def step(ids, h):
    h = np.tanh(EMBEDDING[ids] @ W + h @ U)
    return h, h @ OUT


def searched(h, steps):
    """Beams of one sequence: [steps, beams] of words, parents, and the scores at the end."""
    beams = [((), 0.0 if k == 0 else -1e9, h, 0, False) for k in range(BEAMS)]
    for _ in range(steps):
        found = []
        for words, score, state, last, ended in beams:
            state, logits = step(last, state)
            logs = logits - np.log(np.exp(logits).sum())
            if ended:
                logs = np.where(np.arange(WORDS) == END, 0.0, -1e9)
            found += [
                ((*words, w), score + logs[w], state, w, ended or w == END) for w in range(WORDS)
            ]
        beams = sorted(found, key=lambda beam: -beam[1])[:BEAMS]
        if all(beam[4] for beam in beams):
            break
    return beams


@pytest.mark.parametrize("is_test", [False, True])
def test_beam_search_beside_python(run, is_test):
    first = static.data("h", [None, HIDDEN], "float32")
    decoder = layers.BeamSearchDecoder(Plain(), 0, END, BEAMS, embed, scores)
    ids, states, lengths = layers.dynamic_decode(
        decoder, first, max_step_num=4, is_test=is_test, return_length=True
    )
    value = array(2, HIDDEN) * 3
    got, logs, counts = run(ids, states.log_probs, lengths, h=value)
    for row in range(2):
        beams = searched(value[row], 5)
        for k, (words, score, *_) in enumerate(beams):
            words = words[: words.index(END) + 1] if END in words else words
            assert got[row, : len(words), k].tolist() == list(words)
            assert counts[row, k] == len(words)
            np.testing.assert_allclose(logs[row, k], score, rtol=1e-4)


def test_greedy_decoding(run):
    first, begin = static.data("h", [None, HIDDEN], "float32"), static.data("b", [None], "int64")
    helper = layers.GreedyEmbeddingHelper(embed, begin, END)
    outputs, last, lengths = layers.dynamic_decode(
        layers.BasicDecoder(Plain(), helper, scores), first, max_step_num=5, return_length=True
    )
    value = array(3, HIDDEN) * 3
    got, counts = run(outputs.sample_ids, lengths, h=value, b=np.zeros(3, "int64"))
    for row in range(3):
        h, word, words = value[row], 0, []
        while len(words) < 6 and word != END:
            h, logits = step(word, h)
            word = int(logits.argmax())
            words.append(word)
        assert got[row, : len(words)].tolist() == words and counts[row] == len(words)


@pytest.mark.parametrize("time_major", [False, True])
def test_decoding_of_given_inputs(run, time_major):
    x = static.data("x", [4, None, 3] if time_major else [None, 4, 3], "float32")
    n, first = static.data("n", [None], "int64"), static.data("h", [None, HIDDEN], "float32")
    decoder = layers.BasicDecoder(Plain(), layers.TrainingHelper(x, n, time_major))
    outputs, last, lengths = layers.dynamic_decode(
        decoder, first, impute_finished=True, return_length=True, output_time_major=time_major
    )
    value, h = array(3, 4, 3), array(3, HIDDEN)
    counts = np.array([2, 4, 1])
    given = value.transpose(1, 0, 2) if time_major else value
    got, state, decoded = run(outputs.cell_outputs, last, lengths, x=given, n=counts, h=h)
    got = got.transpose(1, 0, 2) if time_major else got
    for t in range(4):
        new = np.tanh(value[:, t] @ W + h @ U)
        np.testing.assert_allclose(got[counts > t, t], new[counts > t], rtol=1e-5, atol=1e-6)
        h = np.where(counts[:, None] > t, new, h)
    np.testing.assert_allclose(state, h, rtol=1e-5, atol=1e-6)
    assert decoded.tolist() == counts.tolist()


def test_drawn_ids(run):
    first, begin = static.data("h", [None, HIDDEN], "float32"), static.data("b", [None], "int64")
    helper = layers.SampleEmbeddingHelper(embed, begin, END, softmax_temperature=0.01, seed=3)
    outputs, _ = layers.dynamic_decode(
        layers.BasicDecoder(Plain(), helper, scores), first, max_step_num=2
    )
    value = array(3, HIDDEN) * 3
    got = run(outputs.sample_ids, h=value, b=np.zeros(3, "int64"))[0]
    assert got[:, 0].tolist() == step(np.zeros(3, int), value)[1].argmax(1).tolist()


class Countdown(layers.Decoder):
    """Gives a number that is one less in each step, and ends at 0."""

    def initialize(self, inits):
        return inits, inits, inits < 1

    def step(self, time, inputs, states):
        return states, states - 1, inputs, states - 1 < 1


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("described", [False, True])
def test_counting_down(run, described, time_major):
    value = np.array([3, 1, 2])
    first = static.data("first", [None], "int64") if described else dygraph.to_variable(value)
    results = layers.dynamic_decode(
        Countdown(), first, output_time_major=time_major, return_length=True
    )
    got = run(*results, first=value) if described else [v.numpy() for v in results]
    rows = [[3, 2, 1], [1, 0, -1], [2, 1, 0]]
    assert got[0].tolist() == (np.transpose(rows).tolist() if time_major else rows)
    assert got[1].tolist() == [0, -2, -1] and got[2].tolist() == [3, 1, 2]


def test_decoders_refuse():
    with pytest.raises(ArgumentTypeError, match="decoder.initialize must be a function"):
        layers.dynamic_decode(3)
    with pytest.raises(ArgumentTypeError, match="cell must be a function"):
        layers.BeamSearchDecoder(3, 0, 1, 2)
    with pytest.raises(InvalidArgumentError, match="at least 1, got 0"):
        layers.BeamSearchDecoder(Plain(), 0, 1, 0)
    with pytest.raises(NotImplementedError, match="initialize"):
        layers.dynamic_decode(layers.Decoder())


# Training -----------------------------------------------------------------------------------------


def differences(run_loss, value, step=1e-2):
    """The gradient of a loss by central differences."""
    gradient = np.zeros(value.shape)
    for at in np.ndindex(value.shape):
        sides = []
        for sign in (1, -1):
            moved = value.copy()
            moved[at] += sign * step
            sides.append(run_loss(moved))
        gradient[at] = (sides[0] - sides[1]) / (2 * step)
    return gradient


def check_gradient(loss, name, value, feeds):
    """The gradient of a parameter beside differences of the loss."""
    static.append_backward(loss)
    exe = static.Executor()

    def at(moved):
        static.global_scope().var(name).set(moved.astype("float32"))
        return float(exe.run(feed=feeds, fetch_list=[loss])[0])

    wanted = differences(at, value.astype("float64"))
    static.global_scope().var(name).set(value)
    got = exe.run(feed=feeds, fetch_list=[f"{name}@GRAD"])[0]
    np.testing.assert_allclose(got, wanted, rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize("with_lengths", [False, True])
def test_gradients_of_rnn(with_lengths):
    x, n = static.data("x", [None, 5, 3], "float32"), static.data("n", [None], "int64")
    first = static.data("h", [None, 4], "float32")
    first.stop_gradient = False
    outputs, last = layers.rnn(
        layers.GRUCell(4, param_attr="p", bias_attr="b"), x, first,
        sequence_length=n if with_lengths else None,
    )  # fmt: skip
    loss = layers.reduce_sum(layers.square(outputs)) + layers.reduce_sum(last)
    start(**GRU)
    feeds = {"x": array(2, 5, 3), "h": array(2, 4)}
    if with_lengths:
        feeds["n"] = np.array([3, 5])
    check_gradient(loss, "p_candidate", GRU["p_candidate"], feeds)


def test_gradients_of_decoding():
    x, n = static.data("x", [None, 4, 3], "float32"), static.data("n", [None], "int64")
    first = static.data("h", [None, 4], "float32")
    cell = layers.GRUCell(4, param_attr="p", bias_attr="b")
    decoder = layers.BasicDecoder(cell, layers.TrainingHelper(x, n))
    outputs, _ = layers.dynamic_decode(decoder, first)
    loss = layers.reduce_sum(layers.square(outputs.cell_outputs))
    start(**GRU)
    feeds = {"x": array(2, 4, 3), "n": np.array([4, 2]), "h": array(2, 4)}
    check_gradient(loss, "p_gate", GRU["p_gate"], feeds)


def test_what_a_decoder_reads_may_have_any_length(run):
    """An encoder's results, of which batch and time are open, for each beam."""
    x = static.data("x", [None, None, 2], "float32")
    beams = layers.BeamSearchDecoder.tile_beam_merge_with_batch(x, 3)
    assert beams.shape == (-1, -1, 2)
    for time in (1, 4):
        value = array(2, time, 2)
        assert np.array_equal(run(beams, x=value)[0], np.repeat(value, 3, axis=0))


class Looking(layers.RNNCell):
    """The mean of its memory, which is a state, joins the ids in the logits."""

    def call(self, inputs, states):
        return layers.reduce_mean(states, dim=1) + inputs, states


def test_states_of_a_beam_search_may_have_any_length(run):
    memory = static.data("memory", [None, None, 4], "float32")
    decoder = layers.BeamSearchDecoder(
        Looking(), 0, 3, 2, embedding_fn=lambda ids: static.one_hot(ids, 4)
    )
    ids, _ = layers.dynamic_decode(decoder, inits=memory, max_step_num=2)
    value = np.zeros((2, 5, 4), "float32")
    value[0, :, 2], value[1, :, 1] = 9.0, 9.0
    got = run(ids, memory=value)[0]
    assert got.shape == (2, 3, 2) and got[:, :, 0].tolist() == [[2, 2, 2], [1, 1, 1]]
