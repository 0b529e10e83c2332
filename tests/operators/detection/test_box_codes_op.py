"""Overlap of boxes, boxes relative to others, boxes cut off at borders."""

import numpy as np
import pytest

from detection_reference import area, boxes, decode, encode, overlap
from dygraph import _core, errors
from op_test import OpTest, rand


class TestIouSimilarity(OpTest):
    elementwise = False
    normalized, scale = True, 1.0

    def setUp(self):
        self.op_type = "iou_similarity"
        self.inputs = {"X": boxes(5, scale=self.scale), "Y": boxes(3, scale=self.scale)}
        self.attrs = {"box_normalized": self.normalized}

    def reference(self, inputs, attrs):
        unit = 0 if attrs["box_normalized"] else 1
        x, y = inputs["X"], inputs["Y"]
        found = [[self.overlap(a, b, unit) for b in y] for a in x]
        return {"Out": np.array(found).reshape(len(x), len(y))}

    def overlap(self, a, b, unit):
        """The union is 1e-10 larger."""
        found = overlap(a, b, unit)
        union = (area(a, unit) + area(b, unit)) / (1 + found)
        return found * union / (union + 1e-10)

    def test_check_output(self):
        self.check_output()


class TestIouSimilarityPixels(TestIouSimilarity):
    normalized, scale = False, 30.0


class TestBoxCoderEncode(OpTest):
    elementwise = False

    def setUp(self):
        self.op_type = "box_coder"
        prior, target = boxes(4), boxes(3)
        var = rand(4, 4, low=0.1, high=0.5)
        self.inputs = {"PriorBox": prior, "PriorBoxVar": var, "TargetBox": target}
        self.attrs = {"code_type": "encode_center_size"}

    def reference(self, inputs, attrs):
        return {"OutputBox": encode(*(inputs[k] for k in ("PriorBox", "PriorBoxVar", "TargetBox")))}

    def test_check_output(self):
        self.check_output()


class TestBoxCoderDecode(OpTest):
    elementwise = False
    normalized, axis, unit = True, 0, 0

    def setUp(self):
        self.op_type = "box_coder"
        prior, code = boxes(3, scale=20.0), rand(3, 3, 4)
        var = np.array([0.5, 0.5, 0.25, 0.25])  # exact in float32
        self.inputs = {"PriorBox": prior, "TargetBox": code}
        self.attrs = {
            "code_type": "decode_center_size", "box_normalized": self.normalized,
            "axis": self.axis, "variance": var.tolist(),
        }  # fmt: skip
        found = np.broadcast_to(prior[:, None] if self.axis else prior[None], code.shape)
        self.outputs = {"OutputBox": decode(found, code * var, self.unit)}

    def test_check_output(self):
        self.check_output()


class TestBoxCoderDecodeRows(TestBoxCoderDecode):
    normalized, axis, unit = False, 1, 1


class TestBoxClip(OpTest):
    elementwise = False

    def setUp(self):
        self.op_type = "box_clip"
        found = np.array([[-1.0, 2, 30, 8], [3, -4, 5, 40], [1, 1, 9, 9]])
        info = np.array([[10.0, 20, 1], [9, 11, 2]])  # the second image is 4.5 by 5.5: 5 by 6
        self.inputs = {"Input": (found, [[0, 2, 3]]), "ImInfo": info}
        cut = np.array([[0.0, 2, 19, 8], [3, 0, 5, 9], [1, 1, 5, 4]])
        self.outputs = {"Output": (cut, [[0, 2, 3]])}

    def test_check_output(self):
        self.check_output()


class TestPolygonBoxTransform(OpTest):
    elementwise = False

    def setUp(self):
        self.op_type = "polygon_box_transform"
        self.inputs = {"Input": rand(2, 4, 2, 3)}

    def reference(self, inputs, attrs):
        x = inputs["Input"]
        row, column = np.mgrid[: x.shape[2], : x.shape[3]] * 4.0
        places = np.stack([column, row] * (x.shape[1] // 2))
        return {"Output": places[None] - x}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["Input"], "Output")


class TestBoxDecoderAndAssign(OpTest):
    elementwise = False

    def setUp(self):
        self.op_type = "box_decoder_and_assign"
        prior, code = boxes(3, scale=20.0), rand(3, 3, 4, low=-2, high=4)
        var = np.array([0.5, 0.5, 1.0, 1.0])
        score = np.array([[9.0, 0.1, 0.3], [0.1, 0.4, 0.2], [0.5, -2.0, -1.5]])
        self.inputs = {
            "PriorBox": prior, "PriorBoxVar": var, "TargetBox": code.reshape(3, 12),
            "BoxScore": score,
        }  # fmt: skip
        self.attrs = {"box_clip": 2.0}
        found = decode(np.broadcast_to(prior[:, None], code.shape), code * var, 1, most=2.0)
        best = np.stack([found[0, 2], found[1, 1], prior[2]])  # class 0 never counts
        self.outputs = {"DecodeBox": found.reshape(3, 12), "OutputAssignBox": best}

    def test_check_output(self):
        self.check_output()


def test_wrong_inputs():
    x = _core.to_variable(np.zeros((2, 4), "float32"))
    codes = _core.to_variable(np.zeros((3, 5, 4), "float32"))
    ops = _core.ops
    with pytest.raises(errors.InvalidArgumentError, match=r"Y must hold boxes \[rows, 4\]"):
        ops.iou_similarity(x, codes)
    with pytest.raises(errors.InvalidArgumentError, match="exclude each other"):
        ops.box_coder(x, x, prior_box_var=x, variance=[1.0] * 4)
    with pytest.raises(errors.InvalidArgumentError, match="5 of TargetBox along axis 1, got 2"):
        ops.box_coder(x, codes, code_type="decode_center_size")
    with pytest.raises(errors.InvalidArgumentError, match="a row for each of the 1 images"):
        ops.box_clip(x, _core.to_variable(np.ones((2, 3), "float32")))
