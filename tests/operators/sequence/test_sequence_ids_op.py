"""Sequence operators on numbers of things: mask, erase, enumerate, scatter, gather_tree."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestSequenceMask(OpTest):
    maxlen = -1
    out_dtype = "int64"

    def setUp(self):
        self.op_type = "sequence_mask"
        x = np.array([[0, 3], [2, 1]])
        self.inputs = {"X": x}
        self.attrs = {"maxlen": self.maxlen, "out_dtype": self.out_dtype}
        self.fixed_dtypes = {"Y": self.out_dtype}

    def reference(self, inputs, attrs):
        x = inputs["X"]
        width = max(x.ravel(), default=0) if attrs["maxlen"] < 0 else attrs["maxlen"]
        return {"Y": (np.arange(width) < x[..., None]).astype(attrs["out_dtype"])}

    def test_check_output(self):
        self.check_output()


class TestSequenceMaskFloat(TestSequenceMask):
    maxlen = 5
    out_dtype = "float32"


class TestSequenceMaskBool(TestSequenceMask):
    maxlen = 2
    out_dtype = "bool"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_masks_of_lengths_with_fractions(dtype):
    """Y[j] = 1 where j < X; the longest is cut off to a whole number, as in Fluid."""
    x = _core.to_variable(np.array([1.7, -2.0, np.nan, 2.0, 3.2], dtype))
    got = _core.run_op("sequence_mask", {"X": x}, {"maxlen": 5})["Y"].numpy()
    assert got.sum(1).tolist() == [2, 0, 0, 2, 4] and got[0].tolist() == [1, 1, 0, 0, 0]
    x = _core.to_variable(np.array([1.7, 3.2], dtype))
    got = _core.run_op("sequence_mask", {"X": x}, {})["Y"].numpy()
    assert got.tolist() == [[1, 1, 0], [1, 1, 1]]


class TestSequenceErase(OpTest):
    lod = [[0, 4, 4, 7]]

    def setUp(self):
        self.op_type = "sequence_erase"
        x = np.array([2, 5, 2, 9, 2, 2, 7], "int32").reshape(-1, 1)
        self.inputs = {"X": (x, self.lod)}
        self.attrs = {"tokens": [2, 9]}
        self.outputs = {"Out": (np.array([[5], [7]], "int32"), [*self.lod[:-1], [0, 1, 1, 2]])}

    def test_check_output(self):
        self.check_output()


class TestSequenceEraseTwoLevels(TestSequenceErase):
    lod = [[0, 2, 3], [0, 4, 4, 7]]


class TestSequenceEnumerate(OpTest):
    def setUp(self):
        self.op_type = "sequence_enumerate"
        x = np.array([1, 2, 3, 4, 5]).reshape(-1, 1)
        self.inputs = {"X": (x, [[0, 3, 3, 5]])}
        self.attrs = {"win_size": 2, "pad_value": -7}
        out = np.array([[1, 2], [2, 3], [3, -7], [4, 5], [5, -7]])
        self.outputs = {"Out": (out, [[0, 3, 3, 5]])}

    def test_check_output(self):
        self.check_output()


class TestSequenceScatter(OpTest):
    def setUp(self):
        self.op_type = "sequence_scatter"
        lod = [[0, 3, 3, 5]]
        x, ids, updates = rand(3, 4), np.array([0, 2, 2, 1, 3]).reshape(-1, 1), rand(5, 1)
        self.inputs = {"X": x, "Ids": (ids, lod), "Updates": (updates, lod)}
        out = x.copy()
        for row, column, value in zip([0, 0, 0, 2, 2], ids[:, 0], updates[:, 0], strict=True):
            out[row, column] += value
        self.outputs = {"Out": out}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Updates"], "Out")


class TestGatherTree(OpTest):
    def setUp(self):
        self.op_type = "gather_tree"
        ids = np.array([[[2, 2], [6, 1]], [[3, 9], [6, 1]], [[0, 1], [9, 0]]])
        parents = np.array([[[0, 0], [1, 1]], [[1, 0], [1, 0]], [[0, 0], [0, 1]]])
        self.inputs = {"Ids": ids, "Parents": parents}
        out = np.array([[[2, 2], [1, 6]], [[3, 3], [6, 1]], [[0, 1], [9, 0]]])
        self.outputs = {"Out": out}

    def test_check_output(self):
        self.check_output()


def test_what_does_not_fit():
    ids = _core.to_variable(np.array([[0], [4]]), lod=[[0, 1, 2]])
    slots = {
        "X": _core.to_variable(np.zeros((2, 4))),
        "Ids": ids,
        "Updates": _core.to_variable(np.zeros((2, 1))),
    }
    with pytest.raises(IndexError, match=r"Ids must lie in \[0, 4\).*got 4 at position 1"):
        _core.run_op("sequence_scatter", slots, {})
    slots["X"] = _core.to_variable(np.zeros((3, 5)))
    with pytest.raises(ValueError, match="a row for each sequence"):
        _core.run_op("sequence_scatter", slots, {})
    beams = _core.to_variable(np.full((2, 1, 2), 2))
    with pytest.raises(IndexError, match=r"Parents must lie in \[0, 2\)"):
        _core.run_op("gather_tree", {"Ids": beams, "Parents": beams}, {})
    with pytest.raises(ValueError, match="rows, 1"):
        _core.run_op("sequence_erase", {"X": _core.to_variable(np.zeros((2, 2), "int64"))}, {})
    with pytest.raises(TypeError, match="out_dtype"):
        _core.run_op("sequence_mask", {"X": ids}, {"out_dtype": "float16"})
