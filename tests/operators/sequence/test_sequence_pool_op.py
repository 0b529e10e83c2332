import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand

POOLS = {
    "SUM": lambda rows: rows.sum(axis=0),
    "AVERAGE": lambda rows: rows.mean(axis=0),
    "SQRT": lambda rows: rows.sum(axis=0) / np.sqrt(len(rows)),
    "MAX": lambda rows: rows.max(axis=0),
    "FIRST": lambda rows: rows[0],
    "LAST": lambda rows: rows[-1],
}


class TestSequencePool(OpTest):
    pooltype = "AVERAGE"
    lod = [[0, 3, 3, 7]]
    row = (2,)

    def setUp(self):
        self.op_type = "sequence_pool"
        x = rand(7, *self.row)
        self.inputs = {"X": (x, self.lod)}
        self.attrs = {"pooltype": self.pooltype, "pad_value": 0.5}
        spans = zip(self.lod[-1][:-1], self.lod[-1][1:], strict=True)
        out = [POOLS[self.pooltype](x[a:b]) if b > a else np.full(self.row, 0.5) for a, b in spans]
        self.outputs = {"Out": (np.array(out), self.lod[:-1])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestSequencePoolSum(TestSequencePool):
    pooltype = "SUM"


class TestSequencePoolSqrt(TestSequencePool):
    pooltype = "SQRT"


class TestSequencePoolMax(TestSequencePool):
    pooltype = "MAX"


class TestSequencePoolFirst(TestSequencePool):
    pooltype = "FIRST"


class TestSequencePoolLast(TestSequencePool):
    pooltype = "LAST"


class TestSequencePoolTwoLevels(TestSequencePool):
    """The last level is pooled, the one above is what stays."""

    pooltype = "SUM"
    lod = [[0, 1, 3], [0, 2, 3, 7]]
    row = (2, 3)


class TestSequencePoolMaxTwoLevels(TestSequencePoolMax):
    lod = [[0, 2, 3], [0, 4, 4, 7]]


def test_max_index_and_nan():
    x = np.array([[1.0], [5.0], [5.0], [2.0], [np.nan], [3.0]])
    v = _core.to_variable(x, lod=[[0, 3, 3, 6]])
    out = _core.run_op("sequence_pool", {"X": v}, {"pooltype": "MAX"})
    np.testing.assert_array_equal(out["MaxIndex"].numpy(), [[1], [-1], [4]])
    np.testing.assert_array_equal(out["Out"].numpy(), [[5.0], [0.0], [np.nan]])


def test_what_does_not_fit():
    x = _core.to_variable(np.zeros((3, 2)), lod=[[0, 3]])
    with pytest.raises(ValueError, match="level of detail"):
        _core.run_op("sequence_pool", {"X": _core.to_variable(np.zeros((3, 2)))}, {})
    with pytest.raises(ValueError, match="pooltype"):
        _core.run_op("sequence_pool", {"X": x}, {"pooltype": "MEDIAN"})
    slots = {
        "X": x,
        "MaxIndex": _core.to_variable(np.array([[9, 0]], "int32")),
        "Out@GRAD": _core.to_variable(np.zeros((1, 2))),
    }
    with pytest.raises(IndexError, match="row of its sequence"):
        _core.run_op("sequence_pool_grad", slots, {"pooltype": "MAX"})
