"""StaticRNN and DynamicRNN: the values of loops of NumPy, and what they refuse."""

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.errors import (
    AlreadyExistsError,
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
)
from dygraph.static import layers

LENGTHS = [2, 5, 1, 5]


def array(*shape):
    return np.random.RandomState(sum(shape)).uniform(-1, 1, shape).astype("float32")


def ragged(rows, lengths=LENGTHS):
    return dygraph.to_variable(rows, lod=[np.cumsum([0, *lengths]).tolist()])


def dynamic(x, hidden, init=None, need_reorder=False, static_x=None):
    """A plain network over time; the weights are those of `weights`."""
    rnn = layers.DynamicRNN()
    with rnn.block():
        now = rnn.step_input(x)
        before = rnn.memory(init=init, need_reorder=need_reorder) if init is not None else (
            rnn.memory(shape=[hidden], value=0.5)
        )  # fmt: skip
        total = layers.matmul(now, weights("w", x.shape[-1], hidden)) + layers.matmul(
            before, weights("u", hidden, hidden)
        )
        if static_x is not None:
            total = total + rnn.static_input(static_x)
        after = layers.tanh(total)
        rnn.update_memory(before, after)
        rnn.output(after, before)
    return rnn()


def weights(name, rows, columns):
    block = static.default_main_program().global_block()
    if block.has_var(name):
        return block.var(name)
    return layers.create_parameter(
        [rows, columns], "float32", name=name,
        default_initializer=static.initializer.NumpyArrayInitializer(array(rows, columns)),
    )  # fmt: skip


def by_hand(rows, lengths, first, extra=None):
    """(after, before) of each row: each sequence by itself."""
    w, u = array(rows.shape[1], first.shape[1]), array(first.shape[1], first.shape[1])
    after, before, at = [], [], 0
    for k, length in enumerate(lengths):
        state = first[k]
        for row in rows[at : at + length]:
            before.append(state)
            total = row @ w + state @ u + (0 if extra is None else extra[k])
            state = np.tanh(total)
            after.append(state)
        at += length
    shape = (len(rows), first.shape[1])
    return np.reshape(np.array(after, "float32"), shape), np.reshape(
        np.array(before, "float32"), shape
    )


def start():
    static.Executor().run(static.default_startup_program())


