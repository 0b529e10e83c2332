"""elementwise_max: the larger of X and Y; ties give their gradient to X, broadcasting."""

import numpy as np

from dygraph import _core
from op_test import OpTest, rand


class TestElementwiseMax(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "elementwise_max"
        self.inputs = {"X": rand(3, 4), "Y": rand(3, 4)}

    def reference(self, inputs, attrs):
        with np.errstate(all="ignore"):
            return {"Out": np.maximum(inputs["X"], inputs["Y"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Y"], "Out")

    def test_check_grad_ignore_x(self):
        self.check_grad(["Y"], "Out", no_grad_set={"X"})


class TestElementwiseMaxBroadcast(TestElementwiseMax):
    def setUp(self):
        self.op_type = "elementwise_max"
        self.inputs = {
            "X": rand(2, 1, 4),
            "Y": rand(3, 1),
        }


class TestElementwiseMaxAxis(TestElementwiseMax):
    """axis says where Y lies along X."""

    elementwise = False

    def setUp(self):
        self.op_type = "elementwise_max"
        self.inputs = {
            "X": rand(2, 3, 2, 4),
            "Y": rand(3),
        }
        self.attrs = {"axis": 1}

    def reference(self, inputs, attrs):
        with np.errstate(all="ignore"):
            return {"Out": np.maximum(inputs["X"], inputs["Y"].reshape(-1, 1, 1))}


def test_a_nan_wins_on_either_side():
    x, y = np.array([np.nan, 1.0, 2.0]), np.array([1.0, np.nan, 3.0])
    got = _core.ops.elementwise_max(_core.to_variable(x), _core.to_variable(y))
    np.testing.assert_array_equal(got.numpy(), [np.nan, np.nan, 3.0])


def test_ties_give_their_gradient_to_x():
    x, y = _core.to_variable(np.ones(3)), _core.to_variable(np.ones(3))
    x.stop_gradient = y.stop_gradient = False
    _core.backward([_core.ops.reduce_sum(_core.ops.elementwise_max(x, y))], [], False, False)
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(y.grad.numpy(), [0.0, 0.0, 0.0])
