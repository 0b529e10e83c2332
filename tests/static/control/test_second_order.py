"""Second order through blocks has the bits of eager loops and choices."""

import numpy as np
import pytest

import dygraph
from dygraph import ops as F
from dygraph import static
from dygraph.errors import UnimplementedError
from dygraph.static import layers

from .described import (
    ROWS,
    WIDTH,
    Described,
    assert_same_bits,
    copied,
    counted,
    elements_of_an_array,
    limited,
    loops_in_loops,
    numbers,
    ragged_steps,
)  # fmt: skip


def penalty(loss, gradients):
    """Of first gradients, and of the loss itself."""
    total = loss
    for gradient in gradients:
        total = total + F.mean(gradient * gradient)
    return total


def in_program(d, loss, names):
    """The penalty and its gradients, run."""
    with d:
        inputs = [getattr(d, n) for n in names]
        total = penalty(loss, static.gradients(loss, inputs))
        wanted = [total, *static.gradients(total, inputs)]
    return static.Executor().run(d.program, feed=d.arrays, fetch_list=wanted)


def in_python(function, names, **arrays):
    given = {n: dygraph.to_variable(a) for n, a in arrays.items()}
    for name in names:
        given[name].stop_gradient = False
    loss, inputs = function(**given), [given[n] for n in names]
    total = penalty(loss, dygraph.grad(loss, inputs, create_graph=True))
    return [total.numpy(), *(g.numpy() for g in dygraph.grad(total, inputs))]


def check(d, loss, python, names):
    assert_same_bits(in_program(d, loss, names), in_python(python, names, **d.arrays))


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_a_loop_over_a_weight(turns):
    d = limited(turns, x=numbers(ROWS, WIDTH), w=numbers(WIDTH, WIDTH, seed=1))
    with d:
        i, more = counted(d.n)
        s = copied(d.x)
        with layers.While(more).block():
            t = F.tanh(F.matmul_v2(s, d.w) + d.x)
            layers.assign(t * t, output=s)
            layers.increment(i)
            layers.less_than(i, d.n, cond=more)
        loss = F.mean(s * s)

    def python(x, w, n):
        s = F.assign(x)
        for _ in range(turns):
            t = F.tanh(F.matmul_v2(s, w) + x)
            s = t * t
        return F.mean(s * s)

    check(d, loss, python, ["x", "w"])


def test_a_loop_without_turns():
    d = limited(0, x=numbers(ROWS, WIDTH))
    with d:
        i, more = counted(d.n)
        s = copied(d.x)
        with layers.While(more).block():
            layers.assign(F.tanh(s), output=s)
            layers.increment(i)
            layers.less_than(i, d.n, cond=more)
        loss = F.mean(s * s * s)
    check(d, loss, lambda x, n: F.mean((s := F.assign(x)) * s * s), ["x"])


@pytest.mark.parametrize("chosen", [True, False])
def test_a_choice(chosen):
    d = Described(x=numbers(ROWS, WIDTH), c=np.array([chosen]))
    with d:
        y = layers.cond(d.c, lambda: d.x * d.x * d.x, lambda: F.tanh(d.x))
        loss = F.mean(y * y)

    def python(x, c):
        y = x * x * x if chosen else F.tanh(x)
        return F.mean(y * y)

    check(d, loss, python, ["x"])


@pytest.mark.parametrize("chosen", [True, False])
def test_a_choice_without_an_else(chosen):
    d = Described(x=numbers(ROWS, WIDTH), c=np.array([chosen]))
    with d:
        y = copied(d.x * 2.0)
        with layers.Switch() as choice, choice.case(d.c):
            layers.assign(F.tanh(y) * d.x, output=y)
        loss = F.mean(y * y)

    def python(x, c):
        y = F.assign(x * 2.0)
        if chosen:
            y = F.tanh(y) * x
        return F.mean(y * y)

    check(d, loss, python, ["x"])


@pytest.mark.parametrize("outer, inner", [(1, 1), (1, 3), (3, 1), (3, 2)])
def test_loops_and_choices_inside_loops(outer, inner):
    check(*loops_in_loops(outer, inner), ["x", "w"])


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_elements_of_an_array(turns):
    check_close(*elements_of_an_array(turns), ["x", "w"])


def check_close(d, loss, python, names):
    got, want = in_program(d, loss, names), in_python(python, names, **d.arrays)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("reverse", [False, True])
