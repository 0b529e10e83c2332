"""data_norm: columns normalised by the statistics of all data seen."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestDataNorm(OpTest):
    affine = False
    elementwise = False
    grad_inputs = ["X"]
    grad_outputs = ["Y"]

    def setUp(self):
        self.op_type = "data_norm"
        x, size, total = rand(5, 3), rand(3, low=3, high=9), rand(3)
        squares = rand(3, low=1, high=2)
        means, scales = total / size, np.sqrt(size / squares)
        y = (x - means) * scales
        self.inputs = {"X": x, "BatchSize": size, "BatchSum": total, "BatchSquareSum": squares}
        if self.affine:
            self.attrs = {"enable_scale_and_shift": True}
            self.inputs.update(scale_w=rand(3), bias=rand(3))
            y = y * self.inputs["scale_w"] + self.inputs["bias"]
        self.outputs = {"Y": y, "Means": means, "Scales": scales}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(self.grad_inputs, "Y")


class TestDataNormAffine(TestDataNorm):
    affine = True
    grad_inputs = ["X", "scale_w", "bias"]


def test_wrong_input():
    ones = _core.to_variable(np.ones(3, "float32"))
    slots = {k: ones for k in ("BatchSize", "BatchSum", "BatchSquareSum")}
    x = _core.to_variable(np.ones((2, 4), "float32"))
    with pytest.raises(ValueError, match="BatchSize must have one number for each of the 4"):
        _core.run_op("data_norm", {"X": x, **slots}, {})
    x = _core.to_variable(np.ones((2, 3), "float32"))
    with pytest.raises(ValueError, match="scale_w must be given with enable_scale_and_shift"):
        _core.run_op("data_norm", {"X": x, **slots}, {"enable_scale_and_shift": True})
    with pytest.raises(NotImplementedError, match="slot_dim must not be positive"):
        _core.run_op("data_norm", {"X": x, **slots}, {"slot_dim": 2})
