"""Boxes; different elements."""

import numpy as np

from dygraph import _core
from dygraph.onnx.export_graph import operator
from dygraph.onnx.export_sequence import numbers


@operator("prior_box", "density_prior_box", "anchor_generator")
def _boxes_of_cells(c):
    """Boxes follow from sizes and attributes: our own operator makes them here."""
    slots = {}
    for slot in ("Input", "Image") if c.op.type != "anchor_generator" else ("Input",):
        n, channels, *space = c.dims(slot)
        c.require(-1 not in space, f"the sizes of {slot} in space are open")
        shape = [1 if size < 0 else size for size in (n, channels)] + list(space)
        slots[slot] = _core.to_variable(np.zeros(shape, "float32"))
    attrs = {a["name"]: c.attr(a["name"]) for a in c.info["attrs"]}
    made = _core.run_op(c.op.type, slots, attrs, {})
    return {slot: c.value(value.numpy()) for slot, value in made.items()}


def _sides(c, boxes):
    """The four columns of [..., 4], each [..., 1]."""
    return [c.slice(boxes, [i], [i + 1], [-1]) for i in range(4)]


def _middles(c, boxes, extra):
    """(x, y, width, height) of boxes."""
    left, top, right, bottom = _sides(c, boxes)
    width, height = c.Add(c.Sub(right, left), extra), c.Add(c.Sub(bottom, top), extra)
    return c.Add(left, c.Mul(width, 0.5)), c.Add(top, c.Mul(height, 0.5)), width, height


@operator("box_coder")
def _box_coder(c):
    extra = 0.0 if c.attr("box_normalized") else 1.0
    decodes = c.attr("code_type") == "decode_center_size"
    axis = 1 if decodes and c.attr("axis") == 1 else 0
    prior = c.Unsqueeze(c["PriorBox"], axes=[axis])  # along the columns, or the rows
    px, py, pw, ph = _middles(c, prior, extra)
    given = c.attr("variance")
    if c.has("PriorBoxVar"):
        variances = _sides(c, c.Unsqueeze(c["PriorBoxVar"], axes=[axis]))
    else:
        variances = [c.scalar(float(v)) for v in (given or [1.0] * 4)]
    if decodes:
        tx, ty, tw, th = (
            c.Mul(v, s) for v, s in zip(_sides(c, c["TargetBox"]), variances, strict=True)
        )
        x, y = c.Add(c.Mul(tx, pw), px), c.Add(c.Mul(ty, ph), py)
        w, h = c.Mul(c.Exp(tw), pw), c.Mul(c.Exp(th), ph)
        half_w, half_h = c.Mul(w, 0.5), c.Mul(h, 0.5)
        right, bottom = c.Sub(c.Add(x, half_w), extra), c.Sub(c.Add(y, half_h), extra)
        return c.Concat(c.Sub(x, half_w), c.Sub(y, half_h), right, bottom, axis=-1)
    target = c.Unsqueeze(c["TargetBox"], axes=[1])
    left, top, right, bottom = _sides(c, target)
    x, y = c.Mul(c.Add(left, right), 0.5), c.Mul(c.Add(top, bottom), 0.5)
    w, h = c.Add(c.Sub(right, left), extra), c.Add(c.Sub(bottom, top), extra)
    parts = [
        c.Div(c.Sub(x, px), pw), c.Div(c.Sub(y, py), ph), c.Log(c.Abs(c.Div(w, pw))),
        c.Log(c.Abs(c.Div(h, ph))),
    ]  # fmt: skip
    return c.Concat(*(c.Div(p, v) for p, v in zip(parts, variances, strict=True)), axis=-1)


@operator("iou_similarity")
def _iou(c):
    extra = 0.0 if c.attr("box_normalized") else 1.0
    x, y = c.Unsqueeze(c["X"], axes=[1]), c.Unsqueeze(c["Y"], axes=[0])
    one, other = _sides(c, x), _sides(c, y)

    def length(low, high):
        return c.Add(c.Sub(high, low), extra)

    def area(sides):
        return c.Mul(length(sides[0], sides[2]), length(sides[1], sides[3]))

    wide = length(c.Max(one[0], other[0]), c.Min(one[2], other[2]))
    high = length(c.Max(one[1], other[1]), c.Min(one[3], other[3]))
    both = c.Mul(c.Max(wide, 0.0), c.Max(high, 0.0))
    union = c.Add(c.Sub(c.Add(area(one), area(other)), both), 1e-10)
    return c.Squeeze(c.Div(both, union), axes=[2])


