"""Branches, loops, arrays and steps of programs in ONNX Runtime."""

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.static import layers
from onnx_export_cases import model_of, run

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.normal(size=shape).astype("float32")


def check(describe, *given, opset=20):
    """The program that describe() gives (fetches), on each of the given feeds."""
    main, startup = static.Program(), static.Program()
    main.random_seed = startup.random_seed = 5
    with static.program_guard(main, startup):
        fetches = describe()
    fetches = fetches if isinstance(fetches, (list, tuple)) else [fetches]
    executor, scope = static.Executor(), dygraph._core.Scope()
    executor.run(startup, scope=scope)
    model = model_of(main, opset=opset, feeds=list(given[0]), fetches=list(fetches), scope=scope)
    for feed in given:
        want = executor.run(main, feed=feed, fetch_list=list(fetches), scope=scope)
        got = run(model, feed)
        for fetch, value in zip(fetches, want, strict=True):
            assert got[fetch.name].shape == value.shape
            np.testing.assert_allclose(got[fetch.name], value, rtol=1e-5, atol=1e-5)
    return {node.op_type for node in model.graph.node}


def x():
    return static.data("x", [None, 3], "float32")


@pytest.mark.parametrize("opset", [17, 28])
def test_while(opset):
    def program():
        step, most = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 5)
        mean = layers.mean(layers.fc(x(), 2, act="relu"))
        total, go_on = layers.fill_constant([1], "float32", 0), layers.less_than(step, most)
        with layers.While(go_on).block():
            layers.assign(total * 0.5 + mean, total)
            layers.increment(step)
            layers.less_than(step, most, cond=go_on)
        return [total, step]

    used = check(program, {"x": floats(2, 3)}, {"x": floats(7, 3)}, opset=opset)
    assert "Loop" in used


def test_cond():
    def program():
        value = x()
        return layers.cond(
            layers.mean(value) > 0, lambda: layers.fc(value, 2), lambda: layers.tanh(value)[:, :2]
        )

    used = check(program, {"x": abs(floats(2, 3))}, {"x": -abs(floats(4, 3))})
    assert "If" in used


def test_switch_case():
    def program():
        value, number = x(), static.data("number", [1], "int32")
        ways = {0: lambda: value * 2.0, 1: lambda: value + 1.0}
        return layers.switch_case(number, ways, default=lambda: value - 5.0)

    feeds = [{"x": floats(2, 3), "number": np.array([n], "int32")} for n in (0, 1, 7)]
    check(program, *feeds)


def test_arrays():
    def program():
        value = x()
        step, most = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 4)
        array, go_on = layers.array_write(value, step), layers.less_than(step, most)
        with layers.While(go_on).block():
            read = layers.array_read(array, step)
            layers.increment(step)
            layers.array_write(read * 2.0, step, array=array)
            layers.less_than(step, most, cond=go_on)
        layers.array_write(value * 0.0, layers.fill_constant([1], "int64", 1), array=array)
        joined, _ = layers.tensor_array_to_tensor(array, axis=0)
        return [joined, layers.array_length(array)]

    check(program, {"x": floats(2, 3)}, {"x": floats(5, 3)})


@pytest.mark.parametrize("reverse", [False, True])
def test_static_rnn(reverse):
    def program():
        words = static.data("words", [None, None, 3], "float32")
        start = static.data("start", [None, 4], "float32")
        rnn = layers.StaticRNN()
        with rnn.step():
            word, hidden = rnn.step_input(words), rnn.memory(init=start)
            new = layers.fc([word, hidden], 4, act="tanh")
            rnn.update_memory(hidden, new)
            rnn.step_output(new)
        out = rnn()
        if reverse:
            static.default_main_program().global_block().ops[-1].set_attr("reverse", True)
        return out

    feeds = [{"words": floats(t, b, 3), "start": floats(b, 4)} for t, b in ((2, 3), (5, 1))]
    assert check(program, *feeds) == {"Scan"}


