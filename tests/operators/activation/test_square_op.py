"""square: X ** 2."""

import numpy as np

from dygraph import _core
from op_test import OpTest, rand


class TestSquare(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "square"
        self.inputs = {"X": rand(3, 4)}

    def reference(self, inputs, attrs):
        return {"Out": np.square(inputs["X"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestSquareImage(TestSquare):
    def setUp(self):
        self.op_type = "square"
        self.inputs = {"X": rand(2, 3, 2, 4, dtype="float32")}


def test_square_of_special_values():
    got = _core.ops.square(_core.to_variable(np.array([-3.0, np.inf, -np.inf])))
    np.testing.assert_array_equal(got.numpy(), [9.0, np.inf, np.inf])


def test_square_of_integers():
    got = _core.ops.square(_core.to_variable(np.array([-3, 0, 2**31], "int64")))
    np.testing.assert_array_equal(got.numpy(), np.array([9, 0, 4611686018427387904], "int64"))