@operator("box_clip")
def _box_clip(c):
    boxes, info, rank = c["Input"], c["ImInfo"], c.rank("Input")
    if c.is_ragged("Input"):
        image, _ = numbers(c, c.lengths("Input"))
        info = c.Gather(info, image, axis=0)
    else:
        info = c.slice(info, [0], [1], [0])
    info = c.unsqueeze(info, list(range(1, rank - 1)))
    height, width, scale = (c.slice(info, [i], [i + 1], [-1]) for i in range(3))

    def border(size):
        """round(size / scale) - 1, halves away from 0."""
        return c.Sub(c.Floor(c.Add(c.Div(size, scale), 0.5)), 1.0)

    right, bottom = border(width), border(height)
    most = c.Concat(right, bottom, right, bottom, axis=-1)
    return c.Max(c.Min(boxes, most), 0.0)


@operator("polygon_box_transform")
def _polygon(c):
    n, channels, height, width = c.sizes()
    c.require(isinstance(channels, int), "the number of channels is open")
    columns = c.Reshape(c.cast(c.range(width), c.dtype), np.array([1, 1, 1, -1]))
    rows = c.Reshape(c.cast(c.range(height), c.dtype), np.array([1, 1, -1, 1]))
    even = (np.arange(channels) % 2 == 0).reshape(1, -1, 1, 1)
    return c.Sub(c.Mul(c.Where(even, columns, rows), 4.0), c.x)


@operator("yolo_box")
def _yolo_box(c):
    c.require(not c.attr("iou_aware"), "predicted overlaps (iou_aware)")
    n, _, height, width = c.sizes("X")
    anchors = np.array(c.attr("anchors"), c.dtype).reshape(-1, 2)
    count, classes = len(anchors), c.attr("class_num")
    x = c.Reshape(c["X"], c.vector([n, count, 5 + classes, height, width]))
    tx, ty, tw, th, to = (
        c.Squeeze(c.slice(x, [i], [i + 1], [2]), axes=[2]) for i in range(5)
    )  # [N, A, H, W]
    size = c.cast(c["ImgSize"], c.dtype)
    image_h, image_w = (
        c.Reshape(c.slice(size, [i], [i + 1], [1]), np.array([-1, 1, 1, 1])) for i in (0, 1)
    )
    number = lambda v: c.cast(c.squeeze(c.vector([v]), [0]), c.dtype)  # noqa: E731
    columns = c.Reshape(c.cast(c.range(width), c.dtype), np.array([1, 1, 1, -1]))
    rows = c.Reshape(c.cast(c.range(height), c.dtype), np.array([1, 1, -1, 1]))
    s, shift = c.attr("scale_x_y"), -0.5 * (c.attr("scale_x_y") - 1.0)
    down = float(c.attr("downsample_ratio"))

    def middle(t, places, image, cells):
        inside = c.Add(c.Mul(c.Sigmoid(t), s), shift)
        return c.Div(c.Mul(c.Add(inside, places), image), number(cells))

    def extent(t, own, image, cells):
        own = own.reshape(1, -1, 1, 1)
        return c.Div(c.Mul(c.Mul(c.Exp(t), own), image), c.Mul(number(cells), down))

    mx, my = middle(tx, columns, image_w, width), middle(ty, rows, image_h, height)
    w = extent(tw, anchors[:, 0], image_w, width)
    h = extent(th, anchors[:, 1], image_h, height)
    half_w, half_h = c.Mul(w, 0.5), c.Mul(h, 0.5)
    left, top = c.Sub(mx, half_w), c.Sub(my, half_h)
    right, bottom = c.Add(mx, half_w), c.Add(my, half_h)
    if c.attr("clip_bbox"):
        left, top = c.Max(left, 0.0), c.Max(top, 0.0)
        right = c.Min(right, c.Sub(image_w, 1.0))
        bottom = c.Min(bottom, c.Sub(image_h, 1.0))
    sure = c.Sigmoid(to)
    kept = c.Unsqueeze(c.GreaterOrEqual(sure, c.attr("conf_thresh")), axes=[4])
    boxes = c.Concat(*(c.Unsqueeze(v, axes=[4]) for v in (left, top, right, bottom)), axis=4)
    boxes = c.Where(kept, boxes, c.scalar(0.0))
    scores = c.Transpose(c.slice(x, [5], [5 + classes], [2]), perm=[0, 1, 3, 4, 2])
    scores = c.Mul(c.Sigmoid(scores), c.Unsqueeze(sure, axes=[4]))
    scores = c.Where(kept, scores, c.scalar(0.0))
    return {
        "Boxes": c.Reshape(boxes, c.vector([n, -1, 4])),
        "Scores": c.Reshape(scores, c.vector([n, -1, classes])),
    }


