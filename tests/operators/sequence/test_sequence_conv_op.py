import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def context(x, lod, length, start, padding):
    """The windows of every row, [rows, length * width]."""
    up = max(0, -start)
    out = np.zeros((len(x), length, x.shape[1]))
    for a, b in zip(lod[-1][:-1], lod[-1][1:], strict=True):
        for row in range(a, b):
            for k in range(length):
                at = row + start + k
                if a <= at < b:
                    out[row, k] = x[at]
                elif padding is not None:
                    out[row, k] = padding[up + (at - a if at < a else at - b)]
    return out.reshape(len(x), -1)


class TestSequenceContext(OpTest):
    op = "sequence_context"
    lod = [[0, 3, 3, 4, 8]]
    start = -1
    length = 3
    trainable = False

    def setUp(self):
        self.op_type = self.op
        x = rand(8, 2)
        self.inputs = {"X": (x, self.lod)}
        padding = None
        if self.trainable:
            down = max(0, self.start + self.length - 1)
            padding = self.inputs["PaddingData"] = rand(max(0, -self.start) + down, 2)
        self.attrs = {
            "paddingTrainable": self.trainable,
            "contextLength": self.length,
            "contextStart": self.start,
            "contextStride": 1,
        }
        out = context(x, self.lod, self.length, self.start, padding)
        if self.op == "sequence_conv":
            filter = self.inputs["Filter"] = rand(self.length * 2, 3)
            out = out @ filter
        self.outputs = {"Out": (out, self.lod)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad([n for n in self.inputs], "Out")


class TestSequenceContextPadding(TestSequenceContext):
    trainable = True


class TestSequenceConv(TestSequenceContext):
    op = "sequence_conv"


class TestSequenceConvPadding(TestSequenceConv):
    trainable = True
    start = -2
    length = 4


class TestSequenceConvAhead(TestSequenceConv):
    """A window that begins behind its row, and two levels."""

    lod = [[0, 1, 2], [0, 5, 8]]
    start = 1
    length = 2
    trainable = True


class TestSequenceConvFar(TestSequenceConv):
    """A window wholly before its row, further than the sequences are long."""

    start = -5
    length = 2
    trainable = True


def test_what_does_not_fit():
    x = _core.to_variable(np.zeros((3, 2)), lod=[[0, 3]])
    filter = _core.to_variable(np.zeros((6, 1)))
    attrs = {"contextLength": 3, "contextStart": -1}
    for slots, more, message in (
        ({"X": _core.to_variable(np.zeros((3, 2))), "Filter": filter}, {}, "level of detail"),
        ({"X": x, "Filter": filter}, {"contextLength": 2}, "Filter must have shape"),
        ({"X": x, "Filter": filter}, {"paddingTrainable": True}, "PaddingData must be given"),
        ({"X": x, "Filter": filter, "PaddingData": _core.to_variable(np.zeros((3, 2)))},
         {"paddingTrainable": True}, "PaddingData must have shape"),
        ({"X": x, "Filter": filter}, {"contextStride": 2}, "contextStride"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            _core.run_op("sequence_conv", slots, {**attrs, **more})
