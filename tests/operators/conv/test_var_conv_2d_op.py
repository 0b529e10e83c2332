import numpy as np
import pytest

import dygraph
from dygraph import ops
from op_test import OpTest, rand

SIZES = [(2, 4), (0, 3), (3, 2)]
ROW, COLUMN = [[0, 2, 2, 5]], [[0, 4, 7, 9]]


class TestVarConv2d(OpTest):
    op_type = "var_conv_2d"
    attrs = {"InputChannel": 2, "OutputChannel": 3, "KernelH": 2, "KernelW": 3, "StrideW": 2}
    grad_inputs = ["X", "W"]

    def setUp(self):
        a = {"KernelH": 1, "KernelW": 1, "StrideH": 1, "StrideW": 1, **self.attrs}
        kernel, stride = (a["KernelH"], a["KernelW"]), (a["StrideH"], a["StrideW"])
        x, w = rand(2 * 14, 1), rand(3, 2 * kernel[0] * kernel[1])
        self.inputs = {
            "X": (x, [[0, 16, 16, 28]]), "ROW": (rand(5, 1), ROW), "COLUMN": (rand(9, 1), COLUMN),
            "W": w,
        }  # fmt: skip
        weight = w.reshape(3, 2, *kernel)
        out, offsets, at = [], [0], 0
        for height, width in SIZES:
            image = x[at : at + 2 * height * width, 0].reshape(2, height, width)
            at += 2 * height * width
            pads = [(k // 2, k) for k in kernel]
            padded = np.pad(image, ((0, 0), *pads))
            for channel in weight:
                for i in range(0, height if width else 0, stride[0]):
                    for j in range(0, width, stride[1]):
                        part = padded[:, i : i + kernel[0], j : j + kernel[1]]
                        out.append((part * channel).sum())
            offsets.append(len(out))
        self.outputs = {"Out": (np.array(out)[:, None], [offsets])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "W"], "Out")


class TestStrideOfRows(TestVarConv2d):
    attrs = {"InputChannel": 2, "OutputChannel": 3, "KernelH": 3, "KernelW": 2, "StrideH": 2}


def test_numbers_must_fit():
    rows = dygraph.to_variable(np.ones((2, 1)), lod=[[0, 2]])
    w = dygraph.ones([1, 1], "float64")
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="rows . columns numbers, 4"):
        ops.var_conv_2d(dygraph.ones([3, 1], "float64"), rows, rows, w)
