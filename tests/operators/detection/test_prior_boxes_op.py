"""Boxes at the cells of a feature map."""

import numpy as np
import pytest

from dygraph import _core, errors
from op_test import OpTest, rand

VARIANCES = [0.5, 0.5, 0.25, 0.25]  # exact in float32


def variances(boxes):
    return np.broadcast_to(VARIANCES, boxes.shape)


class TestPriorBox(OpTest):
    """Of each min size: ratios 1, 2, 1/2, then the square of the max size."""

    elementwise = False
    order, clip, max_sizes = False, False, [8.0, 18.0]

    def setUp(self):
        self.op_type = "prior_box"
        self.inputs = {"Input": rand(2, 3, 2, 3), "Image": rand(2, 3, 16, 24)}
        self.attrs = {
            "min_sizes": [2.0, 8.0], "max_sizes": self.max_sizes, "aspect_ratios": [1.0, 2.0],
            "variances": VARIANCES, "flip": True, "clip": self.clip,
            "min_max_aspect_ratios_order": self.order,
        }  # fmt: skip
        boxes = np.zeros((2, 3, 2 * (3 + bool(self.max_sizes)), 4))
        for row in range(2):
            for column in range(3):
                boxes[row, column] = list(self.cell(row, column))
        if self.clip:
            boxes = np.clip(boxes, 0, 1)
        self.outputs = {"Boxes": boxes, "Variances": variances(boxes)}

    def cell(self, row, column):
        x, y = (column + 0.5) * 8, (row + 0.5) * 8
        for k, size in enumerate([2.0, 8.0]):
            ratios = [(size * r**0.5, size / r**0.5) for r in (1, 2, 0.5)]
            square = [((size * m) ** 0.5,) * 2 for m in self.max_sizes[k : k + 1]]
            sides = ratios[:1] + square + ratios[1:] if self.order else ratios + square
            for w, h in sides:
                yield (x - w / 2) / 24, (y - h / 2) / 16, (x + w / 2) / 24, (y + h / 2) / 16

    def test_check_output(self):
        self.check_output()


class TestPriorBoxOrder(TestPriorBox):
    order, clip = True, True


class TestPriorBoxNoMax(TestPriorBox):
    max_sizes = []


class TestDensityPriorBox(OpTest):
    """Two by two boxes of a cell of 8: centres 2 and 6 from its left."""

    elementwise = False
    flat = False

    def setUp(self):
        self.op_type = "density_prior_box"
        self.inputs = {"Input": rand(1, 3, 2, 2), "Image": rand(1, 3, 16, 16)}
        self.attrs = {
            "variances": VARIANCES, "fixed_sizes": [4.0], "fixed_ratios": [1.0, 4.0],
            "densities": [2], "flatten_to_2d": self.flat,
        }  # fmt: skip
        found = [
            [x - w / 2, y - h / 2, x + w / 2, y + h / 2]
            for row in (0, 8) for column in (0, 8) for w, h in ((4, 4), (8, 2))
            for y in (row + 2, row + 6) for x in (column + 2, column + 6)
        ]  # fmt: skip
        boxes = np.clip(np.array(found) / 16, 0, 1)
        boxes = boxes if self.flat else boxes.reshape(2, 2, 8, 4)
        self.outputs = {"Boxes": boxes, "Variances": variances(boxes)}

    def test_check_output(self):
        self.check_output()


class TestDensityPriorBoxFlat(TestDensityPriorBox):
    flat = True


class TestAnchorGenerator(OpTest):
    """Bases of 256 pixels: ratio 1 gives 16 by 16, ratio 4 gives 8 by 32."""

    elementwise = False

    def setUp(self):
        self.op_type = "anchor_generator"
        self.inputs = {"Input": rand(2, 3, 2, 2)}
        self.attrs = {
            "anchor_sizes": [16.0, 32.0], "aspect_ratios": [1.0, 4.0], "variances": VARIANCES,
            "stride": [16.0, 16.0],
        }  # fmt: skip
        sides = [(16, 16), (32, 32), (8, 32), (16, 64)]
        found = [
            [x - (w - 1) / 2, y - (h - 1) / 2, x + (w - 1) / 2, y + (h - 1) / 2]
            for y in (7.5, 23.5) for x in (7.5, 23.5) for w, h in sides
        ]  # fmt: skip
        boxes = np.array(found).reshape(2, 2, 4, 4)
        self.outputs = {"Anchors": boxes, "Variances": variances(boxes)}

    def test_check_output(self):
        self.check_output()


def test_wrong_attributes():
    x = _core.to_variable(np.zeros((1, 1, 2, 2), "float32"))
    ops = _core.ops
    with pytest.raises(errors.InvalidArgumentError, match="min_sizes must hold a size, got none"):
        ops.prior_box(x, x)
    with pytest.raises(errors.InvalidArgumentError, match="must be above its size .* got 1 and 2"):
        ops.prior_box(x, x, min_sizes=[2.0], max_sizes=[1.0])
    with pytest.raises(errors.InvalidArgumentError, match="min_sizes must hold numbers above 0"):
        ops.prior_box(x, x, min_sizes=[-2.0])
    with pytest.raises(errors.InvalidArgumentError, match="variances must hold 4 numbers"):
        ops.prior_box(x, x, min_sizes=[2.0], variances=[0.1])
    with pytest.raises(errors.InvalidArgumentError, match="a number for each of the 1"):
        ops.density_prior_box(x, x, fixed_sizes=[1.0], fixed_ratios=[1.0], densities=[])
    with pytest.raises(errors.InvalidArgumentError, match="stride must hold a width and a height"):
        ops.anchor_generator(x, anchor_sizes=[1.0], aspect_ratios=[1.0], stride=[1.0])


def test_a_map_without_cells():
    x = _core.to_variable(np.zeros((1, 1, 0, 2)))
    image = _core.to_variable(np.zeros((1, 1, 8, 8)))
    attrs = {"fixed_sizes": [1.0], "fixed_ratios": [1.0], "densities": [2]}
    assert _core.ops.density_prior_box(x, image, **attrs)[0].shape == (0, 2, 4, 4)
    assert _core.ops.prior_box(x, image, min_sizes=[1.0])[0].shape == (0, 2, 1, 4)
