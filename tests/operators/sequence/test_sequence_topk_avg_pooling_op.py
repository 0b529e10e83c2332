"""Averages of the greatest numbers in rows of matrices of different sizes."""

import numpy as np
import pytest

import dygraph
from dygraph import ops as F
from op_test import OpTest


def offsets(lengths):
    return [0, *np.cumsum(lengths).tolist()]


class TestSequenceTopkAvgPooling(OpTest):
    rows, columns, topks, channels = [2, 3], [3, 4], [1, 2, 3], 2

    def setUp(self):
        self.op_type = "sequence_topk_avg_pooling"
        sizes = [self.channels * r * c for r, c in zip(self.rows, self.columns, strict=True)]
        # apart from each other, so that a step of a difference changes no order
        x = np.random.permutation(sum(sizes)) * 0.1 - 0.3
        self.inputs = {
            "X": (x[:, None], [offsets(sizes)]),
            "ROW": (np.zeros((sum(self.rows), 2)), [offsets(self.rows)]),
            "COLUMN": (np.zeros((sum(self.columns), 2)), [offsets(self.columns)]),
        }
        self.attrs = {"topks": self.topks, "channel_num": self.channels}
        self.grad_inputs, self.grad_outputs = ["X"], ["Out"]
        out, at = [], 0
        for size, r, c in zip(sizes, self.rows, self.columns, strict=True):
            of = x[at : at + size].reshape(self.channels, r, c)
            at += size
            greatest = -np.sort(-of, axis=2)
            for row in range(r):
                out.append(
                    [
                        greatest[n, row, :k].sum() / k
                        for n in range(self.channels)
                        for k in self.topks
                    ]
                )
        width = self.channels * len(self.topks)
        self.outputs = {"Out": (np.array(out).reshape(-1, width), [offsets(self.rows)])}

    leave_out = {
        "empty": "sizes are levels of detail",
        "lod_passes": "sizes are levels of detail, of which another does not fit",
    }

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestFewerColumnsThanAsked(TestSequenceTopkAvgPooling):
    columns, topks = [2, 1], [1, 3, 5]


class TestEmptySequences(TestSequenceTopkAvgPooling):
    rows, columns, channels = [0, 2, 1], [3, 2, 0], 1


def test_wrong_sizes():
    x = dygraph.to_variable(np.zeros((6, 1)), lod=[[0, 6]])
    row = dygraph.to_variable(np.zeros((2, 1)), lod=[[0, 2]])
    column = dygraph.to_variable(np.zeros((3, 1)), lod=[[0, 3]])
    assert F.sequence_topk_avg_pooling(x, row, column, topks=[1]).shape == (2, 1)
    with pytest.raises(ValueError, match="topks must be a list of numbers that do not fall"):
        F.sequence_topk_avg_pooling(x, row, column, topks=[3, 1])
    with pytest.raises(ValueError, match=r"channel_num \* rows \* columns numbers, 2 \* 2 \* 3"):
        F.sequence_topk_avg_pooling(x, row, column, topks=[1], channel_num=2)
    with pytest.raises(ValueError, match="ROW must have a level of detail"):
        F.sequence_topk_avg_pooling(x, dygraph.to_variable(np.zeros((2, 1))), column, topks=[1])
