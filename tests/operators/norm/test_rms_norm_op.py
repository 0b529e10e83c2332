"""rms_norm with and without what is added before."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand

EPSILON = 1e-6


def rms_norm(x, weight, shift=0.0):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * weight + shift


class TestRmsNorm(OpTest):
    shape = (4, 6)
    extra = ()
    elementwise = False

    def setUp(self):
        self.op_type = "rms_norm"
        begin = self.attrs.get("begin_norm_axis", 1)
        n = int(np.prod(self.shape[begin:]))
        x, weight = rand(*self.shape, low=-2, high=3), rand(n, low=0.5, high=2)
        shapes = {"bias": (n,), "residual": self.shape, "norm_bias": (n,)}
        given = {name: rand(*shapes[name]) for name in self.extra}
        self.inputs = {"x": x, "norm_weight": weight, **given}
        total = x + given.get("bias", 0.0) + given.get("residual", 0.0)
        out = rms_norm(total.reshape(-1, n), weight, given.get("norm_bias", 0.0))
        self.outputs = {"out": out.reshape(x.shape)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(list(self.inputs), "out")


class TestRmsNormShift(TestRmsNorm):
    extra = ("norm_bias",)
    shape = (2, 3, 5)
    attrs = {"begin_norm_axis": 1}


class TestRmsNormAdded(TestRmsNorm):
    extra = ("bias", "residual", "norm_bias")
    shape = (2, 3, 5)
    attrs = {"begin_norm_axis": 2}


class TestRmsNormResidualOut(TestRmsNorm):
    extra = ("residual",)

    def setUp(self):
        super().setUp()
        self.outputs["residual_out"] = self.inputs["x"] + self.inputs["residual"]


class TestRmsNormLastAxis(TestRmsNorm):
    shape = (2, 2, 5)
    attrs = {"begin_norm_axis": -1}


def test_wrong_shapes():
    def run(x, weight, **attrs):
        slots = {"x": _core.to_variable(x), "norm_weight": _core.to_variable(weight)}
        return _core.run_op("rms_norm", slots, attrs)

    x = np.ones((2, 3), "float32")
    with pytest.raises(ValueError, match="norm_weight must hold the 3 numbers of a row"):
        run(x, np.ones(2, "float32"))
    with pytest.raises(ValueError, match="begin_norm_axis must be an axis of x, got 2"):
        run(x, np.ones(3, "float32"), begin_norm_axis=2)
    with pytest.raises(NotImplementedError, match="quant_scale must not be positive"):
        run(x, np.ones(3, "float32"), quant_scale=1.0)
