"""Operators that move pixels: pixel_shuffle, space_to_depth, shuffle_channel, temporal_shift,
unfold, im2sequence."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import op_case
from op_test import rand


def channels_last(reference):
    """The reference of data_format NHWC: that of NCHW between two turns."""

    def turned(inputs, attrs):
        first = {**attrs, "data_format": "NCHW"}
        out = reference({"X": np.moveaxis(inputs["X"], -1, 1)}, first)["Out"]
        return {"Out": np.moveaxis(out, 1, -1)}

    return turned


def pixel_shuffle(inputs, attrs):
    x, r = inputs["X"], attrs["upscale_factor"]
    n, c, h, w = x.shape
    out = np.zeros((n, c // r**2, h * r, w * r), x.dtype)
    for i, j in np.ndindex(r, r):
        out[:, :, i::r, j::r] = x[:, i * r + j :: r * r]
    return {"Out": out}


def space_to_depth(inputs, attrs):
    x, b = inputs["X"], attrs["blocksize"]
    n, c, h, w = x.shape
    image = np.zeros((n, c // b**2, h * b, w * b), x.dtype)
    for i, j in np.ndindex(b, b):
        first = (i * b + j) * (c // b**2)
        image[:, :, i::b, j::b] = x[:, first : first + c // b**2]
    return {"Out": image.reshape(n, c * b * b, h // b, w // b)}


def shuffle_channel(inputs, attrs):
    x, group = inputs["X"], attrs["group"]
    size = x.shape[1] // group
    order = [g * size + c for c in range(size) for g in range(group)]
    return {"Out": x[:, order]}


def temporal_shift(inputs, attrs):
    x, frames = inputs["X"], attrs["seg_num"]
    part = int(x.shape[1] * attrs.get("shift_ratio", 0.25))
    clips = x.reshape(-1, frames, *x.shape[1:])
    out = clips.copy()
    out[:, :, : 2 * part] = 0
    out[:, 1:, :part] = clips[:, :-1, :part]
    out[:, :-1, part : 2 * part] = clips[:, 1:, part : 2 * part]
    return {"Out": out.reshape(x.shape)}


def columns(x, kernel, strides, paddings, dilations):
    """[N, C, kh, kw, H', W'] windows of x."""
    top, left, bottom, right = paddings
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    (sh, sw), (dh, dw), (kh, kw) = strides, dilations, kernel
    oh = (x.shape[2] - dh * (kh - 1) - 1) // sh + 1
    ow = (x.shape[3] - dw * (kw - 1) - 1) // sw + 1
    out = np.zeros((*x.shape[:2], kh, kw, oh, ow), x.dtype)
    for u, v in np.ndindex(kh, kw):
        rows, cols = u * dh + sh * np.arange(oh), v * dw + sw * np.arange(ow)
        out[:, :, u, v] = x[:, :, rows][..., cols]
    return out


def unfold(inputs, attrs):
    got = columns(
        inputs["X"],
        attrs["kernel_sizes"],
        attrs.get("strides", (1, 1)),
        attrs.get("paddings", (0, 0, 0, 0)),
        attrs.get("dilations", (1, 1)),
    )
    n, c, kh, kw, oh, ow = got.shape
    return {"Y": got.reshape(n, c * kh * kw, oh * ow)}


def im2sequence(inputs, attrs):
    strides, pads = attrs.get("strides", (1, 1)), attrs.get("paddings", (0, 0, 0, 0))
    kernel, out_stride = attrs["kernels"], attrs.get("out_stride", (1, 1))
    got = columns(inputs["X"], kernel, strides, pads, (1, 1)).transpose(0, 4, 5, 1, 2, 3)
    rows = []
    for i, windows in enumerate(got):
        h, w = windows.shape[:2]
        if "Y" in inputs:
            real = -(-inputs["Y"][i].astype(int) // np.array(out_stride))
            h = (real[0] + pads[0] + pads[2] - kernel[0]) // strides[0] + 1
            w = (real[1] + pads[1] + pads[3] - kernel[1]) // strides[1] + 1
        rows.append(windows[:h, :w].reshape(h * w, -1))
    lengths = [len(r) for r in rows]
    return {"Out": (np.concatenate(rows), [lengths])} if rows else {"Out": np.zeros((0, 0))}


def case(name, op, shape, attrs, reference, out="Out", **more):
    return op_case(name, op, lambda: {"X": rand(*shape)}, attrs, reference,
                   grad=["X"], out=out, **more)  # fmt: skip


TestPixelShuffle = case(
    "TestPixelShuffle", "pixel_shuffle", (2, 8, 2, 3), {"upscale_factor": 2}, pixel_shuffle
)
TestPixelShuffleThree = case(
    "TestPixelShuffleThree", "pixel_shuffle", (1, 9, 3, 2), {"upscale_factor": 3}, pixel_shuffle
)
TestPixelShuffleLast = case(
    "TestPixelShuffleLast", "pixel_shuffle", (2, 2, 3, 8),
    {"upscale_factor": 2, "data_format": "NHWC"}, channels_last(pixel_shuffle),
)  # fmt: skip
TestSpaceToDepth = case(
    "TestSpaceToDepth", "space_to_depth", (2, 8, 4, 2), {"blocksize": 2}, space_to_depth
)
TestShuffleChannel = case(
    "TestShuffleChannel", "shuffle_channel", (2, 6, 2, 3), {"group": 3}, shuffle_channel
)
TestTemporalShift = case(
    "TestTemporalShift", "temporal_shift", (6, 4, 2, 2), {"seg_num": 3}, temporal_shift
)
TestTemporalShiftLast = case(
    "TestTemporalShiftLast", "temporal_shift", (6, 2, 3, 5),
    {"seg_num": 3, "shift_ratio": 0.4, "data_format": "NHWC"}, channels_last(temporal_shift),
)  # fmt: skip
TestTemporalShiftHalf = case(
    "TestTemporalShiftHalf",
    "temporal_shift",
    (4, 6, 1, 2),
    {"seg_num": 2, "shift_ratio": 0.5},
    temporal_shift,
)
TestUnfold = case("TestUnfold", "unfold", (2, 3, 4, 5), {"kernel_sizes": [2, 3]}, unfold, "Y")
TestUnfoldAll = case(
    "TestUnfoldAll",
    "unfold",
    (2, 2, 5, 4),
    {"kernel_sizes": [2, 2], "strides": [2, 1], "paddings": [1, 0, 0, 2], "dilations": [1, 2]},
    unfold,
    "Y",
)
NO_ROWS = {"empty": "a level of detail of no sequences has no rows to compare"}
TestIm2Sequence = case(
    "TestIm2Sequence", "im2sequence", (2, 2, 4, 3), {"kernels": [2, 2]}, im2sequence,
    leave_out=NO_ROWS,
)  # fmt: skip
TestIm2SequencePadded = case(
    "TestIm2SequencePadded",
    "im2sequence",
    (2, 1, 5, 4),
    {"kernels": [3, 2], "strides": [2, 1], "paddings": [1, 1, 0, 2]},
    im2sequence,
    leave_out=NO_ROWS,
)
TestIm2SequenceSizes = op_case(
    "TestIm2SequenceSizes",
    "im2sequence",
    lambda: {"X": rand(2, 2, 4, 5), "Y": np.array([[8.0, 5.0], [4.0, 9.0]], "float32")},
    {"kernels": [2, 2], "out_stride": [2, 2]},
    im2sequence,
    grad=["X"],
    grad_inputs=["X"],
    leave_out=NO_ROWS,
)


def run(op, x, **attrs):
    return _core.run_op(op, {"X": _core.to_variable(x)}, attrs)


def test_space_to_depth_as_programs_know_it():
    got = run("space_to_depth", np.arange(16.0).reshape(1, 4, 2, 2), blocksize=2)["Out"].numpy()
    expected = [0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15]
    assert got.shape == (1, 16, 1, 1) and got.ravel().tolist() == expected


def test_channels_last_as_paddle_shuffles_and_shifts():
    """What Paddle 2.6.2 gives."""
    x = np.arange(16.0).reshape(1, 2, 1, 8)
    got = run("pixel_shuffle", x, upscale_factor=2, data_format="NHWC")["Out"].numpy()
    assert got.shape == (1, 4, 2, 2)
    assert got.ravel().tolist() == [0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15]
    x = x.reshape(2, 2, 1, 4)
    got = run("temporal_shift", x, seg_num=2, data_format="NHWC")["Out"].numpy().ravel()
    assert got.tolist() == [0, 9, 2, 3, 0, 13, 6, 7, 0, 0, 10, 11, 4, 0, 14, 15]


def test_integers():
    x = np.arange(8).reshape(1, 4, 1, 2)
    got = run("pixel_shuffle", x, upscale_factor=2)["Out"].numpy()
    assert got.dtype == np.int64 and got.tolist() == [[[[0, 2, 1, 3], [4, 6, 5, 7]]]]


def test_wrong_input():
    x = np.ones((2, 6, 3, 3), "float32")
    with pytest.raises(ValueError, match="the number of channels must be a multiple of 4, got 6"):
        run("pixel_shuffle", x, upscale_factor=2)
    with pytest.raises(ValueError, match="the number of channels must be a multiple of 4, got 3"):
        run("pixel_shuffle", x, upscale_factor=2, data_format="NHWC")
    with pytest.raises(ValueError, match=r"\[N \* seg_num, H, W, C\], got shape \[2, 6, 3\]"):
        run("temporal_shift", x[..., 0], seg_num=2, data_format="NHWC")
    with pytest.raises(ValueError, match="the height must be a multiple of 2, got 3"):
        run("space_to_depth", np.ones((2, 4, 3, 4), "float32"), blocksize=2)
    with pytest.raises(ValueError, match="must be a multiple of 4, got 6"):
        run("shuffle_channel", x, group=4)
    with pytest.raises(ValueError, match="must be a multiple of seg_num 3"):
        run("temporal_shift", x, seg_num=3)
    with pytest.raises(ValueError, match="kernel_sizes must hold two numbers"):
        run("unfold", x)
    with pytest.raises(ValueError, match="must fit into the padded input along the height"):
        run("unfold", x, kernel_sizes=[4, 1])
    with pytest.raises(ValueError, match=r"paddings must be \[top, left, bottom, right\]"):
        run("im2sequence", x, kernels=[2, 2], paddings=[1, 1])
    slots = {"X": _core.to_variable(x), "Y": _core.to_variable(np.full((2, 2), 9, "float32"))}
    with pytest.raises(ValueError, match="must leave 1 to 2 windows along the height, got 8"):
        _core.run_op("im2sequence", slots, {"kernels": [2, 2]})
