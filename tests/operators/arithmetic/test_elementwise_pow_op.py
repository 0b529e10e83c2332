"""elementwise_pow: X ** Y, broadcasting."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestElementwisePow(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "elementwise_pow"
        self.inputs = {"X": rand(3, 4, low=0.5, high=2.0), "Y": rand(3, 4, low=-1.5, high=2.5)}

    def reference(self, inputs, attrs):
        with np.errstate(all="ignore"):
            return {"Out": np.power(inputs["X"], inputs["Y"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Y"], "Out")

    def test_check_grad_ignore_x(self):
        self.check_grad(["Y"], "Out", no_grad_set={"X"})


class TestElementwisePowBroadcast(TestElementwisePow):
    def setUp(self):
        self.op_type = "elementwise_pow"
        self.inputs = {
            "X": rand(2, 1, 4, low=0.5, high=2.0),
            "Y": rand(3, 1, low=-1.5, high=2.5),
        }


class TestElementwisePowAxis(TestElementwisePow):
    """axis says where Y lies along X."""

    elementwise = False

    def setUp(self):
        self.op_type = "elementwise_pow"
        self.inputs = {
            "X": rand(2, 3, 2, 4, low=0.5, high=2.0),
            "Y": rand(3, low=-1.5, high=2.5),
        }
        self.attrs = {"axis": 1}

    def reference(self, inputs, attrs):
        with np.errstate(all="ignore"):
            return {"Out": np.power(inputs["X"], inputs["Y"].reshape(-1, 1, 1))}


def power(x, y):
    return _core.ops.elementwise_pow(_core.to_variable(np.array(x)), _core.to_variable(np.array(y)))


def test_integers_are_exact():
    np.testing.assert_array_equal(power([3, -2, 0], [39, 3, 0]).numpy(), [3**39, -8, 1])


def test_integers_have_no_negative_powers():
    with pytest.raises(ValueError, match="must be at least 0, got -1"):
        power([2], [-1])


def test_gradients_at_zero_are_finite():
    x = _core.to_variable(np.array([0.0, 0.0, 0.0]))
    y = _core.to_variable(np.array([0.0, 1.0, 2.0]))
    x.stop_gradient = y.stop_gradient = False
    _core.backward([_core.ops.reduce_sum(_core.ops.elementwise_pow(x, y))], [], False, False)
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(y.grad.numpy(), [0.0, 0.0, 0.0])
