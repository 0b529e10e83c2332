"""x@GRAD is the whole gradient of x, as in Fluid, also where a block adds a part of it."""

import numpy as np
import pytest

from dygraph import static
from dygraph.errors import PreconditionNotMetError
from dygraph.static import layers

VALUE = np.array([1.0, 2.0], "float32")


def tripled(x):
    """x + x + x, in a loop."""
    i, n = (layers.fill_constant([1], "int64", k) for k in (0, 2))
    s = layers.scale(x, 1.0)
    more = layers.less_than(i, n)
    with layers.While(more).block():
        layers.assign(s + x, output=s)
        layers.increment(i)
        layers.less_than(i, n, cond=more)
    return s


def times(x, positive, negative):
    total = layers.reduce_sum(x)
    return layers.cond(total > 0.0, lambda: x * positive, lambda: x * negative)


def in_steps(x):
    rnn = layers.StaticRNN()
    with rnn.step():
        rnn.output(rnn.step_input(x) * 4.0)
    return rnn()


def filled_anew(x):
    """Two values under one name, of which x is the first."""
    y = layers.scale(x, 3.0)
    layers.assign(layers.scale(y, 2.0) + tripled(y), output=y)
    return y + x


CASES = {
    "a loop and what comes after": (lambda x: tripled(x) + x * 5.0, 8),
    "two loops": (lambda x: tripled(x) + tripled(x), 6),
    "a choice": (lambda x: times(x, 2.0, 3.0), 2),
    "the other way of a choice": (lambda x: times(x, -2.0, 7.0) + times(-x, 3.0, 4.0), -6),
    "two choices": (lambda x: times(x, 2.0, 3.0) + times(x, 20.0, 3.0), 22),
    "a choice beside an operator": (lambda x: times(x, 2.0, 3.0) + x, 3),
    "steps beside a loop": (lambda x: in_steps(x) + tripled(x) + in_steps(x), 11),
    "a name with two values": (filled_anew, 16),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("how", ["append_backward", "gradients"])
def test_the_usual_name_holds_the_whole_gradient(run, case, how):
    build, slope = CASES[case]
    x = static.data("x", [2], "float32")
    x.stop_gradient = False
    loss = layers.reduce_sum(build(x))
    if how == "gradients":
        (made,) = static.gradients(loss, x)
        assert made.name == x.grad_name == "x@GRAD"
    else:
        static.append_backward(loss)
    got = run("x@GRAD", x=VALUE)[0]
    assert got.tolist() == [slope, slope]


def test_a_gradient_that_came_in_keeps_its_name(run):
    x, given = static.data("x", [2], "float32"), static.data("given", [2], "float32")
    x.stop_gradient = False
    y = layers.scale(x, 2.0)
    found = static.gradients([y, tripled(y)], [x, y], [given, None])
    assert [v.name for v in found] == ["x@GRAD", f"{y.name}@GRAD"]
    got = run(*found, "given", x=VALUE, given=np.array([10.0, 20.0], "float32"))
    assert [g.tolist() for g in got] == [[26.0, 46.0], [13.0, 23.0], [10.0, 20.0]]


def test_a_second_pass_leaves_the_names_of_the_first(run):
    x = static.data("x", [2], "float32")
    x.stop_gradient = False
    first = static.gradients(layers.reduce_sum(tripled(x) + x), x)
    second = static.gradients(layers.reduce_sum(tripled(x) + x * 2.0), x)
    assert first[0].name == "x@GRAD" != second[0].name
    got = run(*first, *second, x=VALUE)
    assert [g.tolist() for g in got] == [[4.0, 4.0], [5.0, 5.0]]


def test_the_gradient_of_a_way_that_was_not_taken_is_missing(run):
    """As ``gradient()`` of an eager Variable is None."""
    a, b = (layers.fill_constant([1], "float32", value) for value in (3.0, 4.0))
    a.stop_gradient = b.stop_gradient = False
    static.append_backward(layers.cond(a > b, lambda: a * 2.0, lambda: b * 5.0))
    assert run(b.grad_name)[0].tolist() == [5.0]
    with pytest.raises(
        PreconditionNotMetError,
        match=r"nothing has been written to it. No gradient came to conditional_block_grad, made at"
        r" .*test_gradient_names.py:\d+ in \w+, since the blocks that compute it did not run",
    ):
        run(a.grad_name)
