"""Arrays of programs, which eager calls keep as lists; and what IfElse makes of a mask."""

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    OutOfRangeError,
    PreconditionNotMetError,
)
from dygraph.static import layers


def ints(value):
    return layers.fill_constant([1], "int64", value)


def array(*values):
    return np.array(values, "float32")


def test_arrays_hold_what_is_written(run):
    x = static.data("x", [2], "float32")
    held = layers.array_write(x, ints(0))
    layers.array_write(x * 2.0, ints(2), held)
    layers.array_write(x * 3.0, ints(0), array=held)
    got = run(layers.array_read(held, ints(0)), layers.array_read(held, ints(2)),
              layers.array_length(held), x=array(1, 2))  # fmt: skip
    assert got[0].tolist() == [3, 6] and got[1].tolist() == [2, 4] and got[2].tolist() == [3]


def test_eager_arrays_are_lists():
    def at(n):
        return dygraph.to_variable([n])

    held = layers.array_write(dygraph.to_variable([1.0]), at(0))
    assert layers.array_write(dygraph.to_variable([3.0]), at(2), held) is held
    assert isinstance(held, list) and held[1] is None
    assert layers.array_length(held).tolist() == [3]
    assert layers.array_read(held, at(2)).tolist() == [3.0]
    for number, error in (
        (1, PreconditionNotMetError),
        (3, OutOfRangeError),
        (-1, OutOfRangeError),
    ):
        with pytest.raises(error):
            layers.array_read(held, at(number))


@pytest.mark.parametrize("stack", [False, True])
def test_tensor_array_to_tensor(run, stack):
    x = static.data("x", [2, 3], "float32")
    held = layers.array_write(x, ints(0))
    layers.array_write(x + 1.0, ints(1), held)
    out, sizes = layers.tensor_array_to_tensor(held, axis=1, use_stack=stack)
    value = np.arange(6, dtype="float32").reshape(2, 3)
    join = np.stack if stack else np.concatenate
    wanted = join([value, value + 1], axis=1)
    got, counts = run(out, sizes, x=value)
    assert np.array_equal(got, wanted) and counts.tolist() == [3, 3]
    eager = [dygraph.to_variable(value), dygraph.to_variable(value + 1)]
    assert np.array_equal(
        layers.tensor_array_to_tensor(eager, axis=1, use_stack=stack)[0].numpy(), wanted
    )


def test_sequences_by_rank_and_back(run):
    x = static.data("x", [None, 1], "float32", lod_level=1)
    table = layers.lod_rank_table(x)
    steps = layers.lod_tensor_to_array(x, table)
    back = layers.array_to_lod_tensor(steps, table)
    longest = layers.max_sequence_len(table)
    second = layers.array_read(steps, ints(1))
    value = np.arange(6, dtype="float32").reshape(6, 1)
    feed = dygraph.to_variable(value, lod=[[0, 1, 4, 6]])
    got = run(back, longest, second, x=feed)
    assert np.array_equal(got[0], value) and got[1].tolist() == [3]
    assert got[2].ravel().tolist() == [2.0, 5.0]
    eager = layers.lod_tensor_to_array(feed, layers.lod_rank_table(feed))
    assert [v.numpy().ravel().tolist() for v in eager] == [[1.0, 4.0, 0.0], [2.0, 5.0], [3.0]]
    assert np.array_equal(
        layers.array_to_lod_tensor(eager, layers.lod_rank_table(feed)).numpy(), value
    )


def test_rows_in_the_order_of_the_table(run):
    x = static.data("x", [None, 1], "float32", lod_level=1)
    y = static.data("y", [None, 2], "float32")
    table = layers.lod_rank_table(x)
    ordered = layers.reorder_lod_tensor_by_rank(y, table)
    left = layers.shrink_memory(ordered, ints(1), table)
    feed = dygraph.to_variable(np.zeros((6, 1), "float32"), lod=[[0, 1, 4, 6]])
    rows = np.arange(6, dtype="float32").reshape(3, 2)
    got = run(ordered, left, x=feed, y=rows)
    assert np.array_equal(got[0], rows[[1, 2, 0]]) and np.array_equal(got[1], rows[[1, 2]])


def test_steps_of_a_beam_search_in_lists():
    """Eager arrays are lists here, too. Of two beams the second ends with id 1."""
    first, second = [[0, 1], [0, 2]], [[0, 2], [0, 1, 2]]

    def column(numbers, dtype, lod):
        return dygraph.to_variable(np.array(numbers, dtype)[:, None], lod=lod)

    ids = [column([4, 5], "int64", first), column([6, 1], "int64", second)]
    scores = [column([-1, -2], "float32", first), column([-3, -4], "float32", second)]
    found, marks = layers.beam_search_decode(ids, scores, beam_size=2, end_id=1)
    assert found.tolist() == [4, 6, 5, 1] and marks.tolist() == [-1, -3, -2, -4]
    assert found.lod() == marks.lod() == [[0, 2], [0, 2, 4]]
    with pytest.raises(InvalidArgumentError, match="an element for each step, got 2 and 1"):
        layers.beam_search_decode(ids, scores[:1], beam_size=2, end_id=1)
    for wrong in (ids[0], None, 3):
        with pytest.raises(ArgumentTypeError, match="beam_search_decode: ids must be an array"):
            layers.beam_search_decode(wrong, scores, beam_size=2, end_id=1)
        with pytest.raises(ArgumentTypeError, match="beam_search_decode: scores must be an array"):
            layers.beam_search_decode(ids, wrong, beam_size=2, end_id=1)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x, a: layers.array_read(a, x), ArgumentTypeError, "one int64, got float32"),
        (lambda x, a: layers.array_read(a, 0), ArgumentTypeError, "fill_constant"),
        (lambda x, a: layers.array_read(x, ints(0)), ArgumentTypeError, "must be an array"),
        (lambda x, a: layers.array_write(x, x), ArgumentTypeError, "one int64, got float32"),
        (lambda x, a: layers.array_write(3, ints(0)), ArgumentTypeError, "array_write: x"),
        (lambda x, a: layers.array_write(x, ints(0), x), ArgumentTypeError, "must be an array"),
        (lambda x, a: layers.array_write(ints(0), ints(0), a), ArgumentTypeError, "holds float32"),
        (
            lambda x, a: layers.array_read(a, layers.fill_constant([2], "int64", 0)),
            InvalidArgumentError, "must hold one integer",
        ),
        (lambda x, a: layers.array_length(x), ArgumentTypeError, "must be an array"),
        (lambda x, a: layers.max_sequence_len(x), ArgumentTypeError, "must be a rank table"),
        (lambda x, a: layers.lod_tensor_to_array(x, a), ArgumentTypeError, "must be a rank table"),
    ],
)  # fmt: skip
def test_arrays_refuse(call, error, text):
    x = static.data("x", [2], "float32")
    held = layers.create_array("float32")
    with pytest.raises(error, match=text):
        call(x, held)


