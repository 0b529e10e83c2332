"""Resized and sampled images."""

import numpy as np

from dygraph.onnx.export_conv import image, to_last
from dygraph.onnx.export_graph import operator

_KINDS = {"nearest": "nearest", "linear": "linear", "bilinear": "linear", "trilinear": "linear",
          "bicubic": "cubic"}  # fmt: skip


def _resize(c):
    rank = c.rank("X")
    axes = rank - 2
    x, sizes, last = image(c, "X", "data_layout")
    kind = _KINDS[c.op.type.split("_")[0]]
    scales = None
    if c.has("SizeTensor") or c.has("OutSize"):
        out = c.ints("out_h", "OutSize", "SizeTensor")
    else:
        scales = _scales(c, axes)
        if scales:
            out = [_scaled(c, n, s) for n, s in zip(sizes[2:], scales, strict=True)]
        else:
            out = [c.attr(n) for n in ("out_d", "out_h", "out_w")][3 - axes :]
    steps = scales if c.op.type.endswith("_v2") and not c.attr("align_corners") else None
    if kind == "nearest":
        found = _nearest(c, x, sizes, out, steps)
    else:
        found = _by_resize(c, x, sizes, out, kind, steps)
    return to_last(c, found, rank) if last else found


for _type in ("nearest", "linear", "bilinear", "trilinear", "bicubic"):
    operator(f"{_type}_interp", f"{_type}_interp_v2")(_resize)


def _scales(c, axes):
    if c.has("Scale"):
        array = c.array(c["Scale"])
        if array is None:
            return _open_scales(c, axes)
        given = [float(v) for v in array.reshape(-1)]
    else:
        given = c.attr("scale")
        given = list(given) if isinstance(given, (list, tuple)) else [given]
    if not given or not all(s > 0 for s in given):
        return None
    return given * axes if len(given) == 1 else given


def _open_scales(c, axes):
    """Values of one float32 each."""
    value = c.Reshape(c.cast(c["Scale"], "float32"), np.array([-1]))
    dims = c.dims("Scale")
    c.require(-1 not in dims, "the number of scales is open")
    if int(np.prod(dims)) == 1:
        return [value] * axes
    return [c.slice(value, [i], [i + 1], [0]) for i in range(axes)]


def _scaled(c, size, scale):
    """floor(size * scale) in float32."""
    if isinstance(scale, str):
        size = c.cast(c.vector([size]), "float32")
        return c.cast(c.Floor(c.Mul(size, scale)), "int64")
    if isinstance(size, int):
        return int(np.float32(size) * np.float32(scale))
    if float(scale).is_integer():
        return c.Mul(size, np.array([int(scale)]))
    return c.cast(c.Mul(c.cast(size, "float32"), np.float32([scale])), "int64")


def _mode(c, kind):
    if c.attr("align_corners"):
        return "align_corners"
    return "half_pixel" if kind == "cubic" or c.attr("align_mode") == 0 else "asymmetric"


def _by_resize(c, x, sizes, out, kind, steps):
    rank = len(sizes)
    attributes = {"mode": kind, "coordinate_transformation_mode": _mode(c, kind)}
    if kind == "cubic":
        attributes["cubic_coeff_a"] = -0.75
    flat = rank == 3  # runtimes interpolate images and volumes
    if flat:
        x = c.Unsqueeze(x, axes=[2])
    middle = [1] if flat else []
    if steps:
        if isinstance(steps[0], str):
            ratios = c.Concat(np.ones(2 + len(middle), np.float32), *steps, axis=0)
        else:
            ratios = np.array([1, 1, *middle, *steps], np.float32)
        made = c.Resize(x, None, ratios, **attributes)
    else:
        full = c.vector([*sizes[:2], *middle, *out])
        made = c.Resize(x, None, None, full, **attributes)
    return c.Squeeze(made, axes=[2]) if flat else made


