"""abs: the magnitude of X, gradient 0 at 0."""

import numpy as np

from dygraph import _core
from op_test import OpTest, away_from, rand


class TestAbs(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "abs"
        self.inputs = {"X": away_from(0, rand(3, 4))}

    def reference(self, inputs, attrs):
        return {"Out": np.abs(inputs["X"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestAbsImage(TestAbs):
    def setUp(self):
        self.op_type = "abs"
        self.inputs = {"X": away_from(0, rand(2, 3, 2, 4, dtype="float32"))}


def test_abs_of_special_values():
    got = _core.ops.abs(_core.to_variable(np.array([-0.0, -np.inf, 2.0])))
    np.testing.assert_array_equal(got.numpy(), [0.0, np.inf, 2.0])


def test_abs_of_integers():
    got = _core.ops.abs(_core.to_variable(np.array([-3, 0, 2**31], "int64")))
    np.testing.assert_array_equal(got.numpy(), np.array([3, 0, 2147483648], "int64"))
