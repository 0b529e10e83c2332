"""center_loss: half the squared distance to the center of one's class."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestCenterLoss(OpTest):
    update = True
    elementwise, grad_inputs = False, ["X"]
    grad_outputs = ["SampleCenterDiff", "Loss"]

    def setUp(self):
        self.op_type = "center_loss"
        x, centers, rate = rand(6, 3), rand(4, 3), 0.5
        label = np.array([0, 2, 2, 3, 2, 0])
        diff = x - centers[label]
        moved = centers.copy()
        for c in range(4) if self.update else ():
            moved[c] += rate * diff[label == c].sum(axis=0) / (1 + (label == c).sum())
        self.inputs = {
            "X": x,
            "Label": label,
            "Centers": centers,
            "CenterUpdateRate": np.array([rate]),
        }
        self.attrs = {"cluster_num": 4, "need_update": self.update}
        loss = (diff**2).sum(axis=1, keepdims=True) / 2
        self.outputs = {"SampleCenterDiff": diff, "Loss": loss, "CentersOut": moved}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Loss")


class TestCenterLossFixed(TestCenterLoss):
    update = False


def test_label_out_of_range():
    x, rate = _core.to_variable(np.zeros((2, 3))), _core.to_variable(np.ones(1))
    with pytest.raises(IndexError, match=r"class in \[0, 2\), got 2 at position 0"):
        _core.ops.center_loss(x, _core.to_variable(np.array([2, 0])), x, rate)
    with pytest.raises(TypeError, match="int64 or int32 class numbers, got float64"):
        _core.ops.center_loss(x, _core.to_variable(np.zeros(2)), x, rate)
