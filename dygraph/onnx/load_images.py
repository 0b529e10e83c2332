"""Rules for images: resizing, sampling, regions."""

import itertools
import math

import numpy as np

import dygraph
from dygraph import _core
from dygraph.core.sizes import Size
from dygraph.errors import InvalidArgumentError, UnimplementedError
from dygraph.nn import functional as F
from dygraph.onnx.load_rules import rule
from dygraph.onnx.load_shape import as_variables, is_open

ops = _core.ops


# Resize: along each axis an output is a weighted sum of inputs, so a matrix for each axis does it.


def _origin(mode, out, n, scale, roi):
    """Where in the input each place of the output lies (ONNX's coordinate_transformation_mode)."""
    at = np.arange(out, dtype="float64")
    if mode == "half_pixel":
        return (at + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        adjustment = out / (scale * n)
        return n / 2 * (1 - adjustment) + (at + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return (at + 0.5) / scale - 0.5 if out > 1 else np.full(out, -0.5)
    if mode == "align_corners":
        return np.zeros(out) if out == 1 else at * (n - 1) / (scale * n - 1)
    if mode == "asymmetric":
        return at / scale
    if mode == "tf_half_pixel_for_nn":
        return (at + 0.5) / scale
    if mode == "tf_crop_and_resize":
        start, end = roi
        if out == 1:
            return np.full(1, 0.5 * (start + end) * (n - 1))
        return start * (n - 1) + at * (end - start) * (n - 1) / (out - 1)
    raise InvalidArgumentError(f"coordinate_transformation_mode must be one of ONNX's, got {mode}")


def _nearest(mode, at):
    if mode == "round_prefer_floor":
        return np.ceil(at - 0.5)
    if mode == "round_prefer_ceil":
        return np.floor(at + 0.5)
    if mode in ("floor", "ceil"):
        return np.floor(at) if mode == "floor" else np.ceil(at)
    raise InvalidArgumentError(f"nearest_mode must be one of ONNX's, got {mode}")


def _linear(distance):
    return np.clip(1 - np.abs(distance), 0, None)


def _cubic(distance, a):
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def _weights(call, mode, out, n, scale, roi):
    """[out, n]: how much each input counts, and which outputs lie outside."""
    how = call.attr("coordinate_transformation_mode", "half_pixel")
    at = _origin(how, out, n, scale, roi)
    outside = (at < 0) | (at > n - 1) if how == "tf_crop_and_resize" else np.zeros(out, bool)
    if mode == "nearest":
        index = np.clip(_nearest(call.attr("nearest_mode", "round_prefer_floor"), at), 0, n - 1)
        return index.astype("int64"), outside
    stretch = min(scale, 1.0) if call.attr("antialias", 0) else 1.0
    reach = (1 if mode == "linear" else 2) / stretch
    low = np.floor(at - reach).astype(int)
    taps = np.arange(int(math.ceil(2 * reach)) + 3)
    places = low[:, None] + taps
    distance = (places - at[:, None]) * stretch
    each = (
        _linear(distance)
        if mode == "linear"
        else _cubic(distance, call.attr("cubic_coeff_a", -0.75))
    )
    if call.attr("exclude_outside", 0):
        each = np.where((places < 0) | (places >= n), 0.0, each)
    each = each / each.sum(1, keepdims=True)
    matrix = np.zeros((out, n))
    rows = np.repeat(np.arange(out), places.shape[1])
    np.add.at(matrix, (rows, np.clip(places, 0, n - 1).reshape(-1)), each.reshape(-1))
    return matrix, outside


def _along(call, x, axis, matrix, dtype):
    rank = call.rank(x)
    matrix = call.constant(matrix.astype("float64" if dtype == "float64" else "float32"))
    if axis == rank - 1:
        return dygraph.matmul(x, dygraph.permute_dims(matrix, [1, 0]))
    if axis == rank - 2:
        return dygraph.matmul(matrix, x)
    perm = [i for i in range(rank) if i != axis] + [axis]
    x = dygraph.matmul(dygraph.permute_dims(x, perm), dygraph.permute_dims(matrix, [1, 0]))
    return dygraph.permute_dims(x, np.argsort(perm).tolist())


@rule("Resize", "Upsample", known=(1, 2, 3))
def resize(call, x, *given):
    given = [*given, None, None, None]
    roi, scales, sizes = given[:3]
    if call.node.op_type == "Upsample":
        scales, roi, sizes = (given[0] if call.opset >= 9 else None), None, None
        if call.opset < 9:
            scales = call.constant(np.array(call.needs("scales"), "float32"))
    elif call.opset < 11:
        scales, roi = given[0], None
    scales = call.numbers(scales, "the scales of Resize")
    sizes = call.integers(sizes, "the sizes of Resize")
    scales = None if scales is None or not scales.size else scales.astype("float64").tolist()
    rank, own = call.rank(x), call.shape(x)
    axes = [call.axis(a, rank) for a in call.attr("axes", list(range(rank)))]
    if (scales is None) == (not sizes):
        raise InvalidArgumentError("Resize must have either scales or sizes, got both or neither")
    mode = call.attr("mode", "nearest")
    old = call.node.op_type == "Upsample" or call.opset < 11
    if old:
        call.node.attributes = {
            **call.node.attributes, "coordinate_transformation_mode": "asymmetric",
            "nearest_mode": "floor",
        }  # fmt: skip
    if mode not in ("nearest", "linear", "cubic"):
        raise InvalidArgumentError(f"mode must be nearest, linear or cubic, got {mode}")
    corners = call.numbers(roi, "the roi of Resize") if roi is not None else None
    resized = {}
    for i, axis in enumerate(axes):
        if scales is not None and scales[i] == 1.0 and corners is None:
            continue
        if isinstance(own[axis], Size):
            if sizes and isinstance(sizes[i], Size):
                continue  # the batch and channels, as shapes are computed for upsampling
            return _resize_open(call, x, axes, scales, sizes, mode)
        resized[axis] = scales[i] if scales is not None else sizes[i] / own[axis]
    policy = call.attr("keep_aspect_ratio_policy", "stretch")
    if sizes and policy != "stretch":
        factor = (min if policy == "not_larger" else max)(resized.values())
        resized = dict.fromkeys(resized, factor)
        sizes = [int(math.floor(own[a] * factor + 0.5)) for a in axes]
    outside = {}
    dtype = str(x.dtype)
    wide = x if mode == "nearest" or dtype in ("float32", "float64") else x.astype("float32")
    for i, axis in enumerate(axes):
        if axis not in resized:
            continue
        n, scale = own[axis], resized[axis]
        out = sizes[i] if sizes else int(math.floor(n * scale))
        if out < 1 or n < 1:
            raise InvalidArgumentError(
                f"Resize must keep an element of each axis, got {out} of {n}"
            )
        call.room(out * n)
        part = (
            (0.0, 1.0)
            if corners is None or not corners.size
            else (corners[i], corners[i + len(axes)])
        )
        matrix, missing = _weights(call, mode, out, n, scale, part)
        if missing.any():
            outside[axis] = missing
        if mode == "nearest":
            if out != n or (matrix != np.arange(n)).any():
                wide = ops.gather(wide, call.constant(matrix), axis=axis)
        elif out != n or not np.array_equal(matrix, np.eye(n)):
            wide = _along(call, wide, axis, matrix, dtype)
    value = call.attr("extrapolation_value", 0.0)
    for axis, missing in outside.items():
        shape = [-1 if j == axis else 1 for j in range(rank)]
        mask = call.constant(missing.reshape(shape))
        wide = dygraph.where(mask, dygraph.zeros_like(wide) + value, wide)
    return wide if str(wide.dtype) == dtype else wide.astype(dtype)


def _resize_open(call, x, axes, scales, sizes, mode):
    """Images of open size: by the library's operators, for the ways that they have."""
    how = call.attr("coordinate_transformation_mode", "half_pixel")
    rank = call.rank(x)
    space = list(range(2, rank))
    fits = rank == 4 and mode in ("nearest", "linear") and not call.attr("antialias", 0)
    factor = dict(zip(axes, scales, strict=True)) if scales else None
    if mode == "nearest":
        near = call.attr("nearest_mode", "round_prefer_floor")
        whole = factor and all(float(factor.get(a, 1.0)).is_integer() for a in space)
        fits = fits and (how == "asymmetric" and near == "floor" or whole and how == "half_pixel")
    fits = fits and how in ("asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel")
    if not fits or factor is not None and any(factor.get(a, 1.0) != 1.0 for a in (0, 1)):
        raise UnimplementedError(
            f"Resize must know the sizes of space for mode {mode} with {how}, got {call.shape(x)}"
        )
    attrs = {"align_corners": how == "align_corners", "align_mode": int(how == "asymmetric")}
    name = "nearest_interp_v2" if mode == "nearest" else "bilinear_interp_v2"
    attrs["interp_method"] = "nearest" if mode == "nearest" else "bilinear"
    inputs = {"X": x}
    if factor is not None:
        attrs["scale"] = [factor.get(a, 1.0) for a in space]
    else:
        wanted = dict(zip(axes, sizes, strict=True))
        if not is_open([wanted[a] for a in space]):
            attrs["out_h"], attrs["out_w"] = wanted[2], wanted[3]
        else:
            inputs["SizeTensor"] = as_variables([wanted[a] for a in space])
    return _core.run_op(name, inputs, attrs)["Out"]


@rule("GridSample")
def grid_sample(call, x, grid):
    mode = call.attr("mode", "bilinear")
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    corners = bool(call.attr("align_corners", 0))
    padding = call.attr("padding_mode", "zeros")
    if call.rank(x) == 4 and mode == "bilinear" and padding != "reflection":
        return F.grid_sample(x, grid, mode, padding, corners)
    return _sampled(call, x, grid, mode, padding, corners)


def _sampled(call, x, grid, mode, padding, corners):
    """Samples at places of a grid, for any number of axes, as gathers from the flat image."""
    n = call.rank(x) - 2
    sizes, places = call.shape(x), call.shape(grid)
    if is_open(sizes) or is_open(places):
        raise UnimplementedError("GridSample of this mode must know the sizes, got open ones")
    batch, channels, space = sizes[0], sizes[1], sizes[2:]
    count = math.prod(places[1:-1])
    grid = ops.reshape2(grid, shape=[batch, count, n])
    at = []
    for i in range(n):  # the last number of a place is that of the first axis
        g = ops.squeeze2(ops.slice(grid, axes=[2], starts=[n - 1 - i], ends=[n - i]), axes=[2])
        size = space[i]
        g = (g + 1) / 2 * (size - 1) if corners else ((g + 1) * size - 1) / 2
        if padding == "border" and mode != "bicubic":
            g = dygraph.clip(g, 0, size - 1)
        elif padding == "reflection" and mode != "bicubic":
            g = _reflected(g, size, corners)
        at.append(g)
    taps = [
        {"nearest": _tap_nearest, "bilinear": _tap_linear, "bicubic": _tap_cubic}[mode](g)
        for g in at
    ]
    flat = ops.reshape2(x, shape=[batch, channels, math.prod(space)])
    total = None
    for combination in itertools.product(*taps):
        index, weight = None, None
        for i, (place, part) in enumerate(combination):
            size = space[i]
            if padding == "reflection":
                place = _reflected(place, size, corners)
            safe = dygraph.clip(place, 0, size - 1)
            if padding == "zeros":
                inside = dygraph.logical_and(place >= 0, place <= size - 1).astype(x.dtype)
                part = inside if part is None else part * inside
            safe = dygraph.round(safe).astype("int64")
            index = safe if index is None else index * size + safe
            if part is not None:
                weight = part if weight is None else weight * part
        index = dygraph.broadcast_to(ops.unsqueeze2(index, axes=[1]), [batch, channels, count])
        read = ops.take_along_axis(flat, index, Axis=2)
        if weight is not None:
            read = read * ops.unsqueeze2(weight, axes=[1])
        total = read if total is None else total + read
    return ops.reshape2(total, shape=[batch, channels, *places[1:-1]])


def _reflected(g, size, corners):
    low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
    span = high - low
    if span <= 0:
        return dygraph.zeros_like(g)
    g = dygraph.abs(g - low)
    turns = dygraph.floor(g / span)
    rest = g - turns * span
    odd = dygraph.remainder(turns, dygraph.ones_like(turns) * 2.0)
    g = dygraph.where(odd > 0.5, span - rest, rest) + low
    return dygraph.clip(g, 0, size - 1)


def _tap_nearest(g):
    return [(dygraph.round(g), None)]


def _tap_linear(g):
    low = dygraph.floor(g)
    t = g - low
    return [(low, 1.0 - t), (low + 1.0, t)]


def _tap_cubic(g, a=-0.75):
    low = dygraph.floor(g)
    t = g - low
    near = lambda d: ((a + 2) * d - (a + 3)) * d * d + 1  # noqa: E731
    far = lambda d: ((a * d - 5 * a) * d + 8 * a) * d - 4 * a  # noqa: E731
    return [
        (low - 1.0, far(t + 1.0)), (low, near(t)), (low + 1.0, near(1.0 - t)),
        (low + 2.0, far(2.0 - t)),
    ]  # fmt: skip


@rule("RoiAlign")
def roi_align(call, x, rois, batch):
    if call.attr("mode", "avg") != "avg":
        raise UnimplementedError("RoiAlign must have the mode avg, got max")
    images = call.shape(x)[0]
    if isinstance(images, Size):
        raise UnimplementedError("RoiAlign must know the number of images, got an open size")
    batch = batch.astype("int64")
    order = dygraph.argsort(batch)  # the operator takes regions image by image
    back = dygraph.argsort(order)
    places = call.constant(np.arange(images, dtype="int64").reshape([1, -1]))
    counts = ops.reduce_sum(
        dygraph.equal(ops.unsqueeze2(batch, axes=[1]), places).astype("int64"),
        dim=[0],
        keep_dim=False,
    )
    old = call.opset < 16
    aligned = call.attr("coordinate_transformation_mode", "half_pixel") == "half_pixel" and not old
    out = ops.roi_align(
        x, ops.gather(rois, order, axis=0), spatial_scale=call.attr("spatial_scale", 1.0),
        pooled_height=call.attr("output_height", 1), pooled_width=call.attr("output_width", 1),
        sampling_ratio=call.attr("sampling_ratio", 0) or -1, aligned=aligned,
        rois_num=counts.astype("int32"),
    )  # fmt: skip
    return ops.gather(out, back, axis=0)


@rule("NonMaxSuppression", known=(2, 3, 4))
def non_max_suppression(call, boxes, scores, most, overlap, least):
    batch, count, _ = call.shape(boxes)
    classes = call.shape(scores)[1]
    if is_open([batch, classes]):
        raise UnimplementedError("NonMaxSuppression must know the batch and classes")
    most = 0 if most is None else int(call.numbers(most, "max_output_boxes_per_class").item())
    overlap = 0.0 if overlap is None else float(call.numbers(overlap, "iou_threshold").item())
    least = None if least is None else float(call.numbers(least, "score_threshold").item())
    found = []
    for b in range(batch):
        own = ops.squeeze2(ops.slice(boxes, axes=[0], starts=[b], ends=[b + 1]), axes=[0])
        own = _corners(own, call.attr("center_point_box", 0))
        for c in range(classes):
            score = ops.slice(scores, axes=[0, 1], starts=[b, c], ends=[b + 1, c + 1]).reshape([-1])
            found.append(_suppressed(call, own, score, most, overlap, least, b, c))
    return ops.concat(found, axis=0) if len(found) > 1 else found[0]


def _corners(boxes, centred):
    columns = [ops.slice(boxes, axes=[1], starts=[i], ends=[i + 1]) for i in range(4)]
    if centred:
        x, y, w, h = columns
        return ops.concat([x - w / 2, y - h / 2, x + w / 2, y + h / 2], axis=1)
    a, b, c, d = columns
    low, high = dygraph.minimum, dygraph.maximum
    return ops.concat([low(b, d), low(a, c), high(b, d), high(a, c)], axis=1)


def _suppressed(call, boxes, score, most, overlap, least, b, c):
    """Rows (batch, class, box) of one class, the best box first."""
    order = dygraph.argsort(score, descending=True)
    if least is not None:
        kept = ops.where_index(ops.gather(score, order, axis=0) > least).reshape([-1])
        order = ops.gather(order, kept, axis=0)
    kept = ops.nms(ops.gather(boxes, order, axis=0), iou_threshold=overlap)
    order = ops.gather(order, kept, axis=0)
    order = ops.slice(order, axes=[0], starts=[0], ends=[most])
    index = ops.unsqueeze2(order, axes=[1])
    zero = index - index
    return ops.concat([zero + b, zero + c, index], axis=1)
