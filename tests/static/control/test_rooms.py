"""Blocks in many rooms: deep and wide ones, empty batches, assertions, copies for testing."""

import numpy as np
import pytest

import dygraph
from dygraph import ops as F
from dygraph import static
from dygraph.errors import (
    AssertionFailedError,
    InvalidArgumentError,
    OutOfRangeError,
    PreconditionNotMetError,
)
from dygraph.static import layers


def ints(value):
    return layers.fill_constant([1], "int64", value)


def filled(value):
    return lambda: layers.fill_constant([1], "float32", float(value))


# Choices of many ways


@pytest.mark.parametrize("ways", [17, 33, 65, 130])
def test_a_choice_of_many_ways(run, ways):
    i = static.data("i", [1], "int64")
    switched = layers.switch_case(i, {k: filled(k * k) for k in range(ways)}, filled(-1))
    cases = layers.case([(layers.less_equal(i, ints(k)), filled(k)) for k in range(ways)])
    for k in (0, 1, 15, 16, ways // 2 - 1, ways // 2, ways - 1):
        got = run(switched, cases, i=np.array([k]))
        assert [v.tolist() for v in got] == [[float(k * k)], [float(k)]]
    got = run(switched, cases, i=np.array([ways + 7]))
    assert [v.tolist() for v in got] == [[-1.0], [float(ways - 1)]]  # none: the last one of case


def test_gradients_of_a_choice_of_many_ways(run):
    i, x = static.data("i", [1], "int64"), static.data("x", [2])
    x.stop_gradient = False
    y = layers.switch_case(i, {k: lambda k=k: x * x * float(k) for k in range(80)})
    (gradient,) = static.gradients(layers.reduce_sum(y), x)
    for k in (0, 39, 40, 79):
        got = run(gradient, i=np.array([k]), x=np.array([1.0, -3.0], "float32"))[0]
        assert got.tolist() == [2.0 * k, -6.0 * k]


def test_gradients_of_choices_inside_each_other_take_no_more_than_each_of_them(run):
    x = static.data("x", [2])
    x.stop_gradient = False
    w = layers.create_parameter(
        [2], "float32", default_initializer=static.initializer.Constant(1.0)
    )
    above = layers.reduce_sum(x) > 0.0

    def nested(depth):
        if depth == 0:
            return x * w
        return layers.cond(above, lambda: nested(depth - 1) * w, lambda: x * 0.5)

    loss = layers.reduce_sum(nested(30))
    wanted = static.gradients(loss, [x, w])
    static.Executor().run(static.default_startup_program())
    got = run(*wanted, x=np.array([1.0, 2.0], "float32"))
    assert [v.tolist() for v in got] == [[1.0, 1.0], [31.0, 62.0]]
    got = run(*wanted[:1], x=np.array([-1.0, -2.0], "float32"))
    assert got[0].tolist() == [0.5, 0.5]


# Batches without sequences


def over_sequences():
    rows = static.data("rows", [None, 2], lod_level=1)
    rows.stop_gradient = False
    rnn = layers.DynamicRNN()
    with rnn.block():
        now = rnn.step_input(rows)
        before = rnn.memory(shape=[2], value=0.0)
        after = now + before
        rnn.update_memory(before, after)
        rnn.output(after)
    return rows, rnn()


@pytest.mark.parametrize("offsets", [[0], [0, 0], [0, 0, 0]])
def test_steps_over_no_rows_are_refused(run, offsets):
    rows, sums = over_sequences()
    (gradient,) = static.gradients(layers.reduce_sum(sums), rows)
    empty = dygraph.to_variable(np.zeros([0, 2], "float32"), lod=[offsets])
    with pytest.raises(OutOfRangeError, match="that of sequences without a step"):
        run(sums, gradient, rows=empty)
    some = dygraph.to_variable(np.ones([3, 2], "float32"), lod=[[0, 0, 3]])
    got = run(sums, gradient, rows=some)
    assert got[0].tolist() == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    assert got[1].tolist() == [[3.0, 3.0], [2.0, 2.0], [1.0, 1.0]]


def test_an_array_without_elements_gives_no_sequences(run):
    rows = static.data("rows", [None, 2], lod_level=1)
    table = layers.lod_rank_table(rows)
    again = layers.array_to_lod_tensor(layers.lod_tensor_to_array(rows, table), table)
    empty = dygraph.to_variable(np.zeros([0, 2], "float32"), lod=[[0]])
    with pytest.raises(PreconditionNotMetError, match="an element that says what a row is like"):
        run(again, rows=empty)
    one = dygraph.to_variable(np.ones([1, 2], "float32"), lod=[[0, 1]])
    with pytest.raises(InvalidArgumentError, match="an array must hold an element"):
        layers.array_to_lod_tensor([], layers.lod_rank_table(one))


# Assertions


def test_an_assertion_inside_blocks_names_its_turn(run):
    x, c = static.data("x", [2]), static.data("c", [1], "bool")
    x.stop_gradient = False
    i, n = ints(0), ints(3)
    more = layers.less_than(i, n)
    s = layers.assign(x)
    s.stop_gradient = False
    with layers.While(more).block():
        with layers.Switch() as choice, choice.case(c):
            layers.Assert(layers.reduce_all(s < 4.0), [s])
        layers.assign(s * 2.0 + x, output=s)
        layers.increment(i)
        layers.less_than(i, n, cond=more)
    (gradient,) = static.gradients(layers.reduce_sum(s), x)
    feeds = {"x": np.ones(2, "float32")}
    got = run(s, gradient, c=np.array([False]), **feeds)
    assert [v.tolist() for v in got] == [[15.0, 15.0], [15.0, 15.0]]
    with pytest.raises(AssertionFailedError, match=r"\[7 7\].* in iteration 2 of the while"):
        run(s, gradient, c=np.array([True]), **feeds)


# Copies


def trained():
    """A dropout three blocks deep, with its update; and a product that nothing asks for."""
    x, n = static.data("x", [2, 3]), static.data("n", [1], "int64")
    c = static.data("c", [1], "bool")
    w = layers.create_parameter([3, 3], "float32", name="w")
    s = layers.assign(x)
    s.stop_gradient = False
    i = ints(0)
    more = layers.less_than(i, n)
    with layers.While(more).block():
        with layers.Switch() as choice, choice.case(c):
            j = ints(0)
            again = layers.less_than(j, n)
            with layers.While(again).block():
                t = F.tanh(F.matmul_v2(s, w))
                kept = layers.dropout(t, 0.5, dropout_implementation="upscale_in_train")
                layers.assign(kept, output=s)
                layers.increment(j)
                layers.less_than(j, n, cond=again)
        layers.increment(i)
        layers.less_than(i, n, cond=more)
    loss = layers.mean(s)
    static.optimizer.SGD(0.5).minimize(loss)
    return loss


def ops_of(program):
    return [op for block in program.blocks for op in block.ops]


def by_hand(x, w, turns):
    for _ in range(turns * turns):
        x = np.tanh(x.astype("float64") @ w)
    return x.mean()


def test_a_copy_for_testing_has_no_gradient_in_any_block():
    loss = trained()
    main, scope = static.default_main_program(), static.Scope()
    main.random_seed = 1  # with some others the dropout leaves nothing, and no gradient
    assert [b.parent_idx for b in main.blocks] == [-1, 0, 1, 2, 0, 4, 5]
    test = main.clone(for_test=True)
    assert [b.parent_idx for b in test.blocks] == [-1, 0, 1, 2]
    types = [op.type for op in ops_of(test)]
    assert not any(type.endswith("_grad") for type in types) and "sgd" not in types
    assert [op.attr("is_test") for op in ops_of(test) if op.has_attr("is_test")] == [True] * 3
    pruned = static.passes.apply("prune", main, feeds=["x", "n", "c"], fetches=[loss.name])
    assert [b.parent_idx for b in pruned.blocks] == [-1, 0, 1, 2]
    assert [op.attr("is_test") for op in ops_of(pruned) if op.type == "dropout"] == [False]
    executor = static.Executor()
    executor.run(static.default_startup_program(), scope=scope)
    x = np.random.default_rng(0).standard_normal([2, 3]).astype("float32")
    w = np.array(scope.find_var("w").get_tensor())
    for program in (test, static.passes.apply("prune", test, feeds=["x", "n", "c"],
                                              fetches=[loss.name])):  # fmt: skip
        for turns in (0, 1, 2):
            feed = {"x": x, "n": np.array([turns]), "c": np.array([True])}
            got = executor.run(program, feed=feed, fetch_list=[loss.name], scope=scope)[0]
            np.testing.assert_allclose(got, by_hand(x, w, turns), rtol=1e-5, atol=1e-7)
    dygraph.seed(0)  # with 1 the dropouts leave nothing, and the gradient is zero
    feed = {"x": x, "n": np.array([2]), "c": np.array([True])}
    executor.run(main, feed=feed, scope=scope)
    assert not np.array_equal(w, np.array(scope.find_var("w").get_tensor()))
