"""lrn: each value over a power of the squares in the channels around it."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestLrn(OpTest):
    shape = (2, 6, 3, 2)
    attrs = {"n": 3, "k": 1.0, "alpha": 0.5, "beta": 0.75}
    elementwise = False

    def setUp(self):
        self.op_type = "lrn"
        self.inputs = {"X": rand(*self.shape)}

    def reference(self, inputs, attrs):
        x = inputs["X"]
        last = attrs.get("data_format") == "NHWC"
        x = np.moveaxis(x, -1, 1) if last else x
        half = attrs.get("n", 5) // 2
        k, alpha = attrs.get("k", 2.0), attrs.get("alpha", 1e-4)
        mid = np.full_like(x, k)
        for c in range(x.shape[1]):
            around = x[:, max(c - half, 0) : c + half + 1]
            mid[:, c] += alpha * (around**2).sum(1)
        out = x / mid ** attrs.get("beta", 0.75)
        turn = (lambda a: np.moveaxis(a, 1, -1)) if last else (lambda a: a)
        return {"Out": turn(out), "MidOut": turn(mid)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestLrnDefaults(TestLrn):
    attrs = {}


class TestLrnChannelsLast(TestLrn):
    shape = (2, 3, 2, 6)
    attrs = {"n": 5, "k": 1.0, "alpha": 0.25, "beta": 0.5, "data_format": "NHWC"}


def test_wrong_input():
    x = _core.to_variable(np.ones((1, 2, 3, 3), "float32"))
    with pytest.raises(ValueError, match="must be odd, got 4"):
        _core.run_op("lrn", {"X": x}, {"n": 4})
    with pytest.raises(ValueError, match="X must have 4 axes"):
        _core.run_op("lrn", {"X": _core.to_variable(np.ones((2, 3), "float32"))}, {})