def test_ragged_lstm_and_gru():
    """A ragged input is two: rows, and the lengths of its sequences."""

    def program():
        words = static.data("words", [None, 5], "float32", lod_level=1)
        lstm, cell = layers.dynamic_lstm(layers.fc(words, 12), 12)
        gru = layers.dynamic_gru(layers.fc(words, 9), 3, is_reverse=True)
        return [layers.concat([lstm, cell, gru], axis=1), layers.sequence_pool(gru, "max")]

    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        rows, pooled = program()
    executor, scope = static.Executor(), dygraph._core.Scope()
    executor.run(startup, scope=scope)
    model = model_of(main, feeds=["words"], fetches=[rows, pooled], scope=scope)
    assert [i.name for i in model.graph.input] == ["words", "words.lengths"]
    assert {"LSTM", "GRU", "Scan"} <= {node.op_type for node in model.graph.node}
    for lengths in ([2, 3, 1], [4], [1, 1, 1, 1]):
        array = floats(sum(lengths), 5)
        fed = static.create_lod_tensor(array, [lengths], static.CPUPlace())
        want = executor.run(
            main, feed={"words": fed}, fetch_list=[rows, pooled], scope=scope, return_numpy=False
        )
        got = run(model, {"words": array, "words.lengths": np.array(lengths)})
        assert got[f"{rows.name}.lengths"].tolist() == lengths
        for fetch, value in zip((rows, pooled), want, strict=True):
            np.testing.assert_allclose(got[fetch.name], np.array(value), rtol=1e-5, atol=1e-5)


def test_dynamic_rnn():
    """Steps of sequences, longest first: a rank table, arrays, a memory that shrinks."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        words = static.data("words", [None, 3], "float32", lod_level=1)
        first = static.data("first", [None, 4], "float32")
        rnn = layers.DynamicRNN()
        with rnn.block():
            word, hidden = rnn.step_input(words), rnn.memory(init=first, need_reorder=True)
            new = layers.fc([word, hidden], 4, act="tanh")
            rnn.update_memory(hidden, new)
            rnn.output(new)
        rows = rnn()
        last = layers.sequence_pool(rows, "last")
    executor, scope = static.Executor(), dygraph._core.Scope()
    executor.run(startup, scope=scope)
    model = model_of(main, feeds=["words", "first"], fetches=[rows, last], scope=scope)
    assert "Loop" in {node.op_type for node in model.graph.node}
    for lengths in ([2, 4, 1], [3], [2, 5, 5, 3]):
        array, start = floats(sum(lengths), 3), floats(len(lengths), 4)
        fed = static.create_lod_tensor(array, [lengths], static.CPUPlace())
        want = executor.run(
            main, {"words": fed, "first": start}, [rows, last], scope=scope, return_numpy=False
        )
        got = run(model, {"words": array, "words.lengths": np.array(lengths), "first": start})
        assert got[f"{rows.name}.lengths"].tolist() == lengths
        for fetch, value in zip((rows, last), want, strict=True):
            np.testing.assert_allclose(got[fetch.name], np.array(value), rtol=1e-5, atol=1e-5)


def test_if_else():
    """Rows that take one of two ways and come together again in their order."""

    def program():
        value = x()
        ways = layers.IfElse(layers.reduce_sum(value, 1, keep_dim=True) > 0)
        with ways.true_block():
            ways.output(ways.input(value) * 2.0)
        with ways.false_block():
            ways.output(ways.input(value) - 1.0)
        return ways()

    check(program, {"x": floats(2, 3)}, {"x": floats(7, 3)}, {"x": abs(floats(2, 3))})


# Functions of Python ------------------------------------------------------------------------------


def halved(x):
    while x.max() > 1:
        x = x / 2
    return x


def chosen(x):
    total = x.sum()
    if total > 0:
        return x * 2
    if total > -5:
        return x - 1
    return x


def nested(x):
    total = x * 0
    for row in range(3):
        if x.mean() > row:
            total = total + x
        while total.max() > 4:
            total = total - 1
    return total


@pytest.mark.parametrize("function", [halved, chosen, nested])
def test_functions_that_decide(function):
    model = model_of(function, [dygraph.jit.InputSpec(["n", 3])])
    (given,), (made,) = model.graph.input, model.graph.output
    for array in (abs(floats(2, 3)) * 9, -abs(floats(4, 3)), -9 * abs(floats(1, 3)), floats(3, 3)):
        want = function(dygraph.to_variable(array)).numpy()
        got = run(model, {given.name: array})[made.name]
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