def test_steps_over_time(steps, reverse):
    d = Described(
        x=numbers(steps, ROWS, WIDTH), w=numbers(WIDTH, WIDTH, seed=1),
        first=numbers(ROWS, WIDTH, seed=2),
    )  # fmt: skip
    with d:
        rnn = layers.StaticRNN()
        with rnn.step():
            x, h = rnn.step_input(d.x), rnn.memory(init=d.first)
            n = F.tanh(F.matmul_v2(h, d.w) + x)
            n = n * F.matmul_v2(n, d.w)
            rnn.update_memory(h, n)
            rnn.step_output(n)
        states = rnn()
        if reverse:
            (op,) = (op for op in d.program.global_block().ops if op.type == "recurrent")
            op.set_attr("reverse", True)
        loss = F.mean(states * states)

    def python(x, w, first):
        h, states = first, []
        for t in reversed(range(steps)) if reverse else range(steps):
            n = F.tanh(F.matmul_v2(h, w) + x[t])
            h = n * F.matmul_v2(n, w)
            states.append(h)
        states = F.stack(states[::-1] if reverse else states, axis=0)
        return F.mean(states * states)

    check(d, loss, python, ["x", "w", "first"])


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
        loss = F.mean(out * out)
        inputs = [rows, d.w, d.u]
        total = penalty(loss, static.gradients(loss, inputs))
        wanted = static.gradients(total, inputs)
    feeds = {"rows": dygraph.to_variable(x, lod=[offsets]), "w": w, "u": u}
    got = static.Executor().run(d.program, feed=feeds, fetch_list=wanted)

    python = ragged_steps(offsets, lengths)
    for a, b in zip(got, in_python(python, ["x", "w", "u"], x=x, w=w, u=u)[1:], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("turns", [0, 1, 3])
def test_a_variable_that_two_loops_write(turns):
    """The second loop overwrites what the gradient of the first one needs."""
    d = limited(turns, x=numbers(ROWS, WIDTH))
    with d:
        s = copied(d.x)
        for _ in range(2):
            i, more = counted(d.n)
            with layers.While(more).block():
                layers.assign(F.tanh(s) * d.x, output=s)
                layers.increment(i)
                layers.less_than(i, d.n, cond=more)
            y = F.tanh(s)
        loss = F.mean(y * s)

    def python(x, n):
        s = F.assign(x)
        for _ in range(2):
            for _ in range(turns):
                s = F.tanh(s) * x
            y = F.tanh(s)
        return F.mean(y * s)

    check_close(d, loss, python, ["x"])


def looped(x):
    i, more = counted(layers.fill_constant([1], "int64", 3))
    s = copied(x)
    with layers.While(more).block():
        layers.assign(F.tanh(s) * x, output=s)
        layers.increment(i)
        layers.less_than(i, layers.fill_constant([1], "int64", 3), cond=more)
    return s


def test_third_order_is_refused():
    d = Described(x=numbers(ROWS, WIDTH))
    with d:
        (first,) = static.gradients(F.mean(looped(d.x)), d.x)
        (second,) = static.gradients(F.mean(first * first), d.x)
        with pytest.raises(UnimplementedError, match="end with second order"):
            static.gradients(F.mean(second * second), d.x)


def test_a_program_with_second_order_survives_its_file():
    d = Described(x=numbers(ROWS, WIDTH))
    with d:
        (first,) = static.gradients(F.mean(looped(d.x)), d.x)
        (second,) = static.gradients(F.mean(first * first), d.x)
    executor = static.Executor()
    (want,) = executor.run(d.program, feed=d.arrays, fetch_list=[second])
    again = static.Program.parse_from_string(d.program.serialize_to_string())
    (got,) = executor.run(again, feed=d.arrays, fetch_list=[second.name])
    assert got.tobytes() == want.tobytes()


def test_training_with_a_penalty_of_the_gradient():
    """Five steps of a loop over a weight, beside eager ones."""
    x, w = numbers(ROWS, WIDTH), numbers(WIDTH, seed=1)
    startup, main = static.Program(), static.Program()
    with static.program_guard(main, startup):
        data = static.data("x", [ROWS, WIDTH])
        data.stop_gradient = False
        weight = layers.create_parameter([WIDTH], "float32", name="weight")
        loss = layers.reduce_sum(looped(data * weight))
        (first,) = static.gradients(loss, data)
        static.optimizer.SGD(0.1).minimize(layers.reduce_sum(first * first))
    executor, scope = static.Executor(), static.Scope()
    executor.run(startup, scope=scope)
    scope.find_var("weight").get_tensor().set(w)
    for _ in range(5):
        executor.run(main, feed={"x": x}, scope=scope)

    given, p = dygraph.to_variable(x), dygraph.to_variable(w)
    given.stop_gradient = p.stop_gradient = False
    for _ in range(5):
        s = y = given * p
        for _ in range(3):
            s = F.tanh(s) * y
        (g,) = dygraph.grad(F.reduce_sum(s), given, create_graph=True)
        (step,) = dygraph.grad(F.reduce_sum(g * g), p)
        p = (p - 0.1 * step).detach()
        p.stop_gradient = False
    np.testing.assert_allclose(
        np.array(scope.find_var("weight").get_tensor()), p.numpy(), rtol=1e-5, atol=1e-6
    )


def test_second_order_beside_a_loop_that_the_target_does_not_depend_on():
    d = Described(x=numbers(ROWS, WIDTH))
    with d:
        (beside,) = static.gradients(F.mean(looped(d.x)), d.x)
        (first,) = static.gradients(layers.reduce_sum(d.x * d.x * d.x), d.x)
        (second,) = static.gradients(layers.reduce_sum(first), d.x)
    got, _ = static.Executor().run(d.program, feed=d.arrays, fetch_list=[second, beside])
    np.testing.assert_allclose(got, 6 * d.arrays["x"], rtol=1e-6)


def test_a_first_gradient_may_be_a_constant_of_the_second():
    """With the first gradient in no_grad_set nothing of second order is asked for."""
    d = Described(x=np.ones([2, 3], "float32"))
    with d:
        y = layers.cond(layers.reduce_sum(d.x) > 0.0, lambda: d.x * d.x * d.x, lambda: F.tanh(d.x))
        (first,) = static.gradients(y, d.x)
        (second,) = static.gradients(first * d.x, d.x, no_grad_set={first})
    (got,) = static.Executor().run(d.program, feed=d.arrays, fetch_list=[second])
    assert got.tolist() == (3 * d.arrays["x"]).tolist()
