"""mean: the mean of all elements, a scalar."""

import numpy as np

from op_test import OpTest, rand


class TestMean(OpTest):
    def setUp(self):
        self.op_type = "mean"
        self.inputs = {"X": rand(3, 4)}

    def reference(self, inputs, attrs):
        return {"Out": np.mean(inputs["X"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")

    def test_given_gradient(self):
        """Each element takes an equal share."""
        self.check_grad(["X"], "Out", user_defined_grads=[np.full((3, 4), 1 / 12)])


class TestMeanOfOne(TestMean):
    def setUp(self):
        self.op_type = "mean"
        self.inputs = {"X": rand(1)}

    test_given_gradient = None


class TestMeanImage(TestMeanOfOne):
    def setUp(self):
        self.op_type = "mean"
        self.inputs = {"X": rand(2, 3, 2, 2, dtype="float32")}
