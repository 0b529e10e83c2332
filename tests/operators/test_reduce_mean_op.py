"""reduce_mean: the mean of X over axes."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestReduceMean(OpTest):
    def setUp(self):
        self.op_type = "reduce_mean"
        self.inputs = {"X": rand(3, 4)}
        self.attrs = {}

    def reference(self, inputs, attrs):
        axes = tuple(attrs.get("dim", [0])) or None
        if attrs.get("reduce_all", False):
            axes = None
        keep = attrs.get("keep_dim", False)
        return {"Out": np.asarray(np.mean(inputs["X"], axis=axes, keepdims=keep))}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestReduceMeanLastAxis(TestReduceMean):
    def setUp(self):
        self.op_type = "reduce_mean"
        self.inputs = {"X": rand(2, 3, 4)}
        self.attrs = {"dim": [-1]}


class TestReduceMeanOuterAxesKept(TestReduceMean):
    def setUp(self):
        self.op_type = "reduce_mean"
        self.inputs = {"X": rand(2, 3, 2, 2)}
        self.attrs = {"dim": [2, 0], "keep_dim": True}


class TestReduceMeanAll(TestReduceMean):
    def setUp(self):
        self.op_type = "reduce_mean"
        self.inputs = {"X": rand(2, 3)}
        self.attrs = {"reduce_all": True}


class TestReduceMeanEmptyList(TestReduceMean):
    """An empty list of axes means all."""

    def setUp(self):
        self.op_type = "reduce_mean"
        self.inputs = {"X": rand(2, 3)}
        self.attrs = {"dim": []}


def reduce(x, **attrs):
    return _core.ops.reduce_mean(_core.to_variable(np.asarray(x)), **attrs)


def test_the_axes_must_exist_and_differ():
    with pytest.raises(IndexError, match="dim"):
        reduce(np.ones((2, 3)), dim=[2])
    with pytest.raises(ValueError, match="twice"):
        reduce(np.ones((2, 3)), dim=[1, -1])


def test_integers_round_towards_zero():
    assert reduce(np.array([-3, -4])).numpy() == -3


def test_the_mean_of_nothing_is_nan():
    assert np.isnan(reduce(np.zeros(0)).numpy())
