"""edit_distance: Levenshtein's, against the recursive definition."""

import functools

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest


def distance(a, b):
    @functools.cache
    def d(i, j):
        if not i or not j:
            return i + j
        return min(d(i - 1, j) + 1, d(i, j - 1) + 1, d(i - 1, j - 1) + (a[i - 1] != b[j - 1]))

    return d(len(a), len(b))


HYPS, REFS = [[1, 2, 3, 4], [5], [7, 7, 8]], [[1, 3, 4], [5, 6, 5], [8, 7]]
KITTEN, SITTING = [1, 2, 3, 3, 4, 5], [6, 2, 3, 3, 2, 5, 7]


class TestEditDistance(OpTest):
    normalized, elementwise = False, False
    fixed_dtypes = {"Out": "float32"}

    def setUp(self):
        self.op_type = "edit_distance"
        self.hyps, self.refs = [*HYPS, KITTEN], [*REFS, SITTING]
        out = [distance(tuple(h), tuple(r)) for h, r in zip(self.hyps, self.refs, strict=True)]
        assert out[-1] == 3
        if self.normalized:
            out = [d / len(r) for d, r in zip(out, self.refs, strict=True)]
        self.attrs = {"normalized": self.normalized}
        self.outputs = {"Out": np.array(out, "float32")[:, None], "SequenceNum": np.array(4)}
        self.inputs = {
            name: (np.concatenate(lists)[:, None], [[len(x) for x in lists]])
            for name, lists in (("Hyps", self.hyps), ("Refs", self.refs))
        }

    def test_check_output(self):
        self.check_output()


class TestEditDistanceNormalized(TestEditDistance):
    normalized = True


class TestEditDistancePadded(TestEditDistance):
    def setUp(self):
        super().setUp()
        self.inputs = {}
        for name, lists in (("Hyps", self.hyps), ("Refs", self.refs)):
            longest = max(len(x) for x in lists)
            self.inputs[name] = np.array([x + [99] * (longest - len(x)) for x in lists])
            self.inputs[f"{name}Length"] = np.array([len(x) for x in lists])


def test_wrong_inputs():
    x = _core.to_variable(np.zeros((3, 1), "int64"), lod=[[0, 3]])
    none = _core.to_variable(np.zeros((0, 1), "int64"), lod=[[0, 0]])
    assert _core.ops.edit_distance(x, none)[1].numpy() == 3
    with pytest.raises(ValueError, match=r"must have a token.*normalized=False"):
        _core.ops.edit_distance(x, none, normalized=True)
    with pytest.raises(ValueError, match="level of detail"):
        _core.ops.edit_distance(_core.to_variable(np.zeros((3, 1), "int64")), x)
