"""smooth_l1_loss: squares near zero, absolute values further out, summed over rows."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, away_from, rand


class TestSmoothL1(OpTest):
    shape, sigma, weighted = (4, 5), 1.0, False
    elementwise, grad_inputs = False, ["X", "Y"]

    def setUp(self):
        self.op_type = "smooth_l1_loss"
        bend = 1 / self.sigma**2
        inside = rand(*self.shape, low=0.5, high=1) if self.weighted else np.ones(self.shape)
        d = away_from(bend, away_from(-bend, rand(*self.shape, low=-2, high=2)))
        y = rand(*self.shape)
        self.inputs = {"X": y + d / inside, "Y": y}
        if self.weighted:
            self.inputs["InsideWeight"] = inside
            self.inputs["OutsideWeight"] = rand(*self.shape, low=0.5, high=1)
        self.attrs = {"sigma": self.sigma}

    def reference(self, inputs, attrs):
        d, s2 = (inputs["X"] - inputs["Y"]) * inputs.get("InsideWeight", 1), attrs["sigma"] ** 2
        f = np.where(np.abs(d) < 1 / s2, s2 * d * d / 2, np.abs(d) - 0.5 / s2)
        f = f * inputs.get("OutsideWeight", 1)
        return {"Diff": d, "Out": f.reshape(len(d), -1).sum(axis=1, keepdims=True)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Y"], "Out")
        self.check_grad(["Y"], "Out")


class TestSmoothL1Sigma(TestSmoothL1):
    sigma = 2.0


class TestSmoothL1Weighted(TestSmoothL1):
    weighted, shape = True, (3, 2, 4)


def test_wrong_inputs():
    x, y = (_core.to_variable(np.zeros(s)) for s in ((2, 3), (2, 1)))
    with pytest.raises(ValueError, match=r"X and Y must have one shape, got \[2, 3\] and \[2, 1\]"):
        _core.ops.smooth_l1_loss(x, y)
    with pytest.raises(ValueError, match="given together or not at all"):
        _core.ops.smooth_l1_loss(x, x, inside_weight=x)