def test_a_read_past_the_end_says_where(run):
    x = static.data("x", [2], "float32")
    got = layers.array_read(layers.array_write(x, ints(0)), ints(4))
    with pytest.raises(OutOfRangeError, match=r"in \[0, 1\), got 4 .*test_arrays.py:\d+"):
        run(got, x=array(1, 2))


# IfElse -------------------------------------------------------------------------------------------


def if_else(x):
    choice = layers.IfElse(layers.less_than(x, layers.zeros_like(x)))
    with choice.true_block():
        choice.output(choice.input(x) * -1.0, choice.input(x))
    with choice.false_block():
        part = choice.input(x)
        choice.output(part * 10.0, part + 1.0)
    return choice()


@pytest.mark.parametrize("rows", [[-1, 2, -3, 4], [1, 2], [-1], [-5, -6], []])
def test_if_else_takes_rows_apart(run, rows):
    x = static.data("x", [None, 1], "float32")
    value = array(*rows).reshape(-1, 1)
    got = run(*if_else(x), x=value)
    assert np.array_equal(got[0], np.where(value < 0, -value, value * 10))
    assert np.array_equal(got[1], np.where(value < 0, value, value + 1))
    assert got[0].dtype == np.float32 and got[0].shape == value.shape


def test_if_else_with_one_block(run):
    x = static.data("x", [None, 1], "float32")
    choice = layers.IfElse(layers.less_than(x, layers.zeros_like(x)))
    with choice.true_block():
        choice.output(choice.input(x))
    (negative,) = choice()
    assert run(negative, x=array(-1, 2, -3).reshape(-1, 1))[0].ravel().tolist() == [-1, -3]


def test_if_else_refuses():
    x = static.data("x", [None, 1], "float32")
    mask = layers.less_than(x, layers.zeros_like(x))
    with pytest.raises(ArgumentTypeError, match="must be bool, got float32"):
        layers.IfElse(x)
    with pytest.raises(ArgumentTypeError, match="dygraph.where"):
        layers.IfElse(dygraph.to_variable([[True]]))
    with pytest.raises(InvalidArgumentError, match=r"\[rows, 1\]"):
        layers.IfElse(layers.concat([mask, mask], axis=1))
    choice = layers.IfElse(mask)
    for call in (lambda: choice.input(x), lambda: choice.output(x)):
        with pytest.raises(PreconditionNotMetError, match="inside true_block"):
            call()
    with pytest.raises(PreconditionNotMetError, match="describe true_block"):
        choice()
    with pytest.raises(PreconditionNotMetError, match="must give a result"), choice.true_block():
        choice.input(x)
    with choice.true_block():
        choice.output(choice.input(x))
    with pytest.raises(PreconditionNotMetError, match="called once"), choice.true_block():
        pass
    with choice.false_block():
        choice.output(choice.input(x), choice.input(x))
    with pytest.raises(InvalidArgumentError, match="1 from true_block.* and 2 from false_block"):
        choice()


# Assert -------------------------------------------------------------------------------------------


def test_assert_stops_a_run(run):
    x = static.data("x", [2], "float32")
    layers.Assert(layers.reduce_sum(x) > 0.0, [x])
    y = x * 2.0
    assert run(y, x=array(1, 2))[0].tolist() == [2, 4]
    with pytest.raises(AssertionError):
        run(y, x=array(-1, -2))
    with pytest.raises(AssertionError):
        layers.Assert(dygraph.to_variable([False]))
    with pytest.raises(ArgumentTypeError, match="got float32"):
        layers.Assert(x)


@pytest.mark.parametrize("turns", [0, 3])
def test_length_of_an_array_that_a_loop_alone_writes(turns):
    with static.program_guard(static.Program(), static.Program()):
        i = layers.fill_constant([1], "int64", 0)
        limit = layers.fill_constant([1], "int64", turns)
        written, more = layers.create_array("float32"), layers.less_than(i, limit)
        with layers.While(more).block():
            layers.array_write(layers.fill_constant([2], "float32", 7.0), i, array=written)
            layers.increment(i)
            layers.less_than(i, limit, cond=more)
        length = layers.array_length(written)
        assert static.Executor().run(fetch_list=[length])[0].tolist() == [turns]
        if turns == 0:
            first = layers.array_read(written, layers.fill_constant([1], "int64", 0))
            with pytest.raises(PreconditionNotMetError, match="holds nothing: the block"):
                static.Executor().run(fetch_list=[first])
