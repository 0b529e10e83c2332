import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestRowConv(OpTest):
    lod = [[0, 4, 4, 5, 7]]

    def setUp(self):
        self.op_type = "row_conv"
        x, filter = rand(7, 2), rand(3, 2)
        self.inputs = {"X": (x, self.lod), "Filter": filter}
        out = np.zeros_like(x)
        for a, b in zip(self.lod[-1][:-1], self.lod[-1][1:], strict=True):
            for t in range(a, b):
                for w in range(min(3, b - t)):
                    out[t] += x[t + w] * filter[w]
        self.outputs = {"Out": (out, self.lod)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Filter"], "Out")


class TestRowConvTwoLevels(TestRowConv):
    lod = [[0, 1, 2], [0, 2, 7]]


class TestRowConvPadded(OpTest):
    """A batch of equal lengths needs no LoD."""

    def setUp(self):
        self.op_type = "row_conv"
        x, filter = rand(2, 4, 3), rand(2, 3)
        self.inputs = {"X": x, "Filter": filter}
        out = x * filter[0]
        out[:, :-1] += x[:, 1:] * filter[1]
        self.outputs = {"Out": out}

    def test_check_output(self):
        self.check_output()


def test_what_does_not_fit():
    x = _core.to_variable(np.zeros((3, 2)), lod=[[0, 3]])
    for slots, message in (
        ({"X": x, "Filter": _core.to_variable(np.zeros((2, 3)))}, "Filter must have shape"),
        ({"X": _core.to_variable(np.zeros(3)), "Filter": x}, "rows, D"),
    ):
        with pytest.raises(ValueError, match=message):
            _core.run_op("row_conv", slots, {})
