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


class TestDataNormSlots(TestDataNorm):
    """Slots of two columns; where the first, a count, is 0, the slot was never shown."""

    attrs = {"slot_dim": 2}
    leave_out = {
        "gradient": "numeric differences fill an empty slot; test_check_grad works it out",
        "second_order": "likewise",
        "third_order": "likewise",
    }

    def setUp(self):
        self.op_type = "data_norm"
        x, size, total = rand(4, 6, low=0.5, high=3), rand(6, low=3, high=9), rand(6)
        squares = rand(6, low=1, high=2)
        x[0, 0] = x[1, 4] = x[3, 2] = x[3, 4] = 0
        means, scales = total / size, np.sqrt(size / squares)
        y = (x - means) * scales
        shown = np.ones((4, 3))
        shown[0, 0] = shown[1, 2] = shown[3, 1] = shown[3, 2] = 0
        self.mask = shown.repeat(2, axis=1)
        self.scales = scales
        self.inputs = {"X": x, "BatchSize": size, "BatchSum": total, "BatchSquareSum": squares}
        self.outputs = {"Y": y * self.mask, "Means": means, "Scales": scales}

    def test_check_grad(self):
        given = {name: _core.to_variable(v) for name, v in self.inputs.items()}
        given["X"].stop_gradient = False
        y = _core.run_op("data_norm", given, self.attrs)["Y"]
        seed = _core.to_variable(rand(4, 6))
        seed.stop_gradient = False
        (first,) = _core.grad([y], [given["X"]], [seed], True, True, False)
        expected = seed.numpy() * self.scales * self.mask
        np.testing.assert_allclose(first.numpy(), expected, rtol=1e-12)
        (second,) = _core.grad([first], [seed], [], False, False, False)
        np.testing.assert_allclose(second.numpy(), self.scales * self.mask, rtol=1e-12)


def test_wrong_input():
    ones = _core.to_variable(np.ones(3, "float32"))
    slots = {k: ones for k in ("BatchSize", "BatchSum", "BatchSquareSum")}
    x = _core.to_variable(np.ones((2, 4), "float32"))
    with pytest.raises(ValueError, match="BatchSize must have one number for each of the 4"):
        _core.run_op("data_norm", {"X": x, **slots}, {})
    x = _core.to_variable(np.ones((2, 3), "float32"))
    with pytest.raises(ValueError, match="scale_w must be given with enable_scale_and_shift"):
        _core.run_op("data_norm", {"X": x, **slots}, {"enable_scale_and_shift": True})
    with pytest.raises(ValueError, match="multiple of slot_dim, got 3 and 2"):
        _core.run_op("data_norm", {"X": x, **slots}, {"slot_dim": 2})
    both = {"slot_dim": 3, "enable_scale_and_shift": True}
    with pytest.raises(NotImplementedError, match="slot_dim must not be positive with enable"):
        _core.run_op("data_norm", {"X": x, **slots, "scale_w": ones, "bias": ones}, both)
