"""relu: maximum(X, 0)."""

import numpy as np

from op_test import OpTest, away_from, rand


class TestRelu(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "relu"
        self.inputs = {"X": away_from(0, rand(3, 4))}

    def reference(self, inputs, attrs):
        return {"Out": np.maximum(inputs["X"], 0)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestReluImage(TestRelu):
    def setUp(self):
        self.op_type = "relu"
        self.inputs = {"X": away_from(0, rand(2, 3, 4, 5, dtype="float32"))}
