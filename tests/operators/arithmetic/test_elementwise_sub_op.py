"""elementwise_sub: X - Y, broadcasting."""

import numpy as np

from dygraph import _core
from op_test import OpTest, rand


class TestElementwiseSub(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "elementwise_sub"
        self.inputs = {"X": rand(3, 4), "Y": rand(3, 4)}

    def reference(self, inputs, attrs):
        with np.errstate(all="ignore"):
            return {"Out": np.subtract(inputs["X"], inputs["Y"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Y"], "Out")

    def test_check_grad_ignore_x(self):
        self.check_grad(["Y"], "Out", no_grad_set={"X"})


class TestElementwiseSubBroadcast(TestElementwiseSub):
    def setUp(self):
        self.op_type = "elementwise_sub"
        self.inputs = {
            "X": rand(2, 1, 4),
            "Y": rand(3, 1),
        }


class TestElementwiseSubAxis(TestElementwiseSub):
    """axis says where Y lies along X."""

    elementwise = False

    def setUp(self):
        self.op_type = "elementwise_sub"
        self.inputs = {
            "X": rand(2, 3, 2, 4),
            "Y": rand(3),
        }
        self.attrs = {"axis": 1}

    def reference(self, inputs, attrs):
        with np.errstate(all="ignore"):
            return {"Out": np.subtract(inputs["X"], inputs["Y"].reshape(-1, 1, 1))}


def test_integers():
    x, y = np.array([5, -3]), np.array([7, 2**40])
    got = _core.ops.elementwise_sub(_core.to_variable(x), _core.to_variable(y))
    np.testing.assert_array_equal(got.numpy(), [-2, -3 - 2**40])