def _nearest(c, x, sizes, out, steps):
    """By Gather with whole numbers, so that ties do not depend on rounding."""
    corners = c.attr("align_corners")
    for i, count in enumerate(out):
        size, axis = sizes[2 + i], 2 + i
        if isinstance(size, int) and isinstance(count, int):
            places = np.arange(count)
            if corners:
                over = count - 1
                index = (2 * places * (size - 1) + over) // (2 * over) if over else places * 0
            elif steps and abs(steps[i] / (count / size) - 1) > 1e-6:
                index = (places * (1.0 / float(np.float32(steps[i])))).astype(np.int64)
            else:
                index = places * size // count
            index = np.minimum(index, size - 1)
            if not np.array_equal(index, np.arange(size)):
                x = c.Gather(x, index, axis=axis)
            continue
        size, count = c.vector([size]), c.vector([count])
        places = c.range(count)
        if corners:
            over = c.Max(c.Sub(count, np.array([1])), np.array([1]))
            top = c.Add(c.Mul(c.Mul(places, np.array([2])), c.Sub(size, np.array([1]))), over)
            index = c.Div(top, c.Mul(over, np.array([2])))
            index = c.Where(c.Greater(count, np.array([1])), index, np.array([0]))
        elif steps and (isinstance(steps[i], str) or not float(steps[i]).is_integer()):
            if isinstance(steps[i], str):
                given = c.cast(steps[i], "float64")
            else:
                given = c.scalar(float(np.float32(steps[i])), "float64")
            step = c.Div(c.scalar(1.0, "float64"), given)
            exact = c.Div(c.cast(count, "float64"), c.cast(size, "float64"))
            off = c.Abs(c.Sub(c.Div(given, exact), c.scalar(1.0, "float64")))
            by_step = c.cast(c.Floor(c.Mul(c.cast(places, "float64"), step)), "int64")
            by_size = c.Div(c.Mul(places, size), count)
            index = c.Where(c.Greater(off, c.scalar(1e-6, "float64")), by_step, by_size)
        else:
            index = c.Div(c.Mul(places, size), count)
        x = c.Gather(x, c.Min(index, c.Sub(size, np.array([1]))), axis=axis)
    return x if x != c["X"] else c.Identity(x)


@operator("grid_sampler")
def _grid_sampler(c):
    c.require(c.rank("X") == 4 or c.opset >= 20, "volumes need opset 20")
    mode = c.attr("mode")
    if mode == "bilinear" and c.opset >= 20:
        mode = "linear"
    return c.GridSample(
        c["X"], c["Grid"], mode=mode, padding_mode=c.attr("padding_mode"),
        align_corners=int(c.attr("align_corners")),
    )  # fmt: skip


@operator("affine_grid")
def _affine_grid(c):
    theta = c["Theta"]
    sizes = c.ints("output_shape", "OutputShape")
    space = sizes[2:]
    rank = len(space)
    axes = []
    for i, count in enumerate(space):
        places = c.cast(c.range(count), c.dtype)
        number = c.cast(c.squeeze(c.vector([count]), [0]), c.dtype)
        if c.attr("align_corners"):
            over = c.Max(c.Sub(number, 1.0), 1.0)
            line = c.Sub(c.Div(c.Mul(places, 2.0), over), 1.0)
            line = c.Where(c.Greater(number, 1.0), line, c.scalar(0.0))
        else:
            line = c.Sub(c.Div(c.Add(c.Mul(places, 2.0), 1.0), number), 1.0)
        shape = [1] * rank
        shape[i] = -1
        axes.append(c.Expand(c.Reshape(line, np.array(shape)), c.vector(space)))
    ones = c.full(space, 1.0, c.dtype)
    points = c.Concat(*(c.Unsqueeze(a, axes=[rank]) for a in [*axes[::-1], ones]), axis=rank)
    flat = c.Reshape(points, np.array([-1, rank + 1]))
    moved = c.MatMul(c.Unsqueeze(flat, axes=[0]), c.Transpose(theta, perm=[0, 2, 1]))
    return c.Reshape(moved, c.vector([c.size(theta, 0, c.dims("Theta")), *space, rank]))


@operator("row_conv")
def _row_conv(c):
    from dygraph.onnx.export_sequence import padded, unpadded

    ragged = c.is_ragged("X")
    c.require(ragged or c.rank("X") == 3, "it takes [batch, time, D] or rows with LoD")
    x = padded(c, c["X"], c.lengths("X")) if ragged else c["X"]
    ahead, width = c.fixed("Filter")
    filter = c.Unsqueeze(c.Transpose(c["Filter"], perm=[1, 0]), axes=[1])
    turned = c.Transpose(x, perm=[0, 2, 1])
    out = c.Conv(turned, filter, group=width, pads=[0, ahead - 1])
    out = c.Transpose(out, perm=[0, 2, 1])
    return (unpadded(c, out, c.lengths("X")), c.lengths("X")) if ragged else out