# DynamicRNN ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("lengths", [LENGTHS, [3], [1, 1, 1], [4, 3, 2, 1], [0, 2, 0]])
def test_dynamic_rnn_by_hand(run, lengths):
    x = static.data("x", [None, 3], "float32", lod_level=1)
    results = dynamic(x, 4)
    start()
    rows = array(sum(lengths), 3)
    got = run(*results, x=ragged(rows, lengths))
    for mine, theirs in zip(
        got, by_hand(rows, lengths, np.full((len(lengths), 4), 0.5)), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("reorder", [True, False])
def test_dynamic_rnn_with_a_first_state(run, reorder):
    x = static.data("x", [None, 3], "float32", lod_level=1)
    init = static.data("init", [None, 4], "float32")
    results = dynamic(x, 4, init, need_reorder=reorder)
    start()
    rows, first = array(sum(LENGTHS), 3), array(4, 4)
    got = run(*results, x=ragged(rows), init=first)
    order = sorted(range(len(LENGTHS)), key=lambda k: -LENGTHS[k])
    of_sequence = first if reorder else first[np.argsort(order)]
    for mine, theirs in zip(got, by_hand(rows, LENGTHS, of_sequence), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_dynamic_rnn_with_a_static_input(run):
    x = static.data("x", [None, 3], "float32", lod_level=1)
    extra = static.data("extra", [None, 4], "float32")
    results = dynamic(x, 4, static_x=extra)
    start()
    rows, more = array(sum(LENGTHS), 3), array(4, 4)
    got = run(*results, x=ragged(rows), extra=more)
    wanted = by_hand(rows, LENGTHS, np.full((4, 4), 0.5), more)
    for mine, theirs in zip(got, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_dynamic_rnn_gives_the_lod_of_its_input(run):
    x = static.data("x", [None, 3], "float32", lod_level=1)
    result, _ = dynamic(x, 4)
    pooled = layers.sequence_pool(result, "sum")
    start()
    rows = array(sum(LENGTHS), 3)
    after, _ = by_hand(rows, LENGTHS, np.full((4, 4), 0.5))
    ends = np.cumsum(LENGTHS)
    wanted = [after[end - n : end].sum(0) for n, end in zip(LENGTHS, ends, strict=True)]
    np.testing.assert_allclose(run(pooled, x=ragged(rows))[0], wanted, rtol=1e-5, atol=1e-6)


PARAGRAPHS = [
    [0, 2, 5, 6],
    [0, 3, 4, 6, 7, 9, 10],
]  # 2, 3 and 1 sentences of 3, 1; 2, 1, 2; 1 words


def test_dynamic_rnn_over_the_sentences_of_paragraphs():
    """Two levels: a step has a sentence of each paragraph, with its words."""
    x = static.data("x", [None, 2], "float32", lod_level=2)
    rnn = layers.DynamicRNN()
    with rnn.block():
        sentences = rnn.step_input(x)
        total = rnn.memory(shape=[2], value=1.0)
        after = total + layers.sequence_pool(sentences, "sum")
        rnn.update_memory(total, after)
        rnn.output(after, layers.sequence_softmax(layers.slice(sentences, [1], [0], [1])))
    rows = array(10, 2)
    feed = {"x": dygraph.to_variable(rows, lod=PARAGRAPHS)}
    totals, weights = static.Executor().run(feed=feed, fetch_list=rnn(), return_numpy=False)
    sums = [rows[a:b].sum(0) for a, b in zip(PARAGRAPHS[1][:-1], PARAGRAPHS[1][1:], strict=True)]
    wanted = [
        1.0 + np.sum(sums[a : k + 1], axis=0)
        for a, b in zip(PARAGRAPHS[0][:-1], PARAGRAPHS[0][1:], strict=True) for k in range(a, b)
    ]  # fmt: skip
    np.testing.assert_allclose(totals.numpy(), wanted, rtol=1e-5, atol=1e-6)
    assert totals.lod() == [PARAGRAPHS[0]]
    e = np.exp(rows[:, 0])
    ends = zip(PARAGRAPHS[1][:-1], PARAGRAPHS[1][1:], strict=True)
    parts = [e[a:b] / e[a:b].sum() for a, b in ends]
    np.testing.assert_allclose(weights.numpy().ravel(), np.concatenate(parts), rtol=1e-5)
    assert weights.lod() == PARAGRAPHS


def test_dynamic_rnn_over_the_words_of_paragraphs():
    """The same input by its inner level: every sentence by itself, and without memory."""
    x = static.data("x", [None, 2], "float32", lod_level=2)
    rnn = layers.DynamicRNN()
    with rnn.block():
        word = rnn.step_input(x, level=1)
        before = rnn.memory(shape=[2])
        rnn.update_memory(before, before + word)
        rnn.output(before + word, word * 2.0)
    rows = array(10, 2)
    feed = {"x": dygraph.to_variable(rows, lod=PARAGRAPHS)}
    sums, doubled = static.Executor().run(feed=feed, fetch_list=rnn(), return_numpy=False)
    ends = zip(PARAGRAPHS[1][:-1], PARAGRAPHS[1][1:], strict=True)
    wanted = np.concatenate([np.cumsum(rows[a:b], axis=0) for a, b in ends])
    np.testing.assert_allclose(sums.numpy(), wanted, rtol=1e-5, atol=1e-6)
    assert np.array_equal(doubled.numpy(), rows * 2)
    assert sums.lod() == doubled.lod() == PARAGRAPHS


def test_dynamic_rnn_without_memory_is_the_step_on_the_flat_rows():
    x = static.data("x", [None, 3], "float32", lod_level=1)
    x.stop_gradient = False
    rnn = layers.DynamicRNN()
    with rnn.block():
        rnn.output(layers.tanh(layers.matmul(rnn.step_input(x), weights("w", 3, 4))))
    out = rnn()
    (gradient,) = static.gradients([layers.reduce_sum(out * out)], [x])
    start()
    rows = array(sum(LENGTHS), 3)
    value, slope = static.Executor().run(feed={"x": ragged(rows)}, fetch_list=[out, gradient])
    y = np.tanh(rows @ array(3, 4))
    np.testing.assert_allclose(value, y, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(slope, (2 * y * (1 - y * y)) @ array(3, 4).T, rtol=1e-4, atol=1e-5)


def test_dynamic_rnn_with_ragged_external_memory_and_its_gradient():
    """Each step looks at all rows of its sequence's external memory, which the ranks sort."""
    x = static.data("x", [None, 2], "float32", lod_level=1)
    external = static.data("external", [None, 2], "float32", lod_level=1)
    external.stop_gradient = False
    rnn = layers.DynamicRNN()
    with rnn.block():
        now = rnn.step_input(x)
        rnn.output(now * layers.sequence_pool(rnn.static_input(external), "sum"))
    out = rnn()
    (gradient,) = static.gradients([layers.reduce_sum(out)], [external])
    rows, more, inner = array(sum(LENGTHS), 2), array(7, 2), [0, 3, 4, 6, 7]
    feed = {"x": ragged(rows), "external": dygraph.to_variable(more, lod=[inner])}
    value, slope = static.Executor().run(feed=feed, fetch_list=[out, gradient])
    ends = np.cumsum([0, *LENGTHS])
    sums = [more[a:b].sum(0) for a, b in zip(inner[:-1], inner[1:], strict=True)]
    np.testing.assert_allclose(value, rows * np.repeat(sums, LENGTHS, axis=0), rtol=1e-5, atol=1e-6)
    steps = [rows[a:b].sum(0) for a, b in zip(ends[:-1], ends[1:], strict=True)]
    np.testing.assert_allclose(slope, np.repeat(steps, np.diff(inner), axis=0), rtol=1e-5)


def test_dynamic_rnn_of_two_inputs(run):
    x = static.data("x", [None, 2], "float32", lod_level=1)
    y = static.data("y", [None, 2], "float32", lod_level=1)
    rnn = layers.DynamicRNN()
    with rnn.block():
        rnn.output(rnn.step_input(x) * rnn.step_input(y))
    a, b = array(sum(LENGTHS), 2), array(sum(LENGTHS), 2) + 1
    assert np.array_equal(run(rnn(), x=ragged(a), y=ragged(b))[0], a * b)


def test_dynamic_rnn_that_raises_is_taken_back():
    program = static.default_main_program()
    x = static.data("x", [None, 2], "float32", lod_level=1)
    rnn = layers.DynamicRNN()
    before = program.serialize_to_string()
    with pytest.raises(ZeroDivisionError), rnn.block():
        rnn.output(rnn.step_input(x))
        raise ZeroDivisionError
    assert program.serialize_to_string() == before
    with rnn.block():
        rnn.output(rnn.step_input(x))
    assert rnn().shape == (-1, 2)


@pytest.mark.parametrize("lengths", [[0], [0, 0], []])
def test_dynamic_rnn_over_sequences_without_a_step_says_so(run, lengths):
    x = static.data("x", [None, 3], "float32", lod_level=1)
    first = static.data("first", [None, 4], "float32")
    feed = {"x": ragged(array(0, 3), lengths), "first": np.zeros([len(lengths), 4], "float32")}
    result, _ = dynamic(x, 4, first)
    start()
    with pytest.raises(InvalidArgumentError, match="at least one sequence must have a step, .*at "):
        run(result, **feed)


def test_an_array_that_no_turn_has_written():
    x = static.data("x", [None, 3], "float32", lod_level=1)
    table, never = layers.lod_rank_table(x), static.data("never", [1], "bool")
    array_of_rows, zero = layers.create_array("float32"), layers.fill_constant([1], "int64", 0)
    with layers.Switch() as switch, switch.case(never):
        layers.array_write(x, zero, array_of_rows)
    rows = layers.array_to_lod_tensor(array_of_rows, table)
    feed = {"x": ragged(array(2, 3), [2]), "never": np.array([False])}
    with pytest.raises(PreconditionNotMetError, match="X must have 2 elements.* nothing was writ"):
        static.Executor().run(feed=feed, fetch_list=[rows])


def test_dynamic_rnn_refuses():
    x = static.data("x", [None, 2], "float32", lod_level=1)
    flat = static.data("flat", [None, 2], "float32")
    outside = layers.DynamicRNN()
    for call in (
        lambda r: r.step_input(x), lambda r: r.static_input(x), lambda r: r.memory(shape=[2]),
        lambda r: r.output(x), lambda r: r.update_memory(x, x),
    ):  # fmt: skip
        with pytest.raises(PreconditionNotMetError, match=r"inside `with rnn.block\(\):`"):
            call(outside)
    with pytest.raises(PreconditionNotMetError, match="has ended"):
        outside()
    cases = [
        (lambda r: r.static_input(flat), PreconditionNotMetError, "Call step_input"),
        (lambda r: r.memory(shape=[2]), PreconditionNotMetError, "Call step_input"),
        (lambda r: r.memory(), InvalidArgumentError, "needs init, or shape"),
        (lambda r: None, PreconditionNotMetError, "needs an input"),
        (lambda r: r.step_input(x), PreconditionNotMetError, "must give a result"),
        (lambda r: r.step_input(flat), InvalidArgumentError, "lod_level=1"),
        (lambda r: r.step_input(dygraph.ones([2])), ArgumentTypeError, "an eager Variable"),
        (lambda r: r.step_input(3), ArgumentTypeError, "got int"),
    ]
    for call, error, text in cases:
        rnn = layers.DynamicRNN()
        with pytest.raises(error, match=text), rnn.block():
            call(rnn)

    def with_memory(body):
        rnn = layers.DynamicRNN()
        with rnn.block():
            now = rnn.step_input(x)
            body(rnn, now, rnn.memory(shape=[2]))

    more = [
        (lambda r, now, m: None, PreconditionNotMetError, "must be updated"),
        (lambda r, now, m: r.update_memory(now, m), PreconditionNotMetError, "needs a memory"),
        (
            lambda r, now, m: r.update_memory(m, layers.concat([m, m], 1)),
            InvalidArgumentError,
            "shape",
        ),
        (lambda r, now, m: r.update_memory(m, layers.cast(m, "int64")), ArgumentTypeError, "type"),
        (lambda r, now, m: [r.update_memory(m, now) for _ in "ab"], AlreadyExistsError, "once"),
        (
            lambda r, now, m: layers.DynamicRNN.memory(r, shape=3),
            ArgumentTypeError,
            "list of sizes",
        ),
    ]
    for body, error, text in more:
        with pytest.raises(error, match=text):
            with_memory(body)
    assert static.default_main_program().num_blocks == 1


def test_dynamic_rnn_refuses_a_memory_with_more_rows_than_sequences(run):
    x = static.data("x", [None, 3], "float32", lod_level=1)
    results = dynamic(x, 4, static.data("init", [None, 4], "float32"))
    start()
    with pytest.raises(
        InvalidArgumentError,
        match=r"^shrink_rnn_memory: X must have at most a row for each of the 4 sequences of the "
        r"table, got 6 rows \(operator \d+ of block 1, made at .*test_steps.py:\d+",
    ):
        run(*results, x=ragged(array(sum(LENGTHS), 3)), init=array(6, 4))


# StaticRNN ----------------------------------------------------------------------------------------


def test_static_rnn_by_hand(run):
    x = static.data("x", [5, None, 3], "float32")
    rnn = layers.StaticRNN()
    with rnn.step():
        now = rnn.step_input(x)
        before = rnn.memory(shape=[-1, 4], batch_ref=now, init_value=0.5)
        after = layers.tanh(
            layers.matmul(now, weights("w", 3, 4)) + layers.matmul(before, weights("u", 4, 4))
        )
        rnn.update_memory(before, after)
        rnn.step_output(after)
        rnn.output(before)
    results = rnn()
    assert [v.shape for v in results] == [(5, -1, 4)] * 2
    start()
    value = array(5, 2, 3)
    rows = value.transpose(1, 0, 2).reshape(10, 3)
    wanted = by_hand(rows, [5, 5], np.full((2, 4), 0.5))
    for mine, theirs in zip(run(*results, x=value), wanted, strict=True):
        theirs = theirs.reshape(2, 5, 4).transpose(1, 0, 2)
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_static_rnn_without_memory_and_of_one_step(run):
    x, y = (static.data(n, [None, 2], "float32") for n in "xy")
    rnn = layers.StaticRNN()
    with rnn.step():
        rnn.output(rnn.step_input(x) - rnn.step_input(y))
    for steps in (1, 3):
        a, b = array(steps, 2), array(steps, 2) + 1
        assert np.array_equal(run(rnn(), x=a, y=b)[0], a - b)


def test_static_rnn_with_a_first_state_from_before(run):
    x, init = static.data("x", [4, 2], "float32"), static.data("init", [2], "float32")
    rnn = layers.StaticRNN()
    with rnn.step():
        now = rnn.step_input(x)
        total = rnn.memory(init=init)
        rnn.update_memory(total, total + now)
        rnn.output(total + now)
    a = array(4, 2)
    wanted = np.float32(10) + np.zeros((1, 2), "float32")
    got = run(rnn(), x=a, init=wanted[0])[0]
    for row in a:
        wanted = np.vstack([wanted, wanted[-1] + row])
    assert np.array_equal(got, wanted[1:])


def test_static_rnn_does_not_see_the_whole_input():
    x = static.data("x", [4, 2], "float32")
    rnn = layers.StaticRNN()
    with pytest.raises(PreconditionNotMetError, match="the name 'x' means"), rnn.step():
        rnn.output(rnn.step_input(x) + layers.reduce_sum(x))
    assert static.default_main_program().num_blocks == 1


def test_static_rnn_refuses():
    x, short = static.data("x", [4, 2], "float32"), static.data("short", [3, 2], "float32")
    kept = layers.fill_constant([2], "float32", 0.0)
    outside = layers.StaticRNN()
    with pytest.raises(PreconditionNotMetError, match=r"inside `with rnn.step\(\):`"):
        outside.step_input(x)
    with pytest.raises(PreconditionNotMetError, match="has ended"):
        outside()

    def step(body):
        rnn = layers.StaticRNN()
        with rnn.step():
            body(rnn, rnn.step_input(x))
        return rnn

    cases = [
        (lambda r, now: r.step_input(short), InvalidArgumentError, "same number of steps"),
        (lambda r, now: r.memory(), InvalidArgumentError, "needs init, or shape and batch_ref"),
        (
            lambda r, now: r.memory(shape=[-1, 2], batch_ref=now * 2.0), InvalidArgumentError,
            "before the step",
        ),
        (lambda r, now: r.memory(init=kept), PreconditionNotMetError, "must be updated"),
        (lambda r, now: r.memory(init=now * 2.0), PreconditionNotMetError, "ends with it"),
        (lambda r, now: r.update_memory(now, now), PreconditionNotMetError, "needs a memory"),
        (
            lambda r, now: r.update_memory(r.memory(init=kept), layers.concat([now, now])),
            InvalidArgumentError, r"got \(2,\) before the step and \(4,\) after it",
        ),
        (
            lambda r, now: [r.output(now), layers.assign(now, kept)], PreconditionNotMetError,
            "must not write",
        ),
        (lambda r, now: r.step_output(3), ArgumentTypeError, "got int"),
    ]  # fmt: skip
    for body, error, text in cases:
        with pytest.raises(error, match=text):
            step(body)
    with pytest.raises(PreconditionNotMetError, match="needs an input"), layers.StaticRNN().step():
        pass
    with pytest.raises(PreconditionNotMetError, match="must give a result"):
        step(lambda r, now: None)
    described = step(lambda r, now: r.output(now))
    with pytest.raises(PreconditionNotMetError, match="another StaticRNN"), described.step():
        pass


@pytest.mark.parametrize("lengths", [(4, 3), (0, 0)])
def test_inputs_of_different_lengths_name_operator_line_and_shapes(lengths):
    with static.program_guard(static.Program(), static.Program()):
        a, b = static.data("a", [None, 2]), static.data("b", [None, 2])
        rnn = layers.StaticRNN()
        with rnn.step():
            rnn.step_output(rnn.step_input(a) + rnn.step_input(b))
        out = rnn()
        feed = {"a": array(lengths[0], 2), "b": array(lengths[1], 2)}
        text = (
            r"^recurrent: inputs must have one number of steps, at least 1, along axis 0, got 'a' "
            rf"of shape \[{lengths[0]}, 2\], 'b' of shape \[{lengths[1]}, 2\]\. .*"
            r"operator 0 of block 0, made at .*test_steps.py:\d+ in test_inputs_of_different"
        )
        with pytest.raises(InvalidArgumentError, match=text):
            static.Executor().run(feed=feed, fetch_list=[out])
