"""pow: X ** factor."""

import numpy as np

from dygraph import _core
from op_test import OpTest, rand


class TestPow(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "pow"
        self.inputs = {"X": rand(3, 4, low=0.5, high=2.0)}
        self.attrs = {"factor": 2.5}

    def reference(self, inputs, attrs):
        x = inputs["X"]
        with np.errstate(all="ignore"):
            return {"Out": np.power(x, np.asarray(x).dtype.type(attrs["factor"]))}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestPowSquare(TestPow):
    def setUp(self):
        self.op_type = "pow"
        self.inputs = {"X": rand(2, 3, 2, 4)}
        self.attrs = {"factor": 2.0}


class TestPowRoot(TestPow):
    def setUp(self):
        self.op_type = "pow"
        self.inputs = {"X": rand(3, 4, low=0.5, high=2.0)}
        self.attrs = {"factor": 0.5}


class TestPowInverse(TestPow):
    def setUp(self):
        self.op_type = "pow"
        self.inputs = {"X": rand(3, 4, low=0.5, high=2.0)}
        self.attrs = {"factor": -1.0}


def power(x, **how):
    return _core.ops.pow(_core.to_variable(np.asarray(x)), **how)


def test_special_values():
    x = np.array([-np.inf, -0.0, 0.0, -1.0, np.nan])
    np.testing.assert_array_equal(power(x, factor=0.5).numpy(), [np.inf, 0.0, 0.0, np.nan, np.nan])
    np.testing.assert_array_equal(power(x, factor=0.0).numpy(), [1.0, 1.0, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(power(x, factor=3.0).numpy(), [-np.inf, -0.0, 0.0, -1.0, np.nan])


def test_integers_are_exact():
    np.testing.assert_array_equal(power(np.array([3, -3]), factor=39.0).numpy(), [3**39, -(3**39)])


def test_the_factor_may_be_a_tensor():
    x = _core.to_variable(np.array([1.0, 2.0, 3.0]))
    x.stop_gradient = False
    y = _core.ops.pow(x, factor_tensor=_core.to_variable(np.array([3.0], "float32")))
    np.testing.assert_array_equal(y.numpy(), [1.0, 8.0, 27.0])
    (first,) = _core.grad([_core.ops.reduce_sum(y)], [x], [], True, True, False)
    np.testing.assert_array_equal(first.numpy(), [3.0, 12.0, 27.0])
    (second,) = _core.grad([_core.ops.reduce_sum(first)], [x], [], False, False, False)
    np.testing.assert_array_equal(second.numpy(), [6.0, 12.0, 18.0])


def test_the_gradient_of_factor_zero_is_zero_at_zero():
    x = _core.to_variable(np.zeros(2))
    x.stop_gradient = False
    _core.backward([_core.ops.reduce_sum(_core.ops.pow(x, factor=0.0))], [], False, False)
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 0.0])
