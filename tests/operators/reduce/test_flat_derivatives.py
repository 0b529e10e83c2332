"""Operators that are linear between their kinks: the second derivative is zeros, in eager calls, in
programs and in Hessians, and so is the third."""

import numpy as np
import pytest

import dygraph
from dygraph import ops as F
from dygraph import static

POINT = np.array([[0.7, -1.3, 2.6], [-0.2, 0.4, -3.1]])


def pool(x):
    return F.pool2d(F.reshape2(x, [1, 1, 2, 3]), ksize=[1, 3], pooling_type="max")


# Each with the slope of its sum, by hand.
FLAT = {
    "relu": (F.relu, POINT > 0),
    "abs": (F.abs, np.sign(POINT)),
    "leaky_relu": (lambda x: F.leaky_relu(x, alpha=0.25), np.where(POINT > 0, 1, 0.25)),
    "relu6": (F.relu6, POINT > 0),
    "brelu": (lambda x: F.brelu(x, t_min=-0.5, t_max=2.0), np.abs(POINT - 0.75) < 1.25),
    "hard_sigmoid": (lambda x: F.hard_sigmoid(x, slope=0.25), 0.25 * (np.abs(POINT) < 2)),
    "hard_shrink": (F.hard_shrink, np.abs(POINT) > 0.5),
    "softshrink": (F.softshrink, np.abs(POINT) > 0.5),
    "thresholded_relu": (F.thresholded_relu, POINT > 1),
    "floor": (F.floor, 0 * POINT),
    "ceil": (F.ceil, 0 * POINT),
    "round": (F.round, 0 * POINT),
    "sign": (F.sign, 0 * POINT),
    "clip": (lambda x: F.clip(x, min=-1.0, max=1.0), np.abs(POINT) < 1),
    "reduce_max": (lambda x: F.reduce_max(x, dim=[1]), POINT == [[2.6], [0.4]]),
    "reduce_min": (lambda x: F.reduce_min(x, dim=[1]), POINT == [[-1.3], [-3.1]]),
    "elementwise_max": (lambda x: F.elementwise_max(x, x * 0.5), np.where(POINT > 0, 1, 0.5)),
    "elementwise_min": (lambda x: F.elementwise_min(x, x * 0.5), np.where(POINT < 0, 1, 0.5)),
    "pool2d": (pool, POINT == [[2.6], [0.4]]),
    "hinge_loss": (lambda x: F.hinge_loss(x, x.detach() * 0.0), POINT > -1),
}


@pytest.mark.parametrize("name", FLAT)
def test_second_and_third_derivatives_are_zeros(name):
    function, slope = FLAT[name]
    x = dygraph.to_variable(POINT)
    x.stop_gradient = False
    (first,) = dygraph.grad(function(x).sum(), x, create_graph=True)
    np.testing.assert_allclose(first.numpy(), slope, rtol=1e-12)
    (second,) = dygraph.grad(first, x, create_graph=True)
    (third,) = dygraph.grad(second, x)
    for zeros in (second, third):
        assert zeros.dtype == x.dtype
        np.testing.assert_array_equal(zeros.numpy(), np.zeros((2, 3)))
    hessian = dygraph.autograd.hessian(lambda v: function(v).sum(), x)
    np.testing.assert_array_equal(hessian.numpy(), np.zeros((2, 3, 2, 3)))


@pytest.mark.parametrize("name", FLAT)
def test_programs_give_zeros_too(name):
    function, slope = FLAT[name]
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [2, 3], "float64")
        x.stop_gradient = False
        found = [function(x).sum()]
        for _ in range(3):
            found += static.gradients(found[-1], x)
        assert None not in found
    values = static.Executor().run(program, {"x": POINT}, found[1:], scope=static.Scope())
    np.testing.assert_allclose(values[0], slope, rtol=1e-12)
    for zeros in values[1:]:
        np.testing.assert_array_equal(zeros, np.zeros((2, 3)))


def test_zeros_stay_zeros_beside_infinity():
    x = np.array([np.inf, -np.inf, np.nan])
    program = static.Program()
    with static.program_guard(program, static.Program()):
        v = static.data("x", [3], "float64")
        v.stop_gradient = False
        (first,) = static.gradients(static.layers.relu(v), v)
        (second,) = static.gradients(first, v)
    (got,) = static.Executor().run(program, {"x": x}, [second], scope=static.Scope())
    np.testing.assert_array_equal(got, np.zeros(3))
    v = dygraph.to_variable(x)
    v.stop_gradient = False
    (first,) = dygraph.grad(F.relu(v).sum(), v, create_graph=True)
    np.testing.assert_array_equal(dygraph.grad(first, v)[0].numpy(), np.zeros(3))


def test_a_penalty_on_the_gradient_of_a_net_with_relu():
    """The bias below relu gets zeros from the penalty, by backward() and in a program."""
    w = np.array([[1.0, -2.0], [0.5, 3.0]])
    layer = dygraph.nn.Linear(2, 2)
    layer.weight.set_value(w.astype("float32"))
    layer.bias.set_value(np.array([0.1, -0.1], "float32"))
    x = dygraph.to_variable(np.array([[1.0, 2.0]], "float32"))
    x.stop_gradient = False
    (g,) = dygraph.grad(F.relu(layer(x)).sum(), x, create_graph=True)
    (g * g).sum().backward()
    np.testing.assert_array_equal(layer.bias.grad.numpy(), [0.0, 0.0])
    # both are above 0: g = w summed over its columns, so each row's sum twice
    np.testing.assert_allclose(layer.weight.grad.numpy(), [[-2, -2], [7, 7]], rtol=1e-6)
