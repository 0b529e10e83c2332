"""reduce_sum: the sum of X over axes."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestReduceSum(OpTest):
    def setUp(self):
        self.op_type = "reduce_sum"
        self.inputs = {"X": rand(3, 4)}
        self.attrs = {}

    def reference(self, inputs, attrs):
        axes = tuple(attrs.get("dim", [0])) or None
        if attrs.get("reduce_all", False):
            axes = None
        keep = attrs.get("keep_dim", False)
        return {"Out": np.asarray(np.sum(inputs["X"], axis=axes, keepdims=keep))}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestReduceSumLastAxis(TestReduceSum):
    def setUp(self):
        self.op_type = "reduce_sum"
        self.inputs = {"X": rand(2, 3, 4)}
        self.attrs = {"dim": [-1]}


class TestReduceSumOuterAxesKept(TestReduceSum):
    def setUp(self):
        self.op_type = "reduce_sum"
        self.inputs = {"X": rand(2, 3, 2, 2)}
        self.attrs = {"dim": [2, 0], "keep_dim": True}


class TestReduceSumAll(TestReduceSum):
    def setUp(self):
        self.op_type = "reduce_sum"
        self.inputs = {"X": rand(2, 3)}
        self.attrs = {"reduce_all": True}


class TestReduceSumEmptyList(TestReduceSum):
    """An empty list of axes means all."""

    def setUp(self):
        self.op_type = "reduce_sum"
        self.inputs = {"X": rand(2, 3)}
        self.attrs = {"dim": []}


def reduce(x, **attrs):
    return _core.ops.reduce_sum(_core.to_variable(np.asarray(x)), **attrs)


def test_the_axes_must_exist_and_differ():
    with pytest.raises(IndexError, match="dim"):
        reduce(np.ones((2, 3)), dim=[2])
    with pytest.raises(ValueError, match="twice"):
        reduce(np.ones((2, 3)), dim=[1, -1])


def test_types():
    assert reduce(np.array([True, True, False])).numpy() == 2
    assert reduce(np.array([True])).dtype == np.dtype("int64")
    assert reduce(np.array([100, 100], "int8"), out_dtype="int32").numpy() == 200
    assert reduce(np.full(3, 0.1, "float32"), out_dtype="float64").dtype == np.dtype("float64")


def test_a_gradient_comes_back_in_the_type_of_x():
    x = _core.to_variable(np.ones((2, 2), "float32"))
    x.stop_gradient = False
    total = _core.ops.reduce_sum(x, reduce_all=True, out_dtype="float64")
    _core.backward([total], [], False, False)
    assert x.grad.numpy().dtype == np.dtype("float32")
    np.testing.assert_array_equal(x.grad.numpy(), np.ones((2, 2)))


def test_nothing_sums_to_zero():
    np.testing.assert_array_equal(reduce(np.zeros((0, 2))).numpy(), [0.0, 0.0])
