"""accuracy: how many labels stand among the first k."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest


class TestAccuracy(OpTest):
    label_shape, index_dtype = (4, 1), "int64"
    fixed_dtypes = {"Accuracy": "float32", "Correct": "int32", "Total": "int32"}
    leave_out = {"empty": "no rows give NaN, checked below"}

    def setUp(self):
        self.op_type = "accuracy"
        indices = np.array([[0, 2], [1, 0], [2, 1], [0, 1]], self.index_dtype)
        self.inputs = {
            "Out": np.random.rand(4, 2).astype("float32"),
            "Indices": indices,
            "Label": np.array([2, 1, 0, 0]).reshape(self.label_shape),
        }
        self.outputs = {
            "Accuracy": np.float32(0.75),
            "Correct": np.int32(3),
            "Total": np.int32(4),
        }

    def test_check_output(self):
        self.check_output()


class TestAccuracyFlatLabel(TestAccuracy):
    label_shape, index_dtype = (4,), "int32"


def call(rows, label):
    out = _core.to_variable(np.zeros((rows, 2), "float32"))
    indices = _core.to_variable(np.zeros((rows, 2), "int64"))
    return _core.ops.accuracy(out, indices, _core.to_variable(label))


def test_no_rows_and_errors():
    accuracy, correct, total = call(0, np.zeros((0, 1), "int64"))
    assert np.isnan(accuracy.numpy()) and correct.numpy() == 0 and total.numpy() == 0
    with pytest.raises(ValueError, match="as many rows"):
        call(3, np.zeros((2, 1), "int64"))
    with pytest.raises(ValueError, match=r"\[N, 1\] or \[N\]"):
        call(3, np.zeros((3, 2), "int64"))
    with pytest.raises(TypeError, match="Label must be of int32 or int64"):
        call(3, np.zeros(3))
