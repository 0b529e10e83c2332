"""bpr_loss: the label's score should be above all others."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestBpr(OpTest):
    label_shape = (4, 1)
    elementwise, grad_inputs = False, ["X"]

    def setUp(self):
        self.op_type = "bpr_loss"
        x = rand(4, 5, low=-2, high=2)
        label = np.random.randint(0, 5, self.label_shape).astype("int64")
        loss = np.zeros((4, 1))
        for i, p in enumerate(label.reshape(-1)):
            others = [np.log(1 / (1 + np.exp(-(x[i, p] - x[i, j])))) for j in range(5) if j != p]
            loss[i] = -np.mean(others)
        self.inputs, self.outputs = {"X": x, "Label": label}, {"Y": loss}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Y")


class TestBprWithoutAxis(TestBpr):
    label_shape = (4,)


def test_wrong_inputs():
    x = _core.to_variable(np.zeros((2, 3)))
    with pytest.raises(IndexError, match=r"class in \[0, 3\), got 3 at position 1"):
        _core.ops.bpr_loss(x, _core.to_variable(np.array([[0], [3]])))
    with pytest.raises(ValueError, match="at least 2 classes"):
        _core.ops.bpr_loss(
            _core.to_variable(np.zeros((2, 1))), _core.to_variable(np.array([[0], [0]]))
        )
