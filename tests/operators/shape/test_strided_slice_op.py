"""strided_slice: NumPy's slices."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestStridedSlice(OpTest):
    shape, axes, starts, ends, strides = (5, 6, 7), [0, 2], [1, 6], [5, 0], [2, -3]
    elementwise = False

    def setUp(self):
        self.op_type = "strided_slice"
        self.inputs = {"Input": rand(*self.shape)}
        self.attrs = {
            "axes": self.axes,
            "starts": self.starts,
            "ends": self.ends,
            "strides": self.strides,
        }

    def reference(self, inputs, attrs):
        x = inputs["Input"]
        index = [slice(None)] * x.ndim
        for a, s, e, d in zip(self.axes, self.starts, self.ends, self.strides, strict=True):
            index[a] = slice(s, e, d)
        return {"Out": x[tuple(index)]}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["Input"], "Out")


class TestStridedSliceReversed(TestStridedSlice):
    axes, starts, ends, strides = [1], [-1], [-100], [-1]


class TestStridedSliceImage(TestStridedSlice):
    shape, axes, starts, ends, strides = (2, 3, 4, 5), [1, 2], [2, 0], [0, 4], [-1, 2]


class TestStridedSliceTensors(TestStridedSlice):
    def setUp(self):
        super().setUp()
        self.inputs["StridesTensor"] = np.array(self.strides)
        self.inputs["StartsTensorList"] = [
            (f"s{i}", np.array([s], "int32")) for i, s in enumerate(self.starts)
        ]
        self.attrs.update(starts=[0, 0], strides=[1, 1])


@pytest.mark.parametrize("step", [-5, -2, -1, 1, 2, 5])
def test_clamps_as_numpy(step):
    for n in (0, 1, 4):
        a = np.arange(float(n))
        x = _core.to_variable(a)
        for start in range(-n - 2, n + 3):
            for end in range(-n - 2, n + 3):
                out = _core.ops.strided_slice(
                    x, axes=[0], starts=[start], ends=[end], strides=[step]
                )
                np.testing.assert_array_equal(out.numpy(), a[start:end:step])


def test_index_takes_the_axis_away():
    a = np.arange(6.0).reshape(2, 3)
    out = _core.ops.strided_slice(
        _core.to_variable(a), axes=[1], starts=[-1], ends=[3], strides=[1], decrease_axis=[1]
    )
    np.testing.assert_array_equal(out.numpy(), a[:, -1])


def test_stride_zero():
    x = _core.to_variable(np.zeros(3))
    with pytest.raises(ValueError, match="must not be 0"):
        _core.ops.strided_slice(x, axes=[0], starts=[0], ends=[1], strides=[0])
