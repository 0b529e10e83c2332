"""scatter: rows replaced, or added up from 0."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestScatter(OpTest):
    shape, ids, overwrite = (5, 3), np.array([3, 1]), True

    def setUp(self):
        self.op_type = "scatter"
        updates = rand(self.ids.shape[0], *self.shape[1:])
        self.inputs = {"X": rand(*self.shape), "Ids": self.ids, "Updates": updates}
        self.attrs = {"overwrite": self.overwrite}

    def reference(self, inputs, attrs):
        out, ids = inputs["X"].copy(), inputs["Ids"].ravel()
        if self.overwrite:
            for i, update in zip(ids, inputs["Updates"], strict=True):
                out[i] = update
        else:
            out[ids] = 0
            np.add.at(out, ids, inputs["Updates"])
        return {"Out": out}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Updates"], "Out")


class TestScatterRepeated(TestScatter):
    ids = np.array([2, 0, 2, -3], "int32")


class TestScatterAdd(TestScatter):
    ids, overwrite = np.array([2, 0, 2, -1]), False


class TestScatterColumnOfIds(TestScatter):
    ids = np.array([[4], [0]])


class TestScatterVector(TestScatter):
    shape, ids = (4,), np.array([3, 3])


class TestScatterNothing(TestScatter):
    ids = np.zeros(0, "int64")


def test_errors():
    x, one = _core.to_variable(np.zeros((4, 3))), _core.to_variable(np.zeros((1, 3)))
    for bad in (4, -5):
        with pytest.raises(IndexError, match=rf"\[-4, 4\), the number of rows of X, got {bad}"):
            _core.ops.scatter(x, _core.to_variable(np.array([bad])), one)
    with pytest.raises(ValueError, match=r"Updates must have the shape \[2, 3\]"):
        _core.ops.scatter(x, _core.to_variable(np.array([0, 1])), one)
    with pytest.raises(ValueError, match="Ids must have shape"):
        _core.ops.scatter(x, _core.to_variable(np.zeros((1, 2), "int64")), one)
    with pytest.raises(TypeError, match="type of X"):
        _core.ops.scatter(x, _core.to_variable(np.array([0])), one.astype("float32"))
