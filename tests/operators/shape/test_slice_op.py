"""slice: NumPy's slices with step 1."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestSlice(OpTest):
    shape, axes, starts, ends, gone = (5, 6, 4), [0, 2], [1, -3], [3, 100], []
    elementwise = False

    def setUp(self):
        self.op_type = "slice"
        self.inputs = {"Input": rand(*self.shape)}
        self.attrs = {
            "axes": self.axes,
            "starts": self.starts,
            "ends": self.ends,
            "decrease_axis": self.gone,
        }

    def reference(self, inputs, attrs):
        x = inputs["Input"]
        index = [slice(None)] * x.ndim
        for a, s, e in zip(self.axes, self.starts, self.ends, strict=True):
            index[a] = s if a in attrs["decrease_axis"] else slice(s, e)
        return {"Out": x[tuple(index)]}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["Input"], "Out")


class TestSliceRows(TestSlice):
    axes, starts, ends = [0], [-4], [-1]
    leave_out = {"leaves_inputs_alone": "whole rows share the storage of Input"}


class TestSliceOneElement(TestSlice):
    shape, axes, starts, ends, gone = (3,), [0], [2], [3], [0]
    leave_out = {"leaves_inputs_alone": "whole rows share the storage of Input"}


class TestSliceColumn(TestSlice):
    axes, starts, ends, gone = [1, 2], [2, -1], [3, 4], [1, 2]


class TestSliceNothing(TestSlice):
    axes, starts, ends = [1], [4], [2]


class TestSliceImage(TestSlice):
    shape, axes, starts, ends = (2, 3, 4, 5), [1, 3], [1, 1], [3, 4]


class TestSliceTensors(TestSlice):
    def setUp(self):
        super().setUp()
        self.inputs["StartsTensor"] = np.array(self.starts, "int32")
        self.inputs["EndsTensorList"] = [
            (f"end{i}", np.array([e])) for i, e in enumerate(self.ends)
        ]
        self.attrs = {"axes": self.axes, "starts": [0, 0], "ends": [1, 1], "decrease_axis": []}


def test_clamps_as_numpy():
    for n in (0, 1, 3):
        a = np.arange(float(n))
        x = _core.to_variable(a)
        for start in range(-n - 2, n + 3):
            for end in range(-n - 2, n + 3):
                out = _core.ops.slice(x, axes=[0], starts=[start], ends=[end])
                np.testing.assert_array_equal(out.numpy(), a[start:end])


def test_errors():
    x = _core.to_variable(np.zeros((3, 2)))
    with pytest.raises(IndexError, match="an index must lie within its axis, got 3"):
        _core.ops.slice(x, axes=[0], starts=[3], ends=[4], decrease_axis=[0])
    with pytest.raises(ValueError, match="one element"):
        _core.ops.slice(x, axes=[0], starts=[0], ends=[2], decrease_axis=[0])
    with pytest.raises(ValueError, match="equally long"):
        _core.ops.slice(x, axes=[0], starts=[0, 1], ends=[2])
    with pytest.raises(ValueError, match="repeat"):
        _core.ops.slice(x, axes=[0, -2], starts=[0, 1], ends=[2, 2])
