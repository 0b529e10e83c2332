"""fused_softmax_mask: attention weights with a mask added before."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class TestFusedSoftmaxMask(OpTest):
    def setUp(self):
        self.op_type = "fused_softmax_mask"
        self.inputs = {"X": rand(2, 3, 3, 4), "Mask": rand(2, 1, 3, 4, low=-3, high=0)}

    def reference(self, inputs, attrs):
        return {"Out": softmax(inputs["X"] + inputs["Mask"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Mask"], "Out")


class TestOneMaskForAll(TestFusedSoftmaxMask):
    def setUp(self):
        self.op_type = "fused_softmax_mask"
        self.inputs = {"X": rand(2, 3), "Mask": np.array([[0.0, -9.0, 1.0]])}


def test_masked_places_get_nothing():
    x = _core.to_variable(np.zeros((1, 4)))
    mask = _core.to_variable(np.array([[0, -np.inf, 0, -np.inf]]))
    assert _core.ops.fused_softmax_mask(x, mask).numpy().tolist() == [[0.5, 0, 0.5, 0]]


@pytest.mark.parametrize("shape", [(3,), (2, 2), (2, 4)])
def test_mask_must_fit(shape):
    x, mask = _core.to_variable(np.zeros((2, 3))), _core.to_variable(np.zeros(shape))
    with pytest.raises(ValueError, match="Mask"):
        _core.ops.fused_softmax_mask(x, mask)
