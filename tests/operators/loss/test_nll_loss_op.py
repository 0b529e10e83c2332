"""nll_loss: minus the logarithm of the label's probability, weighted by class."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestNll(OpTest):
    shape, reduction, weighted, ignored = (5, 4), "mean", False, -100
    elementwise, grad_inputs, grad_outputs = False, ["X"], ["Out"]

    def setUp(self):
        self.op_type = "nll_loss"
        label_shape = (self.shape[0], *self.shape[2:])
        label = np.random.randint(0, self.shape[1], label_shape).astype("int64")
        label.reshape(-1)[1] = self.ignored if self.ignored != -100 else 0
        self.inputs = {"X": rand(*self.shape, low=-3, high=0), "Label": label}
        if self.weighted:
            self.inputs["Weight"] = rand(self.shape[1], low=0.5, high=2)
        self.attrs = {"reduction": self.reduction, "ignore_index": self.ignored}

    def reference(self, inputs, attrs):
        x, label = inputs["X"], inputs["Label"]
        kept = label != attrs["ignore_index"]
        picked = np.where(kept, label, 0)
        w = inputs.get("Weight", np.ones(x.shape[1], x.dtype))[picked] * kept
        loss = -w * np.take_along_axis(x, picked[:, None], axis=1)[:, 0]
        mean = loss.sum() / w.sum() if w.sum() else 0.0
        out = {"none": loss, "sum": loss.sum(), "mean": mean}[attrs["reduction"]]
        return {"Out": out, "Total_weight": w.sum()}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestNllNone(TestNll):
    reduction = "none"


class TestNllSumWeighted(TestNll):
    reduction, weighted = "sum", True


class TestNllMeanWeightedIgnored(TestNll):
    weighted, ignored = True, 2


class TestNllImage(TestNll):
    shape, weighted, ignored = (2, 3, 2, 4), True, -1


class TestNllImageNone(TestNllImage):
    reduction = "none"


def run(x, label, **attrs):
    return _core.ops.nll_loss(_core.to_variable(x), _core.to_variable(label), **attrs)


def test_wrong_labels():
    x = np.zeros((2, 3))
    with pytest.raises(IndexError, match=r"class in \[0, 3\).*got 3 at position 1"):
        run(x, np.array([0, 3]))
    with pytest.raises(ValueError, match=r"Label must have the shape \[2\].*got \[2, 1\]"):
        run(x, np.array([[0], [1]]))
    with pytest.raises(TypeError, match=r"int64 or int32 class numbers, got float64.*astype"):
        run(x, np.zeros(2))


def test_everything_ignored_costs_nothing():
    out, total = run(np.ones((2, 3)), np.array([-100, -100]))
    assert out.numpy() == 0 and total.numpy() == 0