@operator("roi_align")
def _roi_align(c):
    if c.has("RoisNum"):
        counts = c.Reshape(c.cast(c["RoisNum"], "int64"), np.array([-1]))
    elif c.has("RoisLod"):
        offsets = c.cast(c["RoisLod"], "int64")
        counts = c.Sub(c.slice(offsets, [1], [2**62], [0]), c.slice(offsets, [0], [-1], [0]))
    else:
        counts = c.lengths("ROIs")
    image, _ = numbers(c, counts)
    mode = "half_pixel" if c.attr("aligned") else "output_half_pixel"
    return (
        c.RoiAlign(
            c["X"], c["ROIs"], image, coordinate_transformation_mode=mode, mode="avg",
            output_height=c.attr("pooled_height"), output_width=c.attr("pooled_width"),
            sampling_ratio=max(c.attr("sampling_ratio"), 0),
            spatial_scale=c.attr("spatial_scale"),
        ),
        None,
    )  # fmt: skip


@operator("nms")
def _nms(c):
    c.require(not c.has("Categories"), "categories")
    boxes = c["Boxes"]
    count = c.vector([c.size(boxes, 0, c.dims("Boxes"))])
    order = c.Neg(c.cast(c.range(count), "float32"))
    found = c.NonMaxSuppression(
        c.Unsqueeze(boxes, axes=[0]), c.Unsqueeze(order, axes=[0, 1]), count,
        c.scalar(c.attr("iou_threshold"), "float32"),
    )  # fmt: skip
    return c.Squeeze(c.slice(found, [2], [3], [1]), axes=[1])


# Different elements -------------------------------------------------------------------------------


@operator("unique", "unique_with_counts")
def _unique(c):
    plain = c.op.type == "unique_with_counts"
    ordered = not plain and c.attr("is_sorted")
    axes = [] if plain else list(c.attr("axis"))
    values, first, inverse, counts = c.Unique(
        c.x, outputs=4, sorted=int(bool(ordered)), axis=int(axes[0]) if axes else None
    )
    kind = c.dtype_attr()
    cast = (lambda v: v) if kind == "int64" else lambda v: c.cast(v, kind)
    made = {"Out": values, "Index": cast(inverse)}
    return {**made, "Count": cast(counts)} if plain else \
        {**made, "Indices": cast(first), "Counts": cast(counts)}  # fmt: skip


@operator("unique_consecutive")
def _unique_consecutive(c):
    c.require(not list(c.attr("axis")), "slices along an axis")
    x = c.Reshape(c.x, np.array([-1]))
    same = c.Equal(c.slice(x, [1], [2**62], [0]), c.slice(x, [0], [-1], [0]))
    if c.floating:
        nan = c.IsNaN(x)
        both = c.And(c.slice(nan, [1], [2**62], [0]), c.slice(nan, [0], [-1], [0]))
        same = c.Or(same, both)
    first = c.slice(c.Equal(c.Shape(x), np.array([0])), [0], [1], [0])
    new = c.Concat(c.Not(first), c.Not(same), axis=0)
    new = c.slice(new, [0], [c.Shape(x)], [0])
    index = c.Sub(c.CumSum(c.cast(new, "int64"), c.scalar(0, "int64")), c.scalar(1, "int64"))
    places = c.Squeeze(c.NonZero(new), axes=[0])
    ends = c.Concat(c.slice(places, [1], [2**62], [0]), c.Shape(x), axis=0)
    counts = c.Sub(ends, places)
    kind = c.dtype_attr()
    return {
        "Out": c.Compress(x, new, axis=0),
        "Index": c.cast(index, kind),
        "Counts": c.cast(counts, kind),
    }
