"""where, where_index and masked_select."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestWhere(OpTest):
    condition, x, y = (3, 4), (3, 4), (3, 4)

    def setUp(self):
        self.op_type = "where"
        condition = np.random.rand(*self.condition) > 0.5
        self.inputs = {"Condition": condition, "X": rand(*self.x), "Y": rand(*self.y)}

    def reference(self, inputs, attrs):
        return {"Out": np.where(inputs["Condition"], inputs["X"], inputs["Y"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Y"], "Out")


class TestWhereNumbers(TestWhere):
    x, y = (), (4,)


class TestWhereWide(TestWhere):
    condition, x, y = (3, 1), (1, 4), (2, 1, 1)


class TestWhere0d(TestWhere):
    condition, x, y = (), (), ()


class TestWhereNothing(TestWhere):
    condition, x, y = (0, 3), (0, 3), (1, 3)


class TestWhereIndex(OpTest):
    condition = np.array([[0, 2, 0], [1, 0, -3]])

    def setUp(self):
        self.op_type = "where_index"
        self.inputs = {"Condition": self.condition}
        self.outputs = {"Out": np.argwhere(self.condition)}

    def test_check_output(self):
        self.check_output()


class TestWhereIndexBool(TestWhereIndex):
    condition = np.array([True, False, True])


class TestWhereIndexFloat(TestWhereIndex):
    condition = np.array([[[0.0, np.nan]], [[-0.0, 1.5]]])


class TestWhereIndex0d(TestWhereIndex):
    condition = np.array(True)


class TestWhereIndexNothing(TestWhereIndex):
    condition = np.zeros((2, 0, 3), "float32")


class TestMaskedSelect(OpTest):
    mask = np.array([[True, False, True], [False, False, True]])

    def setUp(self):
        self.op_type = "masked_select"
        self.inputs = {"X": rand(*self.mask.shape), "Mask": self.mask}

    def reference(self, inputs, attrs):
        return {"Y": inputs["X"][inputs["Mask"]]}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Y")


class TestMaskedSelectNone(TestMaskedSelect):
    mask = np.zeros((2, 3), "bool")


class TestMaskedSelectRow(TestMaskedSelect):
    """A mask of one row goes with all rows."""

    mask, x_shape = np.array([True, False, True]), (2, 3)

    def setUp(self):
        super().setUp()
        self.inputs["X"] = rand(*self.x_shape)

    def reference(self, inputs, attrs):
        x, mask = np.broadcast_arrays(inputs["X"], inputs["Mask"])
        return {"Y": x[mask]}


class TestMaskedSelectRepeated(TestMaskedSelectRow):
    """Elements of X that are taken twice get both gradients."""

    mask, x_shape = np.array([[True, False, True], [False, True, True]]), (1, 3)


class TestMaskedSelectBoth(TestMaskedSelectRow):
    mask, x_shape = np.array([[True, False, True]]), (2, 1)


class TestMaskedSelect0d(TestMaskedSelect):
    mask = np.array(True)


def test_errors():
    x, m = _core.to_variable(np.zeros((2, 3))), _core.to_variable(np.ones((2, 3), "bool"))
    with pytest.raises(ValueError, match="X.*Mask"):
        _core.ops.masked_select(x, m[:, :2])
    with pytest.raises(TypeError, match="Mask must be of bool"):
        _core.ops.masked_select(x, x)
    with pytest.raises(TypeError, match="Condition must be of bool"):
        _core.ops.where(x, x, x)
    with pytest.raises(TypeError, match="X and Y must be of one type"):
        _core.ops.where(m, x, x.astype("float32"))
    with pytest.raises(ValueError, match="Condition"):
        _core.ops.where(m[:, :2], x, x)
