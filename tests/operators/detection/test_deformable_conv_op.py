"""deformable_conv and deformable_conv_v1."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def hat(distance):
    return np.maximum(0, 1 - np.abs(distance))


def deformable(x, offset, weight, mask, stride, pad, dilation, groups, deformable_groups):
    """A sum over all pixels, weighted by their distance to the moved taps; 0 outside."""
    n, c, h, w = x.shape
    filters, per_group, kh, kw = weight.shape
    out = np.zeros((n, filters, *offset.shape[2:]))
    for image, o, i, j in np.ndindex(*out.shape):
        for channel, k, m in np.ndindex(per_group, kh, kw):
            source = o // (filters // groups) * per_group + channel
            tap = source // (c // deformable_groups) * kh * kw + k * kw + m
            down, across = offset[image, 2 * tap : 2 * tap + 2, i, j]
            y = i * stride[0] - pad[0] + k * dilation[0] + down
            at = j * stride[1] - pad[1] + m * dilation[1] + across
            weights = np.outer(hat(np.arange(h) - y), hat(np.arange(w) - at))
            value = (weights * x[image, source]).sum() * weight[o, channel, k, m]
            out[image, o, i, j] += value * (1 if mask is None else mask[image, tap, i, j])
    return out


def offsets(*shape):
    """Moves that leave every tap away from the lines where the slope jumps."""
    whole = np.random.randint(-2, 3, shape)
    return whole + rand(*shape, low=0.15, high=0.85)


class TestDeformableConv(OpTest):
    shape, size, groups, parts = (2, 4, 4, 5), (2, 3), 2, 2
    stride, pad, dilation = [1, 2], [1, 0], [2, 1]
    masked = True

    def setUp(self):
        self.op_type = "deformable_conv" if self.masked else "deformable_conv_v1"
        self.attrs = {
            "strides": self.stride, "paddings": self.pad, "dilations": self.dilation,
            "groups": self.groups, "deformable_groups": self.parts,
        }  # fmt: skip
        n, c, h, w = self.shape
        taps = self.size[0] * self.size[1] * self.parts
        high = (h + 2 * self.pad[0] - self.dilation[0] * (self.size[0] - 1) - 1) // self.stride[0]
        wide = (w + 2 * self.pad[1] - self.dilation[1] * (self.size[1] - 1) - 1) // self.stride[1]
        places = (high + 1, wide + 1)
        self.inputs = {
            "Input": rand(*self.shape),
            "Offset": offsets(n, 2 * taps, *places),
            "Filter": rand(4, c // self.groups, *self.size),
        }
        if self.masked:
            self.inputs["Mask"] = rand(n, taps, *places)
        self.outputs = {
            "Output": deformable(
                *self.inputs.values(), *([] if self.masked else [None]), self.stride, self.pad,
                self.dilation, self.groups, self.parts,
            )
        }  # fmt: skip

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(list(self.inputs), "Output")


class TestWithoutMask(TestDeformableConv):
    masked = False


class TestOneGroup(TestDeformableConv):
    shape, size, groups, parts = (1, 2, 3, 3), (2, 2), 1, 1
    stride, pad, dilation = [1, 1], [0, 0], [1, 1]


class TestOneGroupWithoutMask(TestOneGroup):
    masked = False


def test_without_moves_it_is_a_convolution():
    x, weight = rand(2, 3, 6, 7), rand(4, 3, 3, 3)
    given = {
        "Input": _core.to_variable(x), "Filter": _core.to_variable(weight),
        "Offset": _core.to_variable(np.zeros((2, 18, 6, 7))),
    }  # fmt: skip
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    expected = np.einsum("nchwij,ocij->nohw", windows, weight)
    for op in ("deformable_conv", "deformable_conv_v1"):
        out = _core.run_op(op, given, {"paddings": [1, 1]}, {})["Output"].numpy()
        np.testing.assert_allclose(out, expected, atol=1e-12)


@pytest.mark.parametrize("far", [np.nan, np.inf, 1e30, -1e30])
def test_taps_far_away_are_zeros(far):
    offset = np.zeros((1, 2, 2, 2))
    offset[0, 0, 0, 0] = far
    given = {"Input": np.ones((1, 1, 2, 2)), "Filter": np.ones((1, 1, 1, 1)), "Offset": offset}
    given = {slot: _core.to_variable(value) for slot, value in given.items()}
    out = _core.run_op("deformable_conv_v1", given, {}, {})["Output"].numpy()
    assert out.ravel().tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("changed", "attrs", "said"),
    [
        ({"Offset": (1, 3, 2, 2)}, {}, "Offset"),
        ({"Mask": (1, 2, 2, 2)}, {}, "Mask"),
        ({"Filter": (1, 2, 1, 1)}, {}, "groups"),
        ({"Filter": (1, 1, 5, 5)}, {}, "fit"),
        ({"Filter": (1, 1, 0, 1)}, {}, "Filter"),
        ({}, {"strides": [1]}, "strides"),
        ({}, {"strides": [0, 1]}, "strides"),
        ({}, {"deformable_groups": 2}, "deformable_groups"),
        ({"Input": (1, 1, 2)}, {}, "Input"),
    ],
)
def test_what_does_not_fit_is_refused(changed, attrs, said):
    shapes = {
        "Input": (1, 1, 2, 2), "Filter": (1, 1, 1, 1), "Offset": (1, 2, 2, 2),
        "Mask": (1, 1, 2, 2), **changed,
    }  # fmt: skip
    given = {slot: _core.to_variable(np.ones(shape)) for slot, shape in shapes.items()}
    with pytest.raises(ValueError, match=said):
        _core.run_op("deformable_conv", given, attrs, {})
