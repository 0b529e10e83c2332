"""sigmoid: 1 / (1 + exp(-X))."""

import numpy as np

from dygraph import _core
from op_test import OpTest, rand


class TestSigmoid(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "sigmoid"
        self.inputs = {"X": rand(3, 4, low=-3.0, high=3.0)}

    def reference(self, inputs, attrs):
        return {"Out": 1 / (1 + np.exp(-inputs["X"]))}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestSigmoidImage(TestSigmoid):
    def setUp(self):
        self.op_type = "sigmoid"
        self.inputs = {"X": rand(2, 3, 2, 4, dtype="float32")}


def test_sigmoid_of_special_values():
    got = _core.ops.sigmoid(_core.to_variable(np.array([0.0, -800.0, 800.0])))
    np.testing.assert_array_equal(got.numpy(), [0.5, 0.0, 1.0])
