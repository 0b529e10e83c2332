"""gather_nd and scatter_nd_add: slices addressed by k numbers."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def at(index):
    """An index [..., k] as NumPy takes it."""
    return tuple(np.moveaxis(index, -1, 0))


class TestGatherNd(OpTest):
    shape, index = (4, 3, 2), np.array([[0, 1], [3, 2], [0, 1], [-1, -3]])

    def setUp(self):
        self.op_type = "gather_nd"
        self.inputs = {"X": rand(*self.shape), "Index": self.index}

    def reference(self, inputs, attrs):
        return {"Out": inputs["X"][at(inputs["Index"])]}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestGatherNdElements(TestGatherNd):
    index = np.array([[[0, 1, 1]], [[3, -1, 0]]], "int32")


class TestGatherNdOne(TestGatherNd):
    index = np.array([2])


class TestGatherNdNothing(TestGatherNd):
    index = np.zeros((0, 2), "int64")


class TestGatherNdWhole(TestGatherNd):
    index = np.zeros((3, 0), "int64")

    def reference(self, inputs, attrs):
        return {"Out": np.stack([inputs["X"]] * 3)}


class TestScatterNdAdd(OpTest):
    shape, index = (4, 3, 2), np.array([[0, 1], [3, 2], [0, 1], [-1, -3]])

    def setUp(self):
        self.op_type = "scatter_nd_add"
        x = rand(*self.shape)
        self.inputs = {"X": x, "Index": self.index, "Updates": rand(*x[at(self.index)].shape)}

    def reference(self, inputs, attrs):
        out = inputs["X"].copy()
        np.add.at(out, at(inputs["Index"]), inputs["Updates"])
        return {"Out": out}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Updates"], "Out")


class TestScatterNdAddElements(TestScatterNdAdd):
    shape, index = (6,), np.array([[5], [5], [0], [5]], "int32")


class TestScatterNdAddNothing(TestScatterNdAdd):
    index = np.zeros((0, 3), "int64")


def test_integers_wrap():
    x = _core.to_variable(np.array([2**31 - 1, 5], "int32"))
    i, u = _core.to_variable(np.array([[0]])), _core.to_variable(np.array([1], "int32"))
    assert _core.ops.scatter_nd_add(x, i, u).numpy().tolist() == [-(2**31), 5]


def test_errors():
    x, i = _core.to_variable(np.zeros((4, 3))), _core.to_variable(np.array([[0, 0], [1, 3]]))
    with pytest.raises(
        IndexError, match=r"\[-3, 3\) in column 1, the size of axis 1.*got 3 in row 1"
    ):
        _core.ops.gather_nd(x, i)
    with pytest.raises(IndexError, match="got 3 in row 1"):
        _core.ops.scatter_nd_add(x, i, _core.to_variable(np.zeros(2)))
    with pytest.raises(ValueError, match=r"Updates must have the shape \[2\]"):
        _core.ops.scatter_nd_add(x, i, _core.to_variable(np.zeros(3)))
    with pytest.raises(TypeError, match="Updates must be of the type of X"):
        _core.ops.scatter_nd_add(x, i, _core.to_variable(np.zeros(2, "float32")))
    with pytest.raises(ValueError, match="must be at most the number of axes"):
        _core.ops.gather_nd(x, _core.to_variable(np.zeros((1, 3), "int64")))
    with pytest.raises(TypeError, match="Index must be of int32 or int64"):
        _core.ops.gather_nd(x, x[:, :1])
