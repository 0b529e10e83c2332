"""Gradients through blocks have the bits of eager loops and choices."""

import numpy as np
import pytest

import dygraph
from dygraph import ops as F
from dygraph import static
from dygraph.errors import PreconditionNotMetError
from dygraph.static import layers

from .described import (
    ROWS,
    WIDTH,
    Described,
    assert_same_bits,
    copied,
    counted,
    eager,
    elements_of_an_array,
    loops_in_loops,
    numbers,
    ragged_steps,
)  # fmt: skip


@pytest.mark.parametrize("turns", [0, 1, 2, 7])
def test_a_weight_that_is_used_in_and_behind_the_loop(turns):
    arrays = {
        "x": numbers(ROWS, WIDTH), "w": numbers(WIDTH, WIDTH, seed=1),
        "n": np.array([turns], "int64"),
    }  # fmt: skip
    d = Described(**arrays)
    with d:
        i, more = counted(d.n)
        s = copied(d.x)
        loop = layers.While(more)
        with loop.block():
            t = F.tanh(F.matmul_v2(s, d.w) + d.x)
            layers.assign(t * t, output=s)
            layers.increment(i)
            layers.less_than(i, d.n, cond=more)
        loss = F.mean(F.matmul_v2(s, d.w))

    def python(x, w, n):
        s = F.assign(x)
        for _ in range(turns):
            t = F.tanh(F.matmul_v2(s, w) + x)
            s = F.assign(t * t)
        return F.mean(F.matmul_v2(s, w))

    assert_same_bits(d.run(loss, ["x", "w"]), eager(python, ["x", "w"], **arrays))


@pytest.mark.parametrize("outer, inner", [(0, 2), (1, 0), (1, 3), (3, 1), (3, 4)])
def test_loops_and_choices_inside_loops(outer, inner):
    d, loss, python = loops_in_loops(outer, inner)
    assert_same_bits(d.run(loss, ["x", "w"]), eager(python, ["x", "w"], **d.arrays))


@pytest.mark.parametrize("chosen", [True, False])
def test_what_a_branch_does_not_take_flows_on(chosen):
    arrays = {"x": numbers(ROWS, WIDTH), "c": np.array([chosen])}
    d = Described(**arrays)
    with d:
        y = copied(d.x * 2.0)
        with layers.Switch() as choice, choice.case(d.c):
            layers.assign(F.tanh(y) * d.x, output=y)
        loss = F.mean(y * y)

    def python(x, c):
        y = F.assign(x * 2.0)
        if chosen:
            y = F.assign(F.tanh(y) * x)
        return F.mean(y * y)

    assert_same_bits(d.run(loss, ["x"]), eager(python, ["x"], **arrays))


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_elements_of_an_array_that_are_read_more_than_once(turns):
    d, loss, python = elements_of_an_array(turns)
    assert_same_bits(d.run(loss, ["x", "w"]), eager(python, ["x", "w"], **d.arrays))


def test_an_element_that_was_overwritten_has_no_gradient():
    arrays = {"x": numbers(ROWS, WIDTH), "y": numbers(ROWS, WIDTH, seed=1)}
    d = Described(**arrays)
    with d:
        zero = layers.fill_constant([1], "int64", 0)
        memory = layers.array_write(d.x * 3.0, zero)
        seen = layers.array_read(memory, zero)
        layers.array_write(d.y * 5.0, zero, array=memory)
        loss = F.mean(layers.array_read(memory, zero) * seen)

    def python(x, y):
        seen = x * 3.0
        return F.mean(y * 5.0 * seen)

    assert_same_bits(d.run(loss, ["x", "y"]), eager(python, ["x", "y"], **arrays))


