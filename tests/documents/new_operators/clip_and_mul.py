"""The unit tests of 000 and 004, nearly as they stand there, for operators of any name."""

# ruff: noqa: E741
import numpy as np

from op_test import OpTest


def clip_cases(op_type):
    """Of 000: inputs, outputs and attributes in setUp; the framework does the rest."""

    class TestClipOp(OpTest):
        def setUp(self):
            self.max_relative_error = 0.006
            self.initTestCase()
            input = np.random.random(self.shape).astype("float32")
            input[np.abs(input - self.min) < self.max_relative_error] = 0.5
            input[np.abs(input - self.max) < self.max_relative_error] = 0.5
            self.op_type = op_type
            self.inputs = {"X": input}
            self.attrs = {"min": self.min, "max": self.max}
            self.outputs = {"Out": np.clip(self.inputs["X"], self.attrs["min"], self.attrs["max"])}

        def test_check_output(self):
            self.check_output()

        def test_check_grad_normal(self):
            self.check_grad(["X"], "Out", max_relative_error=self.max_relative_error)

        def initTestCase(self):
            self.shape = (4, 4)
            self.max = 0.7
            self.min = 0.1

    class TestCase1(TestClipOp):
        def initTestCase(self):
            self.shape = (8, 16, 8)
            self.max = 0.7
            self.min = 0.0

    class TestCase2(TestClipOp):
        def initTestCase(self):
            self.shape = (8, 16)
            self.max = 1.0
            self.min = 0.0

    class TestCase3(TestClipOp):
        def initTestCase(self):
            self.shape = (4, 8, 16)
            self.max = 0.7
            self.min = 0.2

    return TestClipOp, TestCase1, TestCase2, TestCase3


def mul_cases(op_type):
    """Of 004."""

    class TestMulOp(OpTest):
        def setUp(self):
            self.op_type = op_type
            self.inputs = {
                "X": np.random.random((32, 84)).astype("float32"),
                "Y": np.random.random((84, 100)).astype("float32"),
            }
            self.outputs = {"Out": np.dot(self.inputs["X"], self.inputs["Y"])}

        def test_check_output(self):
            self.check_output()

        def test_check_grad_normal(self):
            self.check_grad(["X", "Y"], "Out", max_relative_error=0.5)

        def test_check_grad_ingore_x(self):
            self.check_grad(["Y"], "Out", max_relative_error=0.5, no_grad_set=set("X"))

        def test_check_grad_ingore_y(self):
            self.check_grad(["X"], "Out", max_relative_error=0.5, no_grad_set=set("Y"))

    class TestMulOp2(TestMulOp):
        """X [2, 3, 4, 5, 6] with x_num_col_dims = 3 is a matrix [24, 30]."""

        def setUp(self):
            self.op_type = op_type
            self.inputs = {
                "X": np.random.random((2, 3, 4, 5, 6)).astype("float32"),
                "Y": np.random.random((5, 6, 2)).astype("float32"),
            }
            self.attrs = {"x_num_col_dims": 3, "y_num_col_dims": 2}
            result = np.dot(
                self.inputs["X"].reshape(2 * 3 * 4, 5 * 6), self.inputs["Y"].reshape(5 * 6, 2)
            )
            self.outputs = {"Out": result.reshape(2, 3, 4, 2)}

    return TestMulOp, TestMulOp2
