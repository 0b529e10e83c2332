"""scale: Out = scale * X + bias, or scale * (X + bias)."""

import numpy as np

from dygraph import _core
from op_test import OpTest, rand


class TestScale(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "scale"
        self.inputs = {"X": rand(3, 4)}
        self.attrs = {"scale": -2.3, "bias": 0.7}

    def reference(self, inputs, attrs):
        scale, bias = attrs["scale"], attrs.get("bias", 0.0)
        x = inputs["X"]
        kind = np.asarray(x).dtype
        scale, bias = kind.type(scale), kind.type(bias)
        return {
            "Out": scale * x + bias if attrs.get("bias_after_scale", True) else scale * (x + bias)
        }

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestScaleBiasFirst(TestScale):
    def setUp(self):
        self.op_type = "scale"
        self.inputs = {"X": rand(2, 3, 2, 4)}
        self.attrs = {"scale": 1.5, "bias": -0.25, "bias_after_scale": False}


class TestScaleIntegers(TestScale):
    def setUp(self):
        self.op_type = "scale"
        self.inputs = {"X": np.arange(-6, 6, dtype="int64").reshape(3, 4)}
        self.attrs = {"scale": 3.0, "bias": 2.0}

    def test_check_grad(self):
        x = _core.to_variable(self.inputs["X"])
        with self.assertRaisesRegex(ValueError, "int64"):
            x.stop_gradient = False


def test_integers_stay_exact():
    x = _core.to_variable(np.array([2**53 + 1, -7]))
    np.testing.assert_array_equal(_core.ops.scale(x, scale=-1.0).numpy(), [-(2**53) - 1, 7])
    np.testing.assert_array_equal(_core.ops.scale(x, scale=0.5).numpy()[1], -3)


def test_the_factor_may_be_a_tensor():
    x = _core.to_variable(np.array([1.0, -2.0]))
    x.stop_gradient = False
    factor = _core.to_variable(np.array([3.0], "float32"))
    y = _core.ops.scale(x, scale_tensor=factor, bias=1.0, bias_after_scale=False)
    np.testing.assert_array_equal(y.numpy(), [6.0, -3.0])
    (gradient,) = _core.grad([_core.ops.reduce_sum(y)], [x], [], False, False, False)
    np.testing.assert_array_equal(gradient.numpy(), [3.0, 3.0])
