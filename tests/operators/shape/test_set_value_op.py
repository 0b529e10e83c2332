"""set_value: a copy with a slice overwritten."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestSetValue(OpTest):
    shape, value = (3, 4, 2), (2, 2)
    attrs = {"axes": [0, 1], "starts": [2, 0], "ends": [-4, 4], "steps": [-1, 2]}
    index = np.s_[::-1, ::2]
    elementwise = False
    leave_out = {"empty": "the value must fit the slice of an empty Input"}

    def setUp(self):
        self.op_type = "set_value"
        x, v = rand(*self.shape), rand(*self.value)
        self.inputs = {"Input": x, "ValueTensor": v}
        out = x.copy()
        out[self.index] = self.expanded(v)
        self.outputs = {"Out": out}

    def expanded(self, v):
        return v

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["Input", "ValueTensor"], "Out")


class TestSetValueRow(TestSetValue):
    value, index = (4, 2), np.s_[1]
    attrs = {"axes": [0], "starts": [1], "ends": [2], "steps": [1], "decrease_axes": [0]}


class TestSetValueScalar(TestSetValue):
    value, index = (), np.s_[:, 1:3]
    attrs = {"axes": [1], "starts": [1], "ends": [3], "steps": [1]}


class TestSetValueNothing(TestSetValue):
    value, index = (1, 2), np.s_[:0]
    attrs = {"axes": [0], "starts": [0], "ends": [0], "steps": [1]}


class TestSetValueNewAxis(TestSetValue):
    value, index = (3, 1, 2, 2), np.s_[:, 1:3]
    attrs = {"axes": [1], "starts": [1], "ends": [3], "steps": [1], "none_axes": [1]}

    def expanded(self, v):
        return v[:, 0]


class TestSetValueImage(TestSetValue):
    shape, value, index = (2, 3, 2, 2), (3, 1, 2), np.s_[1:]
    attrs = {"axes": [0], "starts": [1], "ends": [2], "steps": [1]}


class TestSetValueTensors(TestSetValue):
    def setUp(self):
        super().setUp()
        self.inputs["StartsTensorList"] = [("s0", np.array([2])), ("s1", np.array([0], "int32"))]
        self.attrs = {**self.attrs, "starts": [0, 1]}


def test_value_that_is_the_input():
    a = np.arange(4.0)
    x = _core.to_variable(a)
    out = _core.ops.set_value(x, x, axes=[0], starts=[3], ends=[-5], steps=[-1])
    np.testing.assert_array_equal(out.numpy(), a[::-1])


def test_errors():
    x = _core.to_variable(np.zeros((3, 4)))
    box = {"axes": [0], "starts": [0], "ends": [1]}
    with pytest.raises(
        ValueError, match=r"broadcast to the shape assigned to, \[1, 4\], got \[3\]"
    ):
        _core.ops.set_value(x, _core.to_variable(np.zeros(3)), **box)
    with pytest.raises(TypeError, match="element type of Input"):
        _core.ops.set_value(x, _core.to_variable(np.zeros(4, "float32")), **box)
