"""reduce_prod: the product of X over axes."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestReduceProd(OpTest):
    def setUp(self):
        self.op_type = "reduce_prod"
        self.inputs = {"X": rand(3, 4, low=0.5, high=2.0)}
        self.attrs = {}

    def reference(self, inputs, attrs):
        axes = tuple(attrs.get("dim", [0])) or None
        if attrs.get("reduce_all", False):
            axes = None
        keep = attrs.get("keep_dim", False)
        return {"Out": np.asarray(np.prod(inputs["X"], axis=axes, keepdims=keep))}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestReduceProdLastAxis(TestReduceProd):
    def setUp(self):
        self.op_type = "reduce_prod"
        self.inputs = {"X": rand(2, 3, 4, low=0.5, high=2.0)}
        self.attrs = {"dim": [-1]}


class TestReduceProdOuterAxesKept(TestReduceProd):
    def setUp(self):
        self.op_type = "reduce_prod"
        self.inputs = {"X": rand(2, 3, 2, 2, low=0.5, high=2.0)}
        self.attrs = {"dim": [2, 0], "keep_dim": True}


class TestReduceProdAll(TestReduceProd):
    def setUp(self):
        self.op_type = "reduce_prod"
        self.inputs = {"X": rand(2, 3, low=0.5, high=2.0)}
        self.attrs = {"reduce_all": True}


class TestReduceProdEmptyList(TestReduceProd):
    """An empty list of axes means all."""

    def setUp(self):
        self.op_type = "reduce_prod"
        self.inputs = {"X": rand(2, 3, low=0.5, high=2.0)}
        self.attrs = {"dim": []}


def reduce(x, **attrs):
    return _core.ops.reduce_prod(_core.to_variable(np.asarray(x)), **attrs)


def test_the_axes_must_exist_and_differ():
    with pytest.raises(IndexError, match="dim"):
        reduce(np.ones((2, 3)), dim=[2])
    with pytest.raises(ValueError, match="twice"):
        reduce(np.ones((2, 3)), dim=[1, -1])


def test_gradients_beside_zeros_are_exact():
    x = _core.to_variable(np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0], [1.0, 4.0, 2.0]]))
    x.stop_gradient = False
    _core.backward([_core.ops.reduce_sum(_core.ops.reduce_prod(x, dim=[1]))], [], False, False)
    others = [[0.0, 6.0, 0.0], [0.0, 0.0, 0.0], [8.0, 2.0, 4.0]]
    np.testing.assert_array_equal(x.grad.numpy(), others)


def test_the_product_of_nothing_is_one():
    np.testing.assert_array_equal(reduce(np.zeros((0, 2))).numpy(), [1.0, 1.0])