@pytest.mark.parametrize("steps", [1, 5])
def test_steps_over_time(steps):
    arrays = {
        "x": numbers(steps, ROWS, WIDTH), "w": numbers(WIDTH, WIDTH, seed=1),
        "first": numbers(ROWS, WIDTH, seed=2),
    }  # fmt: skip
    d = Described(**arrays)
    with d:
        rnn = layers.StaticRNN()
        with rnn.step():
            x, h = rnn.step_input(d.x), rnn.memory(init=d.first)
            n = F.tanh(F.matmul_v2(h, d.w) + x)
            n = n * F.matmul_v2(n, d.w)
            rnn.update_memory(h, n)
            rnn.step_output(n)
            rnn.step_output(F.tanh(n))
        states, others = rnn()
        loss = F.mean(states * states) + F.mean(others)

    def python(x, w, first):
        h, states, others = first, [], []
        for t in range(steps):
            n = F.tanh(F.matmul_v2(h, w) + x[t])
            h = n * F.matmul_v2(n, w)
            states.append(h)
            others.append(F.tanh(h))
        states = F.stack(states, axis=0)
        return F.mean(states * states) + F.mean(F.stack(others, axis=0))

    names = ["x", "w", "first"]
    assert_same_bits(d.run(loss, names), eager(python, names, **arrays))


def test_a_value_that_a_turn_overwrites_is_refused():
    d = Described(x=numbers(ROWS, WIDTH), n=np.array([2], "int64"))
    with d:
        i, more = counted(d.n)
        s = copied(d.x)
        loop = layers.While(more)
        with loop.block():
            layers.assign(F.tanh(s), output=s)
            layers.assign(s * s, output=s)
            layers.increment(i)
            layers.less_than(i, d.n, cond=more)
        with pytest.raises(PreconditionNotMetError, match="overwrites it in the same iteration"):
            static.gradients(F.mean(s), d.x)


def test_steps_over_sequences_of_different_lengths():
    lengths, offsets = [3, 1, 4], [0, 3, 4, 8]
    x = numbers(offsets[-1], WIDTH)
    w, u = (0.5 * numbers(WIDTH, WIDTH, seed=s) for s in (1, 2))
    d = Described(w=w, u=u)
    with d:
        rows = static.data("rows", [None, WIDTH], lod_level=1)
        rows.stop_gradient = False
        rnn = layers.DynamicRNN()
        with rnn.block():
            now, h = rnn.step_input(rows), rnn.memory(shape=[WIDTH], value=0.0)
            n = F.tanh(F.matmul_v2(now, d.w) + F.matmul_v2(h, d.u))
            rnn.update_memory(h, n)
            rnn.output(n)
        out = rnn()
        wanted = static.gradients(F.mean(out * out), [rows, d.w, d.u])
    feeds = {"rows": dygraph.to_variable(x, lod=[offsets]), "w": w, "u": u}
    got = static.Executor().run(d.program, feed=feeds, fetch_list=wanted)

    python = ragged_steps(offsets, lengths)
    for a, b in zip(got, eager(python, ["x", "w", "u"], x=x, w=w, u=u)[1:], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_parameters_of_a_branch_that_did_not_run_stay_as_they_are():
    startup, main = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [ROWS, WIDTH])
        c = static.data("c", [1], "bool")
        one = layers.create_parameter([WIDTH, WIDTH], "float32", name="one")
        two = layers.create_parameter([WIDTH, WIDTH], "float32", name="two")
        y = copied(x)
        with layers.Switch() as choice:
            with choice.case(c):
                layers.assign(F.matmul_v2(x, one), output=y)
            with choice.default():
                layers.assign(F.matmul_v2(x, two), output=y)
        static.optimizer.SGD(0.5).minimize(F.mean(y))
    executor, scope = static.Executor(), static.Scope()
    executor.run(startup, scope=scope)

    def values():
        return {n: np.array(scope.find_var(n).get_tensor()) for n in ("one", "two")}

    for chosen, moved in ((True, "one"), (False, "two")):
        before = values()
        data = numbers(ROWS, WIDTH, seed=3)
        executor.run(main, feed={"x": data, "c": np.array([chosen])}, scope=scope)
        after = values()
        still = {"one": "two", "two": "one"}[moved]
        assert after[still].tobytes() == before[still].tobytes()
        step = np.tile(data.sum(0)[:, None], (1, WIDTH)) / np.float32(ROWS * WIDTH)
        np.testing.assert_allclose(before[moved] - after[moved], 0.5 * step, rtol=1e-4, atol=1e-6)


