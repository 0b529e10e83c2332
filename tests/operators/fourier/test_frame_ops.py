"""frame and overlap_add against NumPy."""

import numpy as np

from complex_case import ComplexCase, randc
from op_test import OpTest, rand


def framed(x, length, hop, axis):
    """[..., length, frames], or [frames, length, ...] for axis 0."""
    if axis == 0:
        return np.stack([x[i : i + length] for i in range(0, x.shape[0] - length + 1, hop)])
    starts = range(0, x.shape[-1] - length + 1, hop)
    return np.stack([x[..., i : i + length] for i in starts], -1)


def added(x, hop, axis):
    frames = x if axis == 0 else np.moveaxis(x, (-1, -2), (0, 1))
    out = np.zeros(((frames.shape[0] - 1) * hop + frames.shape[1], *frames.shape[2:]), x.dtype)
    for i, frame in enumerate(frames):
        out[i * hop : i * hop + len(frame)] += frame
    return out if axis == 0 else np.moveaxis(out, 0, -1)


class Frame:
    def reference(self, inputs, attrs):
        x = inputs["X"]
        return {"Out": framed(x, attrs["frame_length"], attrs["hop_length"], attrs["axis"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestFrame(Frame, OpTest):
    def setUp(self):
        self.op_type = "frame"
        self.inputs = {"X": rand(2, 11)}
        self.attrs = {"frame_length": 4, "hop_length": 3, "axis": -1}


class TestFrameFirstAxis(Frame, OpTest):
    rows_move = True

    def setUp(self):
        self.op_type = "frame"
        self.inputs = {"X": rand(9, 2, 2)}
        self.attrs = {"frame_length": 4, "hop_length": 1, "axis": 0}


class TestFrameOneAxisApart(Frame, OpTest):
    rows_move = True

    def setUp(self):
        self.op_type = "frame"
        self.inputs = {"X": rand(12)}
        self.attrs = {"frame_length": 2, "hop_length": 5, "axis": -1}


class TestFrameComplex(ComplexCase, Frame, OpTest):
    def setUp(self):
        self.op_type = "frame"
        self.inputs = {"X": randc(2, 6)}
        self.attrs = {"frame_length": 3, "hop_length": 2, "axis": -1}

    def test_check_grad(self):
        self.check_grads()


class OverlapAdd:
    def reference(self, inputs, attrs):
        return {"Out": added(inputs["X"], attrs["hop_length"], attrs["axis"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestOverlapAdd(OverlapAdd, OpTest):
    def setUp(self):
        self.op_type = "overlap_add"
        self.inputs = {"X": rand(2, 4, 3)}
        self.attrs = {"hop_length": 3, "axis": -1}


class TestOverlapAddFirstAxis(OverlapAdd, OpTest):
    rows_move = True

    def setUp(self):
        self.op_type = "overlap_add"
        self.inputs = {"X": rand(3, 4, 2, 2)}
        self.attrs = {"hop_length": 1, "axis": 0}


class TestOverlapAddApart(OverlapAdd, OpTest):
    rows_move = True

    def setUp(self):
        self.op_type = "overlap_add"
        self.inputs = {"X": rand(2, 3)}
        self.attrs = {"hop_length": 4, "axis": -1}


class TestOverlapAddComplex(ComplexCase, OverlapAdd, OpTest):
    def setUp(self):
        self.op_type = "overlap_add"
        self.inputs = {"X": randc(2, 3, 2)}
        self.attrs = {"hop_length": 2, "axis": -1}

    def test_check_grad(self):
        self.check_grads()
