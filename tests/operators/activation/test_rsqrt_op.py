"""rsqrt: 1 / sqrt(X)."""

import numpy as np

from dygraph import _core
from op_test import OpTest, rand


class TestRsqrt(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "rsqrt"
        self.inputs = {"X": rand(3, 4, low=0.3, high=3.0)}

    def reference(self, inputs, attrs):
        with np.errstate(all="ignore"):
            return {"Out": 1 / np.sqrt(inputs["X"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestRsqrtImage(TestRsqrt):
    def setUp(self):
        self.op_type = "rsqrt"
        self.inputs = {"X": rand(2, 3, 2, 4, low=0.3, high=2.0, dtype="float32")}


def test_rsqrt_of_special_values():
    got = _core.ops.rsqrt(_core.to_variable(np.array([0.0, 4.0, np.inf, -1.0])))
    np.testing.assert_array_equal(got.numpy(), [np.inf, 0.5, 0.0, np.nan])
