"""Which box belongs to which label: matching, targets, hard examples."""

import numpy as np
import pytest

from dygraph import _core, errors
from op_test import OpTest, rand


def bipartite(dist, threshold=None):
    """By the text: the greatest element of all, again and again."""
    left, match = dist.copy(), np.full(dist.shape[1], -1)
    while left.size and left.max() >= 1e-6:
        column, row = np.unravel_index(left.T.argmax(), left.T.shape)  # the first column counts
        match[column] = row
        left[row], left[:, column] = -1, -1
    if threshold is not None and len(dist):
        close = (match < 0) & (dist.max(0) >= max(threshold, 1e-6))
        match = np.where(close, dist.argmax(0), match)
    return match, [dist[m, j] if m >= 0 else 0.0 for j, m in enumerate(match)]


class TestBipartiteMatch(OpTest):
    elementwise = False
    fixed_dtypes = {"ColToRowMatchIndices": "int32"}
    leave_out = {"empty": "without a level of detail there is one image, also of no rows"}
    threshold, lod = None, [[0, 3, 3, 7]]

    def setUp(self):
        self.op_type = "bipartite_match"
        dist = np.round(rand(7, 5, low=0, high=1), 1)  # with equals and zeros
        self.inputs = {"DistMat": (dist, self.lod) if self.lod else dist}
        kind = "bipartite" if self.threshold is None else "per_prediction"
        self.attrs = {"match_type": kind, "dist_threshold": self.threshold or 0.5}
        offsets = self.lod[0] if self.lod else [0, 7]
        found = [
            bipartite(dist[a:b], self.threshold) for a, b in zip(offsets, offsets[1:], strict=False)
        ]
        self.outputs = {
            "ColToRowMatchIndices": np.array([m for m, _ in found], "int32"),
            "ColToRowMatchDist": np.array([d for _, d in found]),
        }

    def test_check_output(self):
        self.check_output()


class TestBipartiteMatchOthers(TestBipartiteMatch):
    threshold = 0.6


class TestBipartiteMatchOneImage(TestBipartiteMatch):
    lod = None


class TestTargetAssign(OpTest):
    """Two images with 3 and 2 rows; the second axis of X has one row for each of 4 columns."""

    elementwise = False
    fixed_dtypes = {}
    dtype, negative = "float64", False

    def setUp(self):
        self.op_type = "target_assign"
        x = (rand(5, 4, 2) * 100).astype(self.dtype)
        match = np.array([[2, -1, 0, -1], [-1, 1, -1, 0]], "int32")
        self.inputs = {"X": (x, [[0, 3, 5]]), "MatchIndices": match}
        self.attrs = {"mismatch_value": 7}
        out, weight = np.full((2, 4, 2), 7, self.dtype), np.zeros((2, 4, 1))
        for image, column, row in ((0, 0, 2), (0, 2, 0), (1, 1, 4), (1, 3, 3)):
            out[image, column], weight[image, column] = x[row, column], 1
        if self.negative:
            self.inputs["NegIndices"] = (np.array([[1], [3], [0]], "int32"), [[0, 2, 3]])
            weight[0, [1, 3]] = weight[1, 0] = 1
        if self.dtype.startswith("int"):
            weight = weight.astype("float32")
        self.outputs = {"Out": out, "OutWeight": weight}

    def test_check_output(self):
        self.check_output()


class TestTargetAssignNegative(TestTargetAssign):
    negative = True


class TestTargetAssignLabels(TestTargetAssignNegative):
    dtype = "int32"


class TestMineHardExamples(OpTest):
    """1.5 negatives for each of the 2 and 1 matches: 3 and 1."""

    elementwise = False
    fixed_dtypes = {"NegIndices": "int32", "UpdatedMatchIndices": "int32"}

    def setUp(self):
        self.op_type = "mine_hard_examples"
        loss = np.array([[0.1, 0.9, 0.2, 0.8, 0.3, 0.4], [0.1, 0.9, 0.2, 0.8, 0.3, 0.4]])
        match = np.array([[0, -1, -1, -1, 1, -1], [-1, 2, -1, -1, -1, -1]], "int32")
        dist = np.array([[0.9, 0.1, 0.1, 0.6, 0.8, 0.0], [0.0, 0.9, 0.0, 0.6, 0.0, 0.7]])
        self.inputs = {"ClsLoss": loss, "MatchIndices": match, "MatchDist": dist}
        self.attrs = {"neg_pos_ratio": 1.5}
        # Image 0: 1, 2, 5 are below 0.5. Image 1: of 0, 2, 4 the greatest loss has 4.
        self.outputs = {
            "NegIndices": (np.array([[1], [2], [5], [4]], "int32"), [[0, 3, 4]]),
            "UpdatedMatchIndices": match,
        }

    def test_check_output(self):
        self.check_output()


class TestMineHardExamplesOfAll(TestMineHardExamples):
    """The 2 of greatest loss: 3 and 1 in image 0, 0 and 3 in image 1."""

    def setUp(self):
        super().setUp()
        self.inputs["LocLoss"] = np.array([[0, 0, 0, 0.5, 0, 0], [2, 0, 0, 0.5, 0, 0]])
        self.attrs = {"mining_type": "hard_example", "sample_size": 2}
        self.outputs = {
            "NegIndices": (np.array([[1], [3], [0], [3]], "int32"), [[0, 2, 4]]),
            "UpdatedMatchIndices": np.full((2, 6), -1, "int32"),
        }


def test_wrong_inputs():
    x = _core.to_variable(np.zeros((2, 1, 1), "float32"), lod=[[0, 1, 2]])
    match = np.array([[0], [1]], "int32")
    ops = _core.ops
    with pytest.raises(IndexError, match="must name rows below 1 in image 1, got 1"):
        ops.target_assign(x, _core.to_variable(match))
    with pytest.raises(errors.InvalidArgumentError, match="X must have a level of detail with 1"):
        ops.target_assign(x, _core.to_variable(match[:1]))
    negative = _core.to_variable(np.array([[1]], "int32"), lod=[[0, 1, 1]])
    with pytest.raises(IndexError, match=r"NegIndices must lie in \[0, 1\), got 1 in row 0"):
        ops.target_assign(x, _core.to_variable(match * 0), neg_indices=negative)
    loss = _core.to_variable(np.zeros((2, 1), "float32"))
    with pytest.raises(errors.InvalidArgumentError, match="sample_size must be above 0"):
        ops.mine_hard_examples(loss, _core.to_variable(match), loss, mining_type="hard_example")


def test_any_number_of_negatives_for_each_match():
    loss = _core.to_variable(np.array([[0.5, 0.25], [0.5, 0.25]]))
    match = _core.to_variable(np.array([[0, -1], [-1, -1]], "int32"))
    dist = _core.to_variable(np.zeros((2, 2)))
    chosen, _ = _core.ops.mine_hard_examples(loss, match, dist, neg_pos_ratio=float("inf"))
    assert chosen.tolist() == [[1]] and chosen.lod() == [[0, 1, 1]]
