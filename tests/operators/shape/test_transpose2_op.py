"""transpose2: axes in another order."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestTranspose2(OpTest):
    shape, axis = (2, 3, 4), [2, 0, 1]
    elementwise = False

    def setUp(self):
        self.op_type = "transpose2"
        self.inputs = {"X": rand(*self.shape)}
        self.attrs = {"axis": self.axis}

    def reference(self, inputs, attrs):
        x = inputs["X"]
        return {"Out": x.transpose(attrs["axis"]), "XShape": np.zeros((0, *x.shape))}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestTranspose2Negative(TestTranspose2):
    axis = [-1, 0, -2]


class TestTranspose2Identity(TestTranspose2):
    axis = [0, 1, 2]


class TestTranspose2Image(TestTranspose2):
    shape, axis = (2, 3, 5, 4), [0, 2, 3, 1]


class TestTranspose2Scalar(TestTranspose2):
    shape, axis = (), []


class TestTranspose2Large(TestTranspose2):
    shape, axis = (3, 70, 130), [2, 1, 0]


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "int64", "float16"])
def test_types(dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    np.testing.assert_array_equal(
        _core.ops.transpose2(_core.to_variable(x), axis=[1, 0]).numpy(), x.T
    )


@pytest.mark.parametrize(
    ("axis", "error"), [([0, 0, 1], ValueError), ([0, 1], ValueError), ([0, 1, 3], IndexError)]
)
def test_wrong_axis(axis, error):
    with pytest.raises(error, match="transpose2: "):
        _core.ops.transpose2(_core.to_variable(np.zeros((2, 3, 4))), axis=axis)
