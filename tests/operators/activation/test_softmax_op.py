"""softmax: exp(X) / sum(exp(X)) along an axis."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


class TestSoftmax(OpTest):
    shape = (3, 5)
    attrs = {}
    elementwise = False

    def setUp(self):
        self.op_type = "softmax"
        self.inputs = {"X": rand(*self.shape, low=-3, high=3)}
        self.outputs = {"Out": softmax(self.inputs["X"], self.attrs.get("axis", -1))}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestSoftmaxWide(TestSoftmax):
    shape = (2, 77)


class TestSoftmaxMiddleAxis(TestSoftmax):
    shape = (2, 5, 3, 2)
    attrs = {"axis": 1}


class TestSoftmaxFirstAxis(TestSoftmax):
    shape = (7, 3)
    attrs = {"axis": 0}
    leave_out = {"lod_passes": "along axis 0 rows of different sequences mix"}


def run(array, **attrs):
    return _core.run_op("softmax", {"X": _core.to_variable(array)}, attrs)["Out"].numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape,axis", [((4, 6), 1), ((64, 300), 1), ((5, 9, 300), 1)])
def test_extreme_values(dtype, shape, axis):
    x = np.random.RandomState(0).uniform(-1, 1, shape).astype(dtype) * 300 + 1e4
    np.testing.assert_allclose(
        run(x, axis=axis), softmax(x.astype("float64"), axis), rtol=1e-5, atol=1e-7
    )


def test_infinities_and_nan():
    x = np.array([[0.0, -np.inf, 1.0], [np.nan, 0.0, 1.0], [np.inf, 0.0, 0.0]], "float32")
    y = run(x)
    np.testing.assert_allclose(y[0], softmax(np.array([0.0, -1e9, 1.0])), rtol=1e-6)
    assert np.isnan(y[1]).all()
    assert np.isnan(y[2]).any()


def test_axis_out_of_range():
    with pytest.raises(IndexError, match="softmax: .*axis.*2"):
        run(np.ones((2, 3), "float32"), axis=2)


@pytest.mark.parametrize("op_type", ["softmax", "log_softmax", "logsumexp"])
def test_the_third_derivative_is_right(op_type):
    rng = np.random.RandomState(3)
    start, direction = rng.uniform(-1, 1, (2, 4)), rng.uniform(-1, 1, (2, 4))
    weights = rng.uniform(-1, 1, (4,) if op_type == "logsumexp" else (2, 4))

    def derivative(at, order):
        """Of sum(weights * f) along the direction."""
        x = _core.to_variable(at)
        x.stop_gradient = False
        y = getattr(_core.ops, op_type)(x) * _core.to_variable(weights)
        y = _core.ops.reduce_sum(y, reduce_all=True)
        for _ in range(order):
            (g,) = _core.grad([y], [x], [None], True, True, False)
            y = _core.ops.reduce_sum(g * _core.to_variable(direction), reduce_all=True)
        return y.numpy().item()

    h = 1e-4
    slope = (derivative(start + h * direction, 2) - derivative(start - h * direction, 2)) / (2 * h)
    np.testing.assert_allclose(derivative(start, 3), slope, rtol=1e-6)
