"""batch_norm: training, running statistics, both orders, ranks 2 to 5."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestBatchNorm(OpTest):
    shape = (4, 3, 2, 3)
    attrs = {}
    elementwise = False
    grad_inputs = ["X", "Scale", "Bias"]
    grad_outputs = ["Y"]
    leave_out = {"empty": "the mean of nothing is an error, which test_wrong_input asserts"}

    def setUp(self):
        self.op_type = "batch_norm"
        x = rand(*self.shape, low=-2, high=3)
        last = self.attrs.get("data_layout") == "NHWC"
        axis = x.ndim - 1 if last else 1
        n = self.shape[axis]
        mean, variance = rand(n), rand(n, low=0.5, high=2)
        scale, bias = rand(n, low=0.5, high=2), rand(n)
        wide = [1] * x.ndim
        wide[axis] = n
        others = tuple(i for i in range(x.ndim) if i != axis)
        is_global = self.attrs.get("use_global_stats") or (
            self.attrs.get("is_test") and not self.attrs.get("trainable_statistics")
        )
        m, v = (mean, variance) if is_global else (x.mean(others), x.var(others))
        momentum = self.attrs.get("momentum", 0.9)
        share = 1.0 if is_global else momentum
        inverse = 1 / np.sqrt(v + self.attrs.get("epsilon", 1e-5))
        y = (x - m.reshape(wide)) * (inverse * scale).reshape(wide) + bias.reshape(wide)
        self.inputs = {"X": x, "Scale": scale, "Bias": bias, "Mean": mean, "Variance": variance}
        self.outputs = {
            "Y": y,
            "MeanOut": share * mean + (1 - share) * m,
            "VarianceOut": share * variance + (1 - share) * v,
            "SavedMean": m,
            "SavedVariance": inverse,
        }

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Scale", "Bias"], "Y")

    def test_check_grad_of_x(self):
        self.check_grad(["X"], "Y", no_grad_set={"Scale", "Bias"})


class TestMatrix(TestBatchNorm):
    shape = (7, 3)


class TestSequence(TestBatchNorm):
    shape = (4, 3, 5)
    attrs = {"momentum": 0.5, "epsilon": 1e-3}


class TestVolume(TestBatchNorm):
    shape = (2, 3, 2, 2, 3)


class TestChannelsLast(TestBatchNorm):
    shape = (4, 2, 3, 5)
    attrs = {"data_layout": "NHWC"}


class TestManyChannels(TestBatchNorm):
    shape = (3, 70, 2, 2)


class TestTest(TestBatchNorm):
    attrs = {"is_test": True}


class TestGlobal(TestBatchNorm):
    attrs = {"use_global_stats": True}


class TestTrainableStatistics(TestBatchNorm):
    attrs = {"is_test": True, "trainable_statistics": True}


def slots_of(x, n):
    ones = np.ones(n, x.dtype)
    arrays = {"X": x, "Scale": ones, "Bias": 0 * ones, "Mean": 0 * ones, "Variance": ones}
    return {k: _core.to_variable(v) for k, v in arrays.items()}


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("channels", [1, 6, 64, 100, 5000])
def test_large_float32(layout, channels):
    """Far from zero, so that a difference of squares would be noise."""
    shape = (16, channels, 20, 20) if channels < 1000 else (3, channels, 2, 2)
    x = (np.random.RandomState(1).randn(*shape) + 1000).astype("float32")
    slots = slots_of(x, channels)
    slots["X"] = _core.to_layout(slots["X"], layout)
    slots["X"].stop_gradient = False
    got = _core.run_op("batch_norm", slots, {})
    exact = x.astype("float64")
    mean, var = exact.mean((0, 2, 3), keepdims=True), exact.var((0, 2, 3), keepdims=True)
    normal = (exact - mean) / np.sqrt(var + 1e-5)
    assert _core.layout(got["Y"]) == layout
    np.testing.assert_allclose(got["Y"].numpy(), normal, atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(got["VarianceOut"].numpy(), 0.9 + 0.1 * var.ravel(), rtol=1e-5)
    g = np.random.RandomState(2).randn(*shape).astype("float32")
    dx = _core.grad([got["Y"]], [slots["X"]], [_core.to_variable(g)], False, False, True)[0]
    means = g.mean((0, 2, 3), keepdims=True), (g * normal).mean((0, 2, 3), keepdims=True)
    expected = (g - means[0] - normal * means[1]) / np.sqrt(var + 1e-5)
    np.testing.assert_allclose(dx.numpy(), expected, atol=1e-3)


def test_momentum_tensor():
    x = np.random.RandomState(0).rand(4, 2).astype("float32")
    slots = slots_of(x, 2)
    slots["MomentumTensor"] = _core.to_variable(np.array([0.25], "float32"))
    got = _core.run_op("batch_norm", slots, {"momentum": 0.9})
    np.testing.assert_allclose(got["MeanOut"].numpy(), 0.75 * x.mean(0), rtol=1e-5)


def test_wrong_input():
    with pytest.raises(ValueError, match="X must have 2 to 5 axes"):
        _core.run_op("batch_norm", slots_of(np.ones(3, "float32"), 3), {})
    with pytest.raises(ValueError, match="Scale must have one number for each of the 4 channels"):
        _core.run_op("batch_norm", slots_of(np.ones((2, 4), "float32"), 3), {})
    with pytest.raises(ValueError, match="must not be empty"):
        _core.run_op("batch_norm", slots_of(np.ones((0, 3), "float32"), 3), {})
