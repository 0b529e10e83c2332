"""exp: e ** X."""

import numpy as np

from dygraph import _core
from op_test import OpTest, rand


class TestExp(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "exp"
        self.inputs = {"X": rand(3, 4, low=-2.0, high=2.0)}

    def reference(self, inputs, attrs):
        return {"Out": np.exp(inputs["X"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestExpImage(TestExp):
    def setUp(self):
        self.op_type = "exp"
        self.inputs = {"X": rand(2, 3, 2, 4, dtype="float32")}


def test_exp_of_special_values():
    got = _core.ops.exp(_core.to_variable(np.array([0.0, -np.inf, np.inf])))
    np.testing.assert_array_equal(got.numpy(), [1.0, 0.0, np.inf])
