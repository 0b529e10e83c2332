"""Counters that a turn increments in place, which its gradient undoes."""

import numpy as np
import pytest

import dygraph
from dygraph import ops as F
from dygraph import static
from dygraph.errors import PreconditionNotMetError
from dygraph.static import layers

from .described import ROWS, Described, assert_same_bits, copied, eager, numbers

TURNS = 4


def number(value, kind="int64"):
    return dygraph.to_variable(np.array([value], kind))


def loop_over(body):
    """A while of TURNS turns of the body."""
    turn = layers.fill_constant([1], "int64", 0)
    last = layers.fill_constant([1], "int64", TURNS)
    more = layers.less_than(turn, last)
    with layers.While(more).block():
        body()
        layers.increment(turn)
        layers.less_than(turn, last, cond=more)


@pytest.mark.parametrize("step", [1, 2, 3, -1, 0])
def test_a_counter_that_is_read_before_and_after_its_increment(step):
    first = 0 if step >= 0 else TURNS
    arrays = {"x": numbers(ROWS, 20)}
    d = Described(**arrays)
    with d:
        i = layers.fill_constant([1], "int64", first)
        s = copied(d.x[:, 0])

        def body():
            before = F.gather(d.x, i, axis=1)
            layers.increment(i, step)
            after = F.gather(d.x, i, axis=1)
            layers.increment(i, step)
            last = F.gather(d.x, i, axis=1)
            layers.increment(i, -step)
            t = F.tanh(s) + F.reshape(before * after * last, [ROWS])
            layers.assign(t * t, output=s)

        loop_over(body)
        loss = F.mean(s * s)

    def python(x):
        i, s = first, F.assign(x[:, 0])
        for _ in range(TURNS):

            def at(k):
                return F.gather(x, number(k), axis=1)

            t = F.tanh(s) + F.reshape(at(i) * at(i + step) * at(i + 2 * step), [ROWS])
            s, i = F.assign(t * t), i + step
        return F.mean(s * s)

    assert_same_bits(d.run(loss, ["x"]), eager(python, ["x"], **arrays))


def test_a_step_that_is_no_whole_number_is_cut_both_ways():
    arrays = {"x": numbers(ROWS, 20)}
    d = Described(**arrays)
    with d:
        i = layers.fill_constant([1], "int64", 0)
        s = copied(d.x[:, 0])

        def body():
            layers.increment(i, 2.75)
            layers.assign(F.tanh(s) * F.reshape(F.gather(d.x, i, axis=1), [ROWS]), output=s)

        loop_over(body)
        loss = F.mean(s)

    def python(x):
        s = F.assign(x[:, 0])
        for t in range(TURNS):
            column = F.gather(x, number(2 * t + 2), axis=1)
            s = F.assign(F.tanh(s) * F.reshape(column, [ROWS]))
        return F.mean(s)

    assert_same_bits(d.run(loss, ["x"]), eager(python, ["x"], **arrays))


def test_a_counter_of_the_block_itself():
    arrays = {"x": numbers(ROWS, 20)}
    d = Described(**arrays)
    with d:
        s = copied(d.x[:, 0])

        def body():
            i = layers.fill_constant([1], "int64", 3)
            before = F.gather(d.x, i, axis=1)
            layers.increment(i, 2)
            after = F.gather(d.x, i, axis=1)
            layers.assign(F.tanh(s) + F.reshape(before * after, [ROWS]), output=s)

        loop_over(body)
        loss = F.mean(s * s)

    def python(x):
        s = F.assign(x[:, 0])
        three, five = number(3), number(5)
        for _ in range(TURNS):
            product = F.gather(x, three, axis=1) * F.gather(x, five, axis=1)
            s = F.assign(F.tanh(s) + F.reshape(product, [ROWS]))
        return F.mean(s * s)

    assert_same_bits(d.run(loss, ["x"]), eager(python, ["x"], **arrays))


def test_a_counter_outside_of_loops_keeps_its_value():
    arrays = {"x": numbers(ROWS, 20)}
    d = Described(**arrays)
    with d:
        i = layers.fill_constant([1], "int64", 3)
        before = F.gather(d.x, i, axis=1)
        layers.increment(i, 2)
        after = F.gather(d.x, i, axis=1)
        layers.increment(i, 4)
        loss = F.mean(before * after)

    def python(x):
        three, five = number(3), number(5)
        return F.mean(F.gather(x, three, axis=1) * F.gather(x, five, axis=1))

    with d:
        wanted = [loss, *static.gradients(loss, [d.x]), i]
    got = static.Executor().run(d.program, feed=arrays, fetch_list=wanted)
    assert_same_bits(got[:2], eager(python, ["x"], **arrays))
    assert got[2].tolist() == [9]


def test_a_fraction_is_kept_where_it_was_read_first():
    arrays = {"x": numbers(ROWS, 20)}
    d = Described(**arrays)
    with d:
        f = layers.fill_constant([1], "float32", 0.3)
        s = copied(d.x[:, 0])

        def body():
            layers.assign(F.tanh(s) * f + d.x[:, 1], output=s)
            layers.increment(f, 0.1)

        loop_over(body)
        loss = F.mean(s)

    def python(x):
        s, f = F.assign(x[:, 0]), number(0.3, "float32")
        for _ in range(TURNS):
            s = F.assign(F.tanh(s) * f + x[:, 1])
            f = F.increment(f, 0.1)
        return F.mean(s)

    assert_same_bits(d.run(loss, ["x"]), eager(python, ["x"], **arrays))


def test_a_fraction_that_is_read_after_its_increment_is_right_or_refused():
    arrays = {"x": numbers(ROWS, 20)}
    d = Described(**arrays)
    with d:
        f = layers.fill_constant([1], "float32", 0.3)
        s = copied(d.x[:, 0])

        def body():
            layers.increment(f, 0.1)
            layers.assign(F.tanh(s) * f + d.x[:, 1], output=s)

        loop_over(body)
        with pytest.raises(PreconditionNotMetError, match="increment, overwrites it in the same"):
            d.run(F.mean(s), ["x"])


def test_a_counter_that_is_set_and_counted_is_kept_as_the_turn_began():
    arrays = {"x": numbers(ROWS, 20)}
    d = Described(**arrays)
    with d:
        i = layers.fill_constant([1], "int64", 7)
        s = copied(d.x[:, 0])

        def body():
            column = F.reshape(F.gather(d.x, i, axis=1), [ROWS])
            layers.assign(F.tanh(s) * column, output=s)
            layers.assign(layers.fill_constant([1], "int64", 2), output=i)
            layers.increment(i)

        loop_over(body)
        loss = F.mean(s)

    def python(x):
        s = F.assign(x[:, 0])
        for column in (7, 3, 3, 3):
            s = F.assign(F.tanh(s) * F.reshape(F.gather(x, number(column), axis=1), [ROWS]))
        return F.mean(s)

    assert_same_bits(d.run(loss, ["x"]), eager(python, ["x"], **arrays))
