"""mul: the product of X and Y flattened to matrices."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def flatten(a, axes):
    return a.reshape(int(np.prod(a.shape[:axes])), int(np.prod(a.shape[axes:])))


class TestMul(OpTest):
    shapes = ((4, 5), (5, 3))
    elementwise = False
    attrs = {}

    def setUp(self):
        self.op_type = "mul"
        self.inputs = {"X": rand(*self.shapes[0]), "Y": rand(*self.shapes[1])}

    def reference(self, inputs, attrs):
        x, y = inputs["X"], inputs["Y"]
        rows, columns = attrs.get("x_num_col_dims", 1), attrs.get("y_num_col_dims", 1)
        out = flatten(x, rows) @ flatten(y, columns)
        return {"Out": out.reshape(x.shape[:rows] + y.shape[columns:])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Y"], "Out")

    def test_check_grad_of_one(self):
        self.check_grad(["X"], "Out", no_grad_set={"Y"})
        self.check_grad(["Y"], "Out", no_grad_set={"X"})


class TestMulManyAxes(TestMul):
    attrs = {"x_num_col_dims": 3, "y_num_col_dims": 2}
    shapes = ((2, 3, 2, 3, 4), (2, 6, 5))


class TestMulDocumentsExample(TestMul):
    """X [2, 3, 4, 5, 6] with x_num_col_dims = 3 is a matrix [24, 30]."""

    shapes = ((2, 3, 4, 5, 6), (30, 2))
    attrs = {"x_num_col_dims": 3}


class TestMulLarge(TestMul):
    """Large enough for the library's product."""

    shapes = ((130, 120), (120, 110))


@pytest.mark.parametrize("name", ["x_num_col_dims", "y_num_col_dims"])
def test_num_col_dims_is_at_least_one(name):
    x = _core.to_variable(np.ones((2, 2), "float32"))
    with pytest.raises(ValueError, match=rf"{name} must be at least 1, got 0"):
        _core.run_op("mul", {"X": x, "Y": x}, {name: 0})


def test_wrong_shapes():
    x = _core.to_variable(np.ones((2, 3), "float32"))
    y = _core.to_variable(np.ones((4, 3), "float32"))
    with pytest.raises(ValueError, match=r"mul: the width of X \[2, 3\].* got 3 and 4"):
        _core.run_op("mul", {"X": x, "Y": y}, {})
    with pytest.raises(ValueError, match="X must have more axes than x_num_col_dims"):
        _core.run_op("mul", {"X": x, "Y": y}, {"x_num_col_dims": 2})
