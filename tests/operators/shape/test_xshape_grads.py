"""Gradients of reshapes and of transpose2 that read XShape, as programs of Fluid and Paddle do."""

import numpy as np
import pytest

import dygraph
from dygraph import _core
from op_test import OpTest, rand


class TestSqueeze2Grad(OpTest):
    case = "squeeze2_grad", {"axes": [1]}
    shape, out_shape = (2, 1, 3), (2, 3)

    def setUp(self):
        self.op_type, self.attrs = self.case
        self.inputs = {"XShape": np.zeros((0, *self.shape)), "Out@GRAD": rand(*self.out_shape)}

    def reference(self, inputs, attrs):
        return {"X@GRAD": inputs["Out@GRAD"].reshape(inputs["XShape"].shape[1:])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["Out@GRAD"], "X@GRAD")


class TestUnsqueeze2Grad(TestSqueeze2Grad):
    case, shape, out_shape = ("unsqueeze2_grad", {"axes": [1]}), (2, 3), (2, 1, 3)


class TestFlatten2Grad(TestSqueeze2Grad):
    case, shape, out_shape = ("flatten2_grad", {"axis": 1}), (2, 4, 3), (2, 12)


class TestFlattenContiguousRangeGrad(TestSqueeze2Grad):
    case = "flatten_contiguous_range_grad", {"start_axis": 1, "stop_axis": 2}
    shape, out_shape = (2, 4, 3), (2, 12)


class TestReshape2Grad(TestSqueeze2Grad):
    case, shape, out_shape = ("reshape2_grad", {}), (2, 6), (4, 3)


class TestTranspose2Grad(TestSqueeze2Grad):
    case, shape, out_shape = ("transpose2_grad", {"axis": [2, 0, -2]}), (2, 4, 3), (3, 2, 4)

    def reference(self, inputs, attrs):
        return {"X@GRAD": inputs["Out@GRAD"].transpose(1, 2, 0)}


def test_misuse():
    g = dygraph.to_variable(np.ones(6, "float32"))
    run = _core.run_op
    with pytest.raises(
        ValueError, match=r"Input\(X\) or Input\(XShape\) must be given, got neither"
    ):
        run("reshape2_grad", {"Out@GRAD": g}, {})
    scalar = dygraph.to_variable(np.float32(1))
    with pytest.raises(ValueError, match=r"XShape must have the shape \[0\] \+ X's, got \[\]"):
        run("squeeze2_grad", {"XShape": scalar, "Out@GRAD": g}, {})
    other = dygraph.to_variable(np.zeros((0, 5), "float32"))
    with pytest.raises(ValueError, match=r"must have the shape of Out, \[5, 1\], got \[6\]"):
        run("flatten2_grad", {"XShape": other, "Out@GRAD": g}, {})
