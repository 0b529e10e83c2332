"""Convolutions large enough to be cut into pieces: images, rows of one, channels of a filter.

Expected values: sums over the taps of the filter in float64, by NumPy."""

import numpy as np
import pytest

from dygraph import _core


def expected(x, w, gout, stride, pad, dilation, groups):
    """The outputs, and the gradients of images and filter."""
    n, c, height, width = x.shape
    out_c, own_c, kh, kw = w.shape
    (top, bottom), (left, right) = pad
    padded = np.pad(x.astype("float64"), ((0, 0), (0, 0), (top, bottom), (left, right)))
    oh, ow = gout.shape[2:]
    out = np.zeros(gout.shape)
    to_padded, to_w = np.zeros(padded.shape), np.zeros(w.shape)
    for group in range(groups):
        ins = slice(group * own_c, (group + 1) * own_c)
        outs = slice(group * out_c // groups, (group + 1) * out_c // groups)
        top_grad = gout[:, outs].astype("float64")
        for u in range(kh):
            for v in range(kw):
                i, j = u * dilation, v * dilation
                seen = (
                    slice(None),
                    ins,
                    slice(i, i + (oh - 1) * stride + 1, stride),
                    slice(j, j + (ow - 1) * stride + 1, stride),
                )
                tap = w[outs, :, u, v].astype("float64")
                out[:, outs] += np.einsum("nchw,oc->nohw", padded[seen], tap, optimize=True)
                to_padded[seen] += np.einsum("nohw,oc->nchw", top_grad, tap, optimize=True)
                to_w[outs, :, u, v] = np.einsum(
                    "nohw,nchw->oc", top_grad, padded[seen], optimize=True
                )
    return out, to_padded[:, :, top : top + height, left : left + width], to_w


# images, channels, height, width, filters, kernel, stride, padding, dilation, groups
SHAPES = {
    "many images": (16, 32, 14, 14, 32, 3, 1, ((1, 1), (1, 1)), 1, 1),
    "images that do not share out evenly": (5, 16, 33, 35, 48, 3, 1, ((1, 1), (1, 1)), 1, 1),
    "rows of one image": (1, 32, 57, 45, 64, 3, 1, ((1, 1), (1, 1)), 1, 1),
    "rows, 5 x 5, two steps at a time": (1, 24, 61, 60, 64, 5, 2, ((2, 1), (1, 2)), 1, 1),
    "rows, 1 x 1, two steps at a time": (2, 128, 57, 56, 128, 1, 2, ((0, 0), (0, 0)), 1, 1),
    "rows, 2 x 2, three steps at a time": (1, 64, 91, 92, 128, 2, 3, ((1, 1), (0, 1)), 1, 1),
    "rows, dilated": (1, 32, 50, 40, 64, 3, 1, ((2, 2), (2, 2)), 2, 1),
    "rows, no padding": (1, 32, 50, 40, 64, 3, 1, ((0, 0), (0, 0)), 1, 1),
    "wide padding": (1, 32, 30, 30, 64, 3, 1, ((3, 3), (3, 3)), 1, 1),
    "groups": (3, 64, 30, 31, 64, 3, 1, ((1, 1), (1, 1)), 1, 4),
    "depthwise": (2, 64, 96, 90, 64, 3, 1, ((1, 1), (1, 1)), 1, 64),
    "a large filter": (2, 256, 5, 5, 256, 3, 1, ((1, 1), (1, 1)), 1, 1),
    "channels of one image": (1, 64, 14, 13, 320, 3, 1, ((1, 1), (1, 1)), 1, 1),
    "channels, 1 x 1, two steps at a time": (1, 256, 15, 15, 500, 1, 2, ((0, 0), (0, 0)), 1, 1),
    "channels that are no whole vectors": (1, 90, 9, 9, 200, 3, 1, ((1, 1), (1, 1)), 1, 1),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", SHAPES)
def test_pieces_make_up_the_whole(name, threads):
    n, c, height, width, out_c, kernel, stride, pad, dilation, groups = SHAPES[name]
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (n, c, height, width)).astype("float32")
    w = rng.uniform(-1, 1, (out_c, c // groups, kernel, kernel)).astype("float32")
    reach = dilation * (kernel - 1) + 1
    oh = (height + sum(pad[0]) - reach) // stride + 1
    ow = (width + sum(pad[1]) - reach) // stride + 1
    gout = rng.uniform(-1, 1, (n, out_c, oh, ow)).astype("float32")
    before = _core.num_threads()
    try:
        _core.set_num_threads(threads)
        image, filters = _core.to_variable(x), _core.to_variable(w)
        image.stop_gradient = filters.stop_gradient = False
        attrs = {
            "strides": [stride, stride],
            "paddings": [*pad[0], *pad[1]],
            "dilations": [dilation, dilation],
            "groups": groups,
        }
        out = _core.run_op("conv2d", {"Input": image, "Filter": filters}, attrs)["Output"]
        _core.backward([out], [_core.to_variable(gout)], False, False)
    finally:
        _core.set_num_threads(before)
    results = out.numpy(), image.grad.numpy(), filters.grad.numpy()
    for result, value in zip(
        results, expected(x, w, gout, stride, pad, dilation, groups), strict=True
    ):
        assert result.shape == value.shape
        assert np.abs(result - value).max() <= 1e-5 * np.abs(value).max()
