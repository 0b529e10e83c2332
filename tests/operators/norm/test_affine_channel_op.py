"""affine_channel: a scale and a shift for each channel."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestAffineChannel(OpTest):
    shape = (2, 3, 4, 5)
    attrs = {}
    elementwise = False

    def setUp(self):
        self.op_type = "affine_channel"
        last = self.attrs.get("data_layout") == "NHWC"
        n = self.shape[-1 if last else 1]
        x, scale, bias = rand(*self.shape), rand(n), rand(n)
        wide = (n,) if last else (n, *[1] * (x.ndim - 2))
        self.inputs = {"X": x, "Scale": scale, "Bias": bias}
        self.outputs = {"Out": x * scale.reshape(wide) + bias.reshape(wide)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Scale", "Bias"], "Out")


class TestAffineChannelLast(TestAffineChannel):
    attrs = {"data_layout": "NHWC"}


class TestAffineChannelMatrix(TestAffineChannel):
    shape = (4, 3)


def test_wrong_shapes():
    slots = {k: _core.to_variable(np.ones(3, "float32")) for k in ("Scale", "Bias")}
    with pytest.raises(ValueError, match="Scale must have one number for each of the 4 channels"):
        _core.run_op(
            "affine_channel", {"X": _core.to_variable(np.ones((2, 4), "float32")), **slots}, {}
        )
