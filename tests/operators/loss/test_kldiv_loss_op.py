"""kldiv_loss: how far a distribution lies from a target."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestKldiv(OpTest):
    reduction = "mean"
    elementwise, grad_inputs = False, ["X"]

    def setUp(self):
        self.op_type = "kldiv_loss"
        target = rand(3, 2, 4, low=0.1, high=1)
        target[0, 1, 2] = target[2, 0, 0] = 0
        self.inputs = {"X": rand(3, 2, 4), "Target": target}
        self.attrs = {"reduction": self.reduction}

    def reference(self, inputs, attrs):
        x, t = inputs["X"], inputs["Target"]
        loss = np.where(t > 0, t * (np.log(np.where(t > 0, t, 1)) - x), 0)
        reductions = {
            "none": lambda: loss,
            "mean": lambda: loss.mean(),
            "sum": lambda: loss.sum(),
            "batchmean": lambda: loss.sum() / len(loss),
        }
        return {"Loss": reductions[attrs["reduction"]]()}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Loss")


class TestKldivNone(TestKldiv):
    reduction = "none"


class TestKldivSum(TestKldiv):
    reduction = "sum"


class TestKldivBatchMean(TestKldiv):
    reduction = "batchmean"


def test_wrong_inputs():
    x, y = (_core.to_variable(np.ones(s)) for s in ((2, 3), (3,)))
    with pytest.raises(ValueError, match=r"one shape, got \[2, 3\] and \[3\]"):
        _core.ops.kldiv_loss(x, y)
    with pytest.raises(ValueError, match="reduction"):
        _core.ops.kldiv_loss(x, x, reduction="max")
    with pytest.raises(ValueError, match="batch axis"):
        one = _core.to_variable(np.ones(()))
        _core.ops.kldiv_loss(one, one, reduction="batchmean")
