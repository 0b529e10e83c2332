"""ctc_align: what paths spell."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest


class TestCtcAlign(OpTest):
    elementwise = False

    def setUp(self):
        self.op_type = "ctc_align"
        path = np.array([[0], [1], [1], [0], [1], [2], [2], [0], [0], [3]], "int32")
        self.inputs = {"Input": (path, [[7, 3]])}
        self.attrs = {"blank": 0}
        self.outputs = {"Output": (np.array([[1], [1], [2], [3]], "int32"), [[3, 1]])}

    def test_check_output(self):
        self.check_output()


class TestCtcAlignKeepsRepeated(TestCtcAlign):
    def setUp(self):
        super().setUp()
        self.attrs = {"blank": 0, "merge_repeated": False}
        out = np.array([[1], [1], [1], [2], [2], [3]], "int32")
        self.outputs = {"Output": (out, [[5, 1]])}


class TestCtcAlignPadded(OpTest):
    elementwise = False

    def setUp(self):
        self.op_type = "ctc_align"
        path = np.array([[0, 1, 1, 0, 1, 2], [2, 2, 3, 0, 0, 0]])
        self.inputs = {"Input": path, "InputLength": np.array([[6], [3]])}
        self.attrs = {"blank": 0, "padding_value": -1}
        out = np.array([[1, 1, 2, -1, -1, -1], [2, 3, -1, -1, -1, -1]])
        self.outputs = {"Output": out, "OutputLength": np.array([[3], [2]])}

    def test_check_output(self):
        self.check_output()


def test_nothing_left_is_one_minus_one():
    path = _core.to_variable(np.zeros((3, 1), "int64"), lod=[[0, 3]])
    assert _core.ops.ctc_align(path).numpy().tolist() == [[-1]]


def test_wrong_inputs():
    with pytest.raises(ValueError, match="level of detail"):
        _core.ops.ctc_align(_core.to_variable(np.zeros((3, 1), "int64")))
    with pytest.raises(TypeError, match="int32 or int64"):
        _core.ops.ctc_align(_core.to_variable(np.zeros((3, 1))))
