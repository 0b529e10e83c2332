"""label_smooth: a share of every distribution goes to a prior."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestLabelSmooth(OpTest):
    elementwise, grad_inputs, prior = False, ["X"], None

    def setUp(self):
        self.op_type = "label_smooth"
        self.inputs = {"X": rand(4, 5, low=0, high=1)}
        if self.prior:
            self.inputs["PriorDist"] = rand(*self.prior, low=0, high=1)
        self.attrs = {"epsilon": 0.25}

    def reference(self, inputs, attrs):
        x, e = inputs["X"], attrs["epsilon"]
        return {"Out": (1 - e) * x + e * inputs.get("PriorDist", 1 / x.shape[-1])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestLabelSmoothPrior(TestLabelSmooth):
    prior = (1, 5)


class TestLabelSmoothPriorRow(TestLabelSmooth):
    prior = (5,)


def test_wrong_inputs():
    x = _core.to_variable(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"PriorDist must have shape .* got \[2, 3\]"):
        _core.ops.label_smooth(x, prior_dist=x)
    with pytest.raises(ValueError, match="epsilon"):
        _core.ops.label_smooth(x, epsilon=1.5)
