"""fsp and conv_shift, which are linear in X and in Y."""

import numpy as np
import pytest

import dygraph
from dygraph import ops
from op_test import OpTest, rand


class TestFsp(OpTest):
    op_type = "fsp"

    def setUp(self):
        self.inputs = {"X": rand(2, 3, 4, 5), "Y": rand(2, 2, 4, 5)}

    def reference(self, inputs, attrs):
        x, y = inputs["X"], inputs["Y"]
        with np.errstate(invalid="ignore"):
            return {"Out": np.einsum("nchw,ndhw->ncd", x, y) / (x.shape[2] * x.shape[3])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Y"], "Out")


class TestConvShift(OpTest):
    op_type = "conv_shift"

    def setUp(self):
        self.inputs = {"X": rand(4, 7), "Y": rand(4, 5)}

    def reference(self, inputs, attrs):
        x, y = inputs["X"], inputs["Y"]
        half = (y.shape[1] - 1) // 2
        shifted = [np.roll(x, half - j, 1) * y[:, j : j + 1] for j in range(y.shape[1])]
        return {"Out": np.sum(shifted, 0)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Y"], "Out")


class TestConvShiftOfOneSize(TestConvShift):
    def setUp(self):
        self.inputs = {"X": rand(2, 3), "Y": rand(2, 3)}


def test_what_does_not_fit_is_refused():
    x, y = dygraph.ones([2, 3]), dygraph.ones([2, 5])
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="at most as many columns"):
        ops.conv_shift(x, y)
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="odd number of columns"):
        ops.conv_shift(x, dygraph.ones([2, 2]))
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="equal but for C"):
        ops.fsp(dygraph.ones([1, 2, 3, 3]), dygraph.ones([1, 2, 3, 4]))
