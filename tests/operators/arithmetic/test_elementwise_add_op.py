"""elementwise_add: Out = X + Y, broadcasting."""

import numpy as np

from op_test import OpTest, rand


class TestElementwiseAdd(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "elementwise_add"
        self.inputs = {"X": rand(3, 4), "Y": rand(3, 4)}

    def reference(self, inputs, attrs):
        return {"Out": np.add(inputs["X"], inputs["Y"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Y"], "Out")

    def test_check_grad_ignore_y(self):
        self.check_grad(["X"], "Out", no_grad_set={"Y"})


class TestElementwiseAddIntegers(TestElementwiseAdd):
    def setUp(self):
        self.op_type = "elementwise_add"
        self.inputs = {"X": np.array([2**40, -3]), "Y": np.array([1, -(2**50)])}

    def test_check_grad(self):
        self.assertEqual(self.differentiable_inputs(), [])

    test_check_grad_ignore_y = None


class TestElementwiseAddImages(TestElementwiseAdd):
    def setUp(self):
        self.op_type = "elementwise_add"
        self.inputs = {"X": rand(2, 3, 2, 4), "Y": rand(2, 3, 2, 4)}


class TestElementwiseAddImageBias(TestElementwiseAdd):
    """axis says where Y lies along X: one number for each channel."""

    elementwise = False

    def setUp(self):
        self.op_type = "elementwise_add"
        self.inputs = {"X": rand(2, 3, 2, 4), "Y": rand(3)}
        self.attrs = {"axis": 1}

    def reference(self, inputs, attrs):
        return {"Out": inputs["X"] + inputs["Y"].reshape(-1, 1, 1)}
