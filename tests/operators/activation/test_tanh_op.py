"""tanh: the hyperbolic tangent of X."""

import numpy as np

from dygraph import _core
from op_test import OpTest, rand


class TestTanh(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "tanh"
        self.inputs = {"X": rand(3, 4, low=-2.0, high=2.0)}

    def reference(self, inputs, attrs):
        return {"Out": np.tanh(inputs["X"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestTanhImage(TestTanh):
    def setUp(self):
        self.op_type = "tanh"
        self.inputs = {"X": rand(2, 3, 2, 4, dtype="float32")}


def test_tanh_of_special_values():
    got = _core.ops.tanh(_core.to_variable(np.array([-0.0, -800.0, 1e-300])))
    np.testing.assert_array_equal(got.numpy(), [-0.0, -1.0, 1e-300])
