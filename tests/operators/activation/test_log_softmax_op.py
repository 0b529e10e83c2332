"""log_softmax: the logarithm of softmax along an axis."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def log_softmax(x, axis):
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


class TestLogSoftmax(OpTest):
    def setUp(self):
        self.op_type = "log_softmax"
        self.inputs = {"X": rand(3, 5, low=-3.0, high=3.0)}

    def reference(self, inputs, attrs):
        x = inputs["X"]
        if x.size == 0 or x.ndim == 0:
            return {"Out": np.zeros_like(x)}
        return {"Out": log_softmax(x, attrs.get("axis", -1))}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestLogSoftmaxAxis(TestLogSoftmax):
    def setUp(self):
        self.op_type = "log_softmax"
        self.inputs = {"X": rand(2, 3, 4)}
        self.attrs = {"axis": 1}


class TestLogSoftmaxLongRow(TestLogSoftmax):
    def setUp(self):
        self.op_type = "log_softmax"
        self.inputs = {"X": rand(2, 67, dtype="float32")}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_large_numbers_neither_overflow_nor_vanish(dtype, axis):
    x = np.array([[1e4, 0.0, -1e4], [-1e4, 1e4, 0.0], [0.0, 0.0, 0.0]], dtype)
    got = _core.ops.log_softmax(_core.to_variable(x), axis=axis).numpy()
    np.testing.assert_allclose(got, log_softmax(x.astype("float64"), axis), rtol=1e-6)


def test_minus_infinity_is_probability_zero():
    x = _core.to_variable(np.array([[0.0, -np.inf, 0.0]]))
    x.stop_gradient = False
    y = _core.ops.log_softmax(x)
    np.testing.assert_allclose(y.numpy(), [[-np.log(2), -np.inf, -np.log(2)]])
    y.backward(np.array([[1.0, 0.0, 0.0]]))
    np.testing.assert_allclose(x.gradient(), [[0.5, 0.0, -0.5]])
