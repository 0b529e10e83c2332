"""maxout: the largest of neighbouring channels."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest


def distinct(*shape):
    return np.random.permutation(int(np.prod(shape))).reshape(shape) / 7.0


class TestMaxout(OpTest):
    def setUp(self):
        self.op_type = "maxout"
        self.inputs = {"X": distinct(2, 6, 2, 3)}
        self.attrs = {"groups": 2}

    def reference(self, inputs, attrs):
        x = np.moveaxis(inputs["X"], attrs.get("axis", 1), 1)
        x = x.reshape(x.shape[0], x.shape[1] // attrs["groups"], attrs["groups"], *x.shape[2:])
        return {"Out": np.moveaxis(x.max(axis=2), 1, attrs.get("axis", 1))}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestMaxoutLastAxis(TestMaxout):
    def setUp(self):
        self.op_type = "maxout"
        self.inputs = {"X": distinct(2, 2, 3, 6)}
        self.attrs = {"groups": 3, "axis": -1}

    def reference(self, inputs, attrs):
        x = inputs["X"]
        return {"Out": x.reshape(*x.shape[:-1], x.shape[-1] // 3, 3).max(axis=-1)}


def test_ties_go_to_the_first_and_a_nan_wins():
    x = _core.to_variable(np.array([[1.0, 1.0, 2.0, np.nan, np.nan, 3.0]]))
    x.stop_gradient = False
    y = _core.ops.maxout(x, groups=2)
    np.testing.assert_array_equal(y.numpy(), [[1, np.nan, np.nan]])
    y.backward(np.ones((1, 3)))
    assert x.gradient().tolist() == [[1, 0, 0, 1, 1, 0]]


def test_channels_must_divide():
    x = _core.to_variable(np.ones((1, 5, 1, 1)))
    with pytest.raises(ValueError, match=r"maxout: groups must divide the channels.*got 2"):
        _core.ops.maxout(x, groups=2)
