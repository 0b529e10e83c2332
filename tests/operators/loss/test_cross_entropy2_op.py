"""cross_entropy2: -log(X[Label])."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, randomize_probability


class TestCrossEntropy2(OpTest):
    ignored, label_shape = -100, (6, 1)
    elementwise, grad_inputs, grad_outputs = False, ["X"], ["Y"]

    def setUp(self):
        self.op_type = "cross_entropy2"
        x = randomize_probability(6, 5, "float64")
        label = np.random.randint(0, 5, self.label_shape).astype("int64")
        label.reshape(-1)[2] = self.ignored if self.ignored != -100 else 1
        flat = label.reshape(-1)
        kept = flat != self.ignored
        match = np.where(kept, x[np.arange(6), np.where(kept, flat, 0)], 1).reshape(6, 1)
        self.inputs, self.attrs = {"X": x, "Label": label}, {"ignore_index": self.ignored}
        self.outputs = {"Y": -np.log(match).reshape(self.label_shape), "MatchX": match}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Y")


class TestCrossEntropy2Ignored(TestCrossEntropy2):
    ignored = 3


class TestCrossEntropy2WithoutAxis(TestCrossEntropy2):
    label_shape = (6,)


def test_shape_is_told_without_elements():
    x, label = _core.to_variable(np.ones((2, 3))), _core.to_variable(np.array([[0], [2]]))
    assert _core.run_op("cross_entropy2", {"X": x, "Label": label}, {})["XShape"].shape == (0, 2, 3)


def test_label_out_of_range():
    x = _core.to_variable(np.full((2, 3), 1 / 3))
    with pytest.raises(IndexError, match=r"class in \[0, 3\).*got -1 at position 0"):
        _core.ops.cross_entropy2(x, _core.to_variable(np.array([[-1], [0]])))
