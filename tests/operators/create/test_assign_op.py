"""assign: Out = X, sharing storage until one is written."""

import numpy as np

from dygraph import _core
from op_test import OpTest, rand


class TestAssign(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "assign"
        self.inputs = {"X": rand(2, 3, 2, 4)}

    def reference(self, inputs, attrs):
        return {"Out": inputs["X"].copy()}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


def test_every_type_passes():
    for dtype in ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32"]:
        x = np.array([0, 1, 3]).astype(dtype)
        np.testing.assert_array_equal(_core.ops.assign(_core.to_variable(x)).numpy(), x)