def test_steps_that_begin_with_a_constant():
    arrays = {"x": numbers(3, ROWS, WIDTH), "w": numbers(WIDTH, WIDTH, seed=1)}
    d = Described(**arrays)
    with d:
        rnn = layers.StaticRNN()
        with rnn.step():
            x = rnn.step_input(d.x)
            h = rnn.memory(shape=[-1, WIDTH], batch_ref=x, init_value=0.5)
            n = F.tanh(F.matmul_v2(h, d.w) + x)
            rnn.update_memory(h, n)
            rnn.step_output(n)
        loss = F.mean(rnn())

    def python(x, w):
        h, states = dygraph.ones([ROWS, WIDTH]) * 0.5, []
        for t in range(3):
            h = F.tanh(F.matmul_v2(h, w) + x[t])
            states.append(h)
        return F.mean(F.stack(states, axis=0))

    assert_same_bits(d.run(loss, ["x", "w"]), eager(python, ["x", "w"], **arrays))


# One value under several names --------------------------------------------------------------------


def in_a_loop_of_names(x, w, n, integer):
    """`kept` and `x` are one value until a turn changes `x`; `y` is one of them on one way."""

    def turn(i, x, y):
        y = y + w * 0.1
        holds = layers.reduce_sum(y) > layers.reduce_sum(x)
        y = layers.cond(holds, lambda: y + x, lambda: x)
        return [i + 1, y * 1.1 * 0.5, y * 2.0]

    _, x, y = layers.while_loop(lambda i, *_: i < n, turn, [integer(0), x, x * 0.5])
    return layers.reduce_sum(x * y + x * w) + layers.reduce_sum(x)


def in_an_array(x, w, n, integer):
    """Elements are read twice in a turn and once behind the loop, beside the state they are."""
    array = layers.array_write(x, integer(0))

    def turn(i, array, x):
        a = layers.array_read(array, i)
        x = layers.tanh(a * w) * a + x * 0.3 + x * w
        return [i + 1, layers.array_write(x, i + 1, array), x]

    _, array, x = layers.while_loop(lambda i, *_: i < n, turn, [integer(0), array, x])
    return layers.reduce_sum(x * layers.array_read(array, n) + layers.array_read(array, n) * w)


def in_choices(x, w, n, integer):
    """Used before, between and behind choices that hand it on."""
    more = n > integer(1)
    y = layers.cond(more, lambda: x, lambda: x * 2.0)
    first = y * w
    z = layers.cond(more, lambda: y * w, lambda: y)
    return layers.reduce_sum(x * 0.7 + first + z * w + x * w + y * 0.3 + x * 0.1)


def in_a_long_loop(x, w, n, integer):
    """`x` has a second name in each turn, where a choice hands it on."""

    def turn(i, x, y):
        z = layers.cond(i < n, lambda: x, lambda: x * 2.0)
        return [i + 1, z, y * 0.9 + z * w + x * 0.1]

    _, x, y = layers.while_loop(lambda i, *_: i < n * 400, turn, [integer(0), x, x * 0.5])
    return layers.reduce_sum(y * x + x * w)


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
@pytest.mark.parametrize("function", [in_a_loop_of_names, in_an_array, in_choices, in_a_long_loop])
def test_one_value_under_several_names(function, turns):
    arrays = {"x": numbers(3, 4), "w": numbers(3, 4, seed=1), "n": np.array([turns], "int64")}
    d = Described(**arrays)
    with d:
        loss = function(d.x, d.w, d.n, lambda k: layers.fill_constant([1], "int64", k))

    def python(x, w, n):
        return function(x, w, n, lambda k: dygraph.to_variable(np.array([k], "int64")))

    assert_same_bits(d.run(loss, ["x", "w"]), eager(python, ["x", "w"], **arrays))
