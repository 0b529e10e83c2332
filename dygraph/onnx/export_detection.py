"""Boxes; different elements."""

import numpy as np

from dygraph import _core
from dygraph.onnx.export_graph import Block, Call, operator, type_of
from dygraph.onnx.export_sequence import numbers
from dygraph.onnx.package import helper


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


def chosen(c, condition, yes, no, dtype):
    """One of two values, whose shapes may differ."""
    graphs = []
    for value in (yes, no):
        block = Block(c.model, c.block.program, c.block)
        made = Call(block, c.op).copy(value)
        info = helper.make_tensor_value_info(made, type_of(dtype), None)
        graphs.append(block.graph("branch", [], [info]))
    return c.If(condition, then_branch=graphs[0], else_branch=graphs[1])


@operator("multiclass_nms", "multiclass_nms2", "multiclass_nms3")
def _multiclass_nms(c):
    c.require(c.rank("Scores") == 3 and not c.has("RoisNum"), "ragged boxes")
    c.require(c.dims("BBoxes")[2] != -1, "the size of BBoxes along axis 2 is open")
    c.require(c.dims("BBoxes")[2] == 4, "polygons")
    c.require(c.attr("normalized"), "boxes of pixels (normalized=False)")
    c.require(c.attr("nms_eta") >= 1, "a threshold that adapts (nms_eta)")
    boxes, scores = c["BBoxes"], c["Scores"]
    n, classes, count = c.sizes("Scores")
    whole = np.array([], np.int64)
    low = c.scalar(float("-inf"))
    if c.attr("background_label") >= 0:
        other = c.Equal(c.range(classes), c.scalar(c.attr("background_label"), "int64"))
        scores = c.Where(c.Unsqueeze(other, axes=[1]), low, scores)
    total = c.vector([count])
    if c.attr("nms_top_k") > -1:
        most = c.Min(total, np.array([c.attr("nms_top_k")]))
        best, places = c.TopK(scores, most, axis=2, largest=1, sorted=1, outputs=2)
        scores = c.ScatterElements(c.Expand(low, c.Shape(scores)), places, best, axis=2)
    found = c.NonMaxSuppression(
        boxes, scores, total, c.scalar(c.attr("nms_threshold"), "float32"),
        c.scalar(c.attr("score_threshold"), "float32"),
    )  # fmt: skip
    score = c.GatherND(scores, found)
    image, kind, box = (c.Squeeze(c.slice(found, [i], [i + 1], [1]), axes=[1]) for i in range(3))
    if c.attr("keep_top_k") > -1:
        rows = lambda v: c.Unsqueeze(v, axes=[1])  # noqa: E731
        columns = lambda v: c.Unsqueeze(v, axes=[0])  # noqa: E731
        place = c.range(c.Shape(score))
        tie = c.And(c.Equal(columns(score), rows(score)), c.Less(columns(place), rows(place)))
        better = c.Or(c.Greater(columns(score), rows(score)), tie)
        before = c.And(better, c.Equal(columns(image), rows(image)))
        rank = c.ReduceSum(c.cast(before, "int64"), axes=[1], keepdims=0)
        kept = c.Less(rank, c.scalar(c.attr("keep_top_k"), "int64"))
        score, image, kind, box = (c.Compress(v, kept, axis=0) for v in (score, image, kind, box))
    sides = c.GatherND(
        boxes, c.Concat(c.Unsqueeze(image, axes=[1]), c.Unsqueeze(box, axes=[1]), axis=1)
    )
    made = c.Concat(
        c.Unsqueeze(c.cast(kind, c.dtype), axes=[1]), c.Unsqueeze(score, axes=[1]), sides, axis=1
    )
    own = c.Equal(c.Unsqueeze(image, axes=[1]), c.Unsqueeze(c.range(n), axes=[0]))
    lengths = c.ReduceSum(c.cast(own, "int64"), axes=[0], keepdims=0)
    index = c.Add(c.Mul(image, c.Reshape(total, whole)), box)
    index = c.Unsqueeze(c.cast(index, "int32"), axes=[1])
    if c.op.type == "multiclass_nms":
        none = c.Equal(c.Size(made), c.scalar(0, "int64"))
        made = chosen(c, none, c.value(np.full([1, 1], -1, c.dtype)), made, c.dtype)
        lengths = chosen(c, none, c.value(np.ones(1, np.int64)), lengths, "int64")
    result = {"Out": (made, lengths), "Index": (index, lengths)}
    if c.op.type == "multiclass_nms3":
        result["NmsRoisNum"] = (c.cast(lengths, "int32"), None)
    return result
