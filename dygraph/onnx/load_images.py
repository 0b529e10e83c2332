"""Rules for images: samples at places, regions, boxes."""

import itertools
import math

import numpy as np

import dygraph
from dygraph import _core
from dygraph.core.sizes import Size
from dygraph.errors import UnimplementedError
from dygraph.nn import functional as F
from dygraph.onnx.load_control import repeat
from dygraph.onnx.load_rules import rule
from dygraph.onnx.load_shape import is_open, steps_of

ops = _core.ops


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
    call.table(images)
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
    call.table(batch * classes << 12, "steps")
    most = call.variable(most) if most is not None else call.constant(np.array([0], "int64"))
    most = most.astype("int32").reshape([1])
    known = 0.0 if overlap is None else call.numbers(overlap)
    overlap = (
        call.variable(overlap).reshape([1]) if known is None else float(np.asarray(known).item())
    )
    least = None if least is None else call.variable(least).reshape([1])
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
    boxes = ops.gather(boxes, order, axis=0)
    if isinstance(overlap, float):
        kept = ops.nms(boxes, iou_threshold=overlap)
    else:
        kept = _kept_boxes(call, boxes, overlap)
    order = ops.gather(order, kept, axis=0)
    zero = call.constant(np.array([0], "int32"))
    order = ops.slice(
        order, axes=[0], starts=[0], ends=[0], starts_tensor_list=[zero], ends_tensor_list=[most],
        infer_flags=[-1],
    )  # fmt: skip
    index = ops.unsqueeze2(order, axes=[1])
    zero = index - index
    return ops.concat([zero + b, zero + c, index], axis=1)


def _kept_boxes(call, boxes, overlap):
    """Indices of boxes, the best first, that overlap no kept better one too much."""
    columns = [ops.slice(boxes, axes=[1], starts=[i], ends=[i + 1]) for i in range(4)]
    rows = [dygraph.permute_dims(c, [1, 0]) for c in columns]
    low, high = dygraph.maximum, dygraph.minimum
    zero = dygraph.zeros_like(columns[0])
    width = low(high(columns[2], rows[2]) - low(columns[0], rows[0]), zero)
    height = low(high(columns[3], rows[3]) - low(columns[1], rows[1]), zero)
    area = (columns[2] - columns[0]) * (columns[3] - columns[1])
    common = width * height
    whole = area + dygraph.permute_dims(area, [1, 0]) - common
    ratio = common / dygraph.where(whole > 0.0, whole, dygraph.ones_like(whole))
    near = (ratio > overlap).astype("float32")
    count = call.shape(boxes)[0]
    place = steps_of(call, count)

    def turn(step, holds, states):
        step = call.variable(step).reshape([1])
        own = ops.gather(states[0], step, axis=0)
        worse = (place > step).astype("float32")
        covered = ops.gather(near, step, axis=0).reshape([-1]) * worse * own
        return None, [states[0] * (1.0 - covered)], []

    first = dygraph.ones_like(columns[0]).reshape([-1]).astype("float32")
    (kept,), _ = repeat(call, count, None, turn, [first], 0)
    return ops.where_index(kept).reshape([-1])
