"""Functions of boxes: overlap, formats, priors and suppression; in `dygraph.vision.ops`.

Boxes are ``[n, 4]``: left, upper, right and lower sides, ``x0, y0, x1, y1``; float32 or float64.

Examples
--------
>>> import dygraph
>>> from dygraph.vision import ops
>>> boxes = dygraph.to_variable([[0.0, 0, 4, 4], [0, 0, 4, 3], [6, 6, 8, 8]])
>>> ops.nms(boxes, dygraph.to_variable([0.75, 0.5, 0.25]), 0.5).tolist()
[0, 2]
"""

import dygraph
from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of

__all__ = [
    "batched_nms", "box_area", "box_coder", "box_convert", "box_iou", "clip_boxes_to_image",
    "generalized_box_iou", "matrix_nms", "nms", "prior_box", "remove_small_boxes",
]  # fmt: skip


def _boxes(value, what):
    """A Variable whose last axis holds 4 numbers. ArgumentTypeError, InvalidArgumentError."""
    check.variable(value, what)
    if value.ndim < 1 or value.shape[-1] not in (4, -1):
        raise InvalidArgumentError(
            f"{what} must hold boxes, 4 numbers each, got shape {list(value.shape)}"
        )
    return value


def listed(value):
    """A number or numbers as a list; None as an empty one."""
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def pair(value, what):
    """Two numbers. InvalidArgumentError."""
    numbers = listed(value)
    if len(numbers) != 2:
        raise InvalidArgumentError(
            f"{what} must hold two numbers, a width and a height, got {value}"
        )
    return numbers


def box_area(boxes):
    """Width times height of each box.

    Parameters
    ----------
    boxes : Variable
        ``[n, 4]``.

    Returns
    -------
    Variable
        ``[n]``.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.vision.ops.box_area(dygraph.to_variable([[1.0, 1.0, 3.0, 4.0]])).tolist()
    [6.0]
    """
    _boxes(boxes, "box_area: boxes")
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def _shared(boxes1, boxes2):
    """(intersection, union) of all pairs."""
    sides = dygraph.minimum(boxes1[:, None, 2:], boxes2[:, 2:]) - dygraph.maximum(
        boxes1[:, None, :2], boxes2[:, :2]
    )
    sides = dygraph.clip(sides, min=0)
    both = sides[..., 0] * sides[..., 1]
    return both, box_area(boxes1)[:, None] + box_area(boxes2) - both


def box_iou(boxes1, boxes2):
    """Intersection over union of all boxes of one with all of the other.

    Parameters
    ----------
    boxes1, boxes2 : Variable
        ``[n, 4]`` and ``[m, 4]``.

    Returns
    -------
    Variable
        ``[n, m]``; NaN where both have no area.

    Examples
    --------
    >>> import dygraph
    >>> a, b = (dygraph.to_variable([[x, 0.0, x + 2.0, 2.0]]) for x in (0.0, 1.0))
    >>> round(dygraph.vision.ops.box_iou(a, b).item(), 4)
    0.3333
    """
    _boxes(boxes1, "box_iou: boxes1")
    _boxes(boxes2, "box_iou: boxes2")
    both, union = _shared(boxes1, boxes2)
    return both / union


def generalized_box_iou(boxes1, boxes2):
    """`box_iou` less the share of the box around both that neither covers (Rezatofighi, 2019).

    Parameters
    ----------
    boxes1, boxes2 : Variable
        ``[n, 4]`` and ``[m, 4]``.

    Returns
    -------
    Variable
        ``[n, m]``, from -1 to 1.

    Examples
    --------
    >>> import dygraph
    >>> a, b = (dygraph.to_variable([[x, 0.0, x + 1.0, 1.0]]) for x in (0.0, 3.0))
    >>> dygraph.vision.ops.generalized_box_iou(a, b).item()
    -0.5
    """
    _boxes(boxes1, "generalized_box_iou: boxes1")
    _boxes(boxes2, "generalized_box_iou: boxes2")
    both, union = _shared(boxes1, boxes2)
    sides = dygraph.maximum(boxes1[:, None, 2:], boxes2[:, 2:]) - dygraph.minimum(
        boxes1[:, None, :2], boxes2[:, :2]
    )
    around = sides[..., 0] * sides[..., 1]
    return both / union - (around - union) / around


FORMATS = ("xyxy", "xywh", "cxcywh")


def box_convert(boxes, in_fmt, out_fmt):
    """Boxes in another format.

    Parameters
    ----------
    boxes : Variable
        ``[..., 4]``.
    in_fmt, out_fmt : str
        ``"xyxy"``: two corners; ``"xywh"``: corner, width and height; ``"cxcywh"``: centre, width
        and height.

    Returns
    -------
    Variable
        The shape of `boxes`.

    Raises
    ------
    InvalidArgumentError
        A format is another one.

    Examples
    --------
    >>> import dygraph
    >>> box = dygraph.to_variable([[1.0, 1.0, 3.0, 5.0]])
    >>> dygraph.vision.ops.box_convert(box, "xyxy", "cxcywh").tolist()
    [[2.0, 3.0, 2.0, 4.0]]
    """
    _boxes(boxes, "box_convert: boxes")
    check.choice(in_fmt, FORMATS, "box_convert: in_fmt")
    check.choice(out_fmt, FORMATS, "box_convert: out_fmt")
    low, size = boxes[..., :2], boxes[..., 2:]
    if in_fmt == "xyxy":
        size = size - low
    elif in_fmt == "cxcywh":
        low = low - size / 2
    if in_fmt == out_fmt:
        return boxes.clone()
    if out_fmt == "xyxy":
        size = low + size
    elif out_fmt == "cxcywh":
        low = low + size / 2
    return dygraph.concat([low, size], axis=-1)


def clip_boxes_to_image(boxes, size):
    """Boxes cut off at the borders of an image.

    Parameters
    ----------
    boxes : Variable
        ``[..., 4]`` in pixels.
    size : tuple of int
        Height and width of the image.

    Returns
    -------
    Variable
        The shape of `boxes`; x from 0 to width, y from 0 to height.

    Examples
    --------
    >>> import dygraph
    >>> boxes = dygraph.to_variable([[-1.0, 2.0, 30.0, 40.0]])
    >>> dygraph.vision.ops.clip_boxes_to_image(boxes, (10, 20)).tolist()
    [[0.0, 2.0, 20.0, 10.0]]
    """
    _boxes(boxes, "clip_boxes_to_image: boxes")
    height, width = check.integers(size, 2, "clip_boxes_to_image: size", 0)
    x = dygraph.clip(boxes[..., 0::2], min=0, max=width)
    y = dygraph.clip(boxes[..., 1::2], min=0, max=height)
    return dygraph.stack([x[..., 0], y[..., 0], x[..., 1], y[..., 1]], axis=-1)


def remove_small_boxes(boxes, min_size):
    """The indices of the boxes whose sides are both at least `min_size` long.

    Parameters
    ----------
    boxes : Variable
        ``[n, 4]``.
    min_size : float

    Returns
    -------
    Variable
        int64 ``[kept]``.

    Examples
    --------
    >>> import dygraph
    >>> boxes = dygraph.to_variable([[0.0, 0, 1, 9], [0, 0, 5, 5]])
    >>> dygraph.vision.ops.remove_small_boxes(boxes, 2.0).tolist()
    [1]
    """
    _boxes(boxes, "remove_small_boxes: boxes")
    sides = boxes[:, 2:] - boxes[:, :2]
    large = (sides[:, 0] >= min_size) & (sides[:, 1] >= min_size)
    return _core.run_op("where_index", {"Condition": large}, {}, {})["Out"][:, 0]


def _kept(boxes, scores, categories, iou_threshold):
    """The numbers of the boxes kept, best first."""
    order = None
    if scores is not None:
        attrs = {"axis": -1, "descending": True}
        order = _core.run_op("argsort", {"X": scores}, attrs, {})["Indices"]
        boxes = _core.ops.gather(boxes, order)
        categories = None if categories is None else _core.ops.gather(categories, order)
    inputs = {"Boxes": boxes}
    if categories is not None:
        inputs["Categories"] = categories
    kept = _core.run_op("nms", inputs, {"iou_threshold": iou_threshold}, {})["KeepBoxesIdxs"]
    return kept if order is None else _core.ops.gather(order, kept)


def nms(boxes, iou_threshold=0.3, scores=None, category_idxs=None, categories=None, top_k=None):
    """Non-maximum suppression: the boxes that overlap with no better one that is kept.

    ``nms(boxes, scores, iou_threshold)``, as of torchvision, is taken too.

    Parameters
    ----------
    boxes : Variable
        ``[n, 4]``.
    iou_threshold : float, default 0.3
        The greatest intersection over union of boxes that are kept.
    scores : Variable, optional
        ``[n]``. None: the first boxes are the best.
    category_idxs : Variable, optional
        int64 ``[n]``: only boxes of one category are compared.
    categories : list of int, optional
        The categories that count, with `category_idxs`; the others are left out.
    top_k : int, optional
        At most so many of the boxes kept.

    Returns
    -------
    Variable
        int64 ``[kept]``: numbers of boxes, the best first.

    Raises
    ------
    ArgumentTypeError
        `boxes` or `scores` is not a Variable, or `iou_threshold` not a number.

    Examples
    --------
    >>> import dygraph
    >>> boxes = dygraph.to_variable([[0.0, 0, 4, 4], [0, 0, 4, 3], [6, 6, 8, 8]])
    >>> scores = dygraph.to_variable([0.25, 0.75, 0.5])
    >>> dygraph.vision.ops.nms(boxes, 0.5, scores).tolist()
    [1, 2]
    """
    if isinstance(iou_threshold, _core.Variable):  # torchvision's order
        iou_threshold, scores = scores, iou_threshold
    _boxes(boxes, "nms: boxes")
    check.number(iou_threshold, "nms: iou_threshold")
    if scores is not None:
        check.variable(scores, "nms: scores")
    if (category_idxs is None) != (categories is None):
        raise ArgumentTypeError(
            "nms: category_idxs and categories go together, got "
            f"{kind_of(category_idxs)} and {kind_of(categories)}"
        )
    chosen = None
    if categories is not None:
        counts = False
        for category in categories:
            counts = (category_idxs == category) | counts
        chosen = _core.run_op("where_index", {"Condition": counts}, {}, {})["Out"][:, 0]
        boxes, category_idxs = (_core.ops.gather(v, chosen) for v in (boxes, category_idxs))
        scores = None if scores is None else _core.ops.gather(scores, chosen)
    kept = _kept(boxes, scores, category_idxs, iou_threshold)
    if chosen is not None:
        kept = _core.ops.gather(chosen, kept)
    return kept if top_k is None else kept[: check.integer(top_k, "nms: top_k", 0)]


def batched_nms(boxes, scores, idxs, iou_threshold):
    """`nms` in which only boxes of one category are compared.

    Parameters
    ----------
    boxes : Variable
        ``[n, 4]``.
    scores : Variable
        ``[n]``.
    idxs : Variable
        int64 ``[n]``: the category of each box.
    iou_threshold : float
        The greatest intersection over union of boxes that are kept.

    Returns
    -------
    Variable
        int64 ``[kept]``: numbers of boxes, the best first.

    Examples
    --------
    >>> import dygraph
    >>> boxes = dygraph.to_variable([[0.0, 0, 4, 4], [0, 0, 4, 4], [0, 0, 4, 4]])
    >>> scores, kinds = dygraph.to_variable([0.25, 0.75, 0.5]), dygraph.to_variable([0, 0, 1])
    >>> dygraph.vision.ops.batched_nms(boxes, scores, kinds, 0.5).tolist()
    [1, 2]
    """
    _boxes(boxes, "batched_nms: boxes")
    for value, word in ((scores, "scores"), (idxs, "idxs")):
        check.variable(value, f"batched_nms: {word}")
    return _kept(boxes, scores, idxs, check.number(iou_threshold, "batched_nms: iou_threshold"))


def prior_box(
    input, image, min_sizes, max_sizes=None, aspect_ratios=[1.0],  # noqa: B006
    variance=[0.1, 0.1, 0.2, 0.2], flip=False, clip=False, steps=[0.0, 0.0],  # noqa: B006
    offset=0.5, min_max_aspect_ratios_order=False, name=None,
):  # fmt: skip
    """The default boxes of SSD (Liu and others, 2016) at each cell of a feature map.

    For each min size ``s`` there is a box ``s * sqrt(r)`` wide and ``s / sqrt(r)`` high for each
    ratio ``r``, and with a max size ``m`` a square of ``sqrt(s * m)``.

    Parameters
    ----------
    input, image : Variable
        Feature map and image, ``[batch, channels, height, width]``; their sizes are read.
    min_sizes, max_sizes, aspect_ratios : list of float
        What boxes there are: sizes in pixels, widths over heights.
    variance : list of float
        Four numbers that go with each box.
    flip : bool
        Also the inverse ratios.
    clip : bool
        Cut boxes off at the borders of the image.
    steps : list of float
        Width and height of a cell in pixels; 0: image over feature map.
    offset : float
        Of the centre in the cell.
    min_max_aspect_ratios_order : bool
        True: the square of the max size is second at each cell, as in Caffe; else last.
    name : str, optional
        The name of the results in a program.

    Returns
    -------
    boxes, variances : Variable
        ``[height, width, boxes of a cell, 4]``; sides in parts of the image.

    Examples
    --------
    >>> import dygraph
    >>> map, image = dygraph.zeros([1, 8, 1, 1]), dygraph.zeros([1, 3, 4, 4])
    >>> dygraph.vision.ops.prior_box(map, image, [2.0])[0].tolist()
    [[[[0.25, 0.25, 0.75, 0.75]]]]
    """
    step_w, step_h = pair(steps, "prior_box: steps")
    most = listed(max_sizes)
    attrs = {
        "min_sizes": listed(min_sizes), "max_sizes": most if most and most[0] > 0 else [],
        "aspect_ratios": listed(aspect_ratios), "variances": listed(variance), "flip": bool(flip),
        "clip": bool(clip), "step_w": step_w, "step_h": step_h, "offset": offset,
        "min_max_aspect_ratios_order": bool(min_max_aspect_ratios_order),
    }  # fmt: skip
    found = _core.run_op("prior_box", {"Input": input, "Image": image}, attrs, {})
    return found["Boxes"], found["Variances"]


def box_coder(
    prior_box, prior_box_var, target_box, code_type="encode_center_size", box_normalized=True,
    axis=0, name=None,
):  # fmt: skip
    """Boxes as codes relative to prior boxes, or the reverse.

    With centre and size ``x, y, w, h`` of a target ``t`` and of a prior box ``p``, its code is
    ``((tx - px) / pw, (ty - py) / ph, log(tw / pw), log(th / ph))`` divided by the variances.

    Parameters
    ----------
    prior_box : Variable
        ``[m, 4]``.
    prior_box_var : Variable, list of float or None
        Variances ``[m, 4]``, or four numbers for all boxes; None: 1.
    target_box : Variable
        To encode, boxes ``[n, 4]``; to decode, codes ``[n, m, 4]``.
    code_type : str
        ``"encode_center_size"`` or ``"decode_center_size"``.
    box_normalized : bool, default True
        False: sides are pixels, and a box from 2 to 4 is 3 wide.
    axis : int, default 0
        To decode: 0 where prior boxes belong to the columns of `target_box`, 1: to its rows.
    name : str, optional
        The name of the result in a program.

    Returns
    -------
    Variable
        ``[n, m, 4]``.

    Examples
    --------
    >>> import dygraph
    >>> prior = dygraph.to_variable([[0.0, 0.0, 2.0, 2.0]])
    >>> dygraph.vision.ops.box_coder(prior, None, prior).tolist()
    [[[0.0, 0.0, 0.0, 0.0]]]
    """
    inputs = {"PriorBox": prior_box, "TargetBox": target_box}
    attrs = {"code_type": code_type, "box_normalized": bool(box_normalized), "axis": axis}
    if isinstance(prior_box_var, _core.Variable):
        inputs["PriorBoxVar"] = prior_box_var
    elif prior_box_var is not None:
        attrs["variance"] = list(prior_box_var)
    return _core.run_op("box_coder", inputs, attrs, {})["OutputBox"]


def matrix_nms(
    bboxes, scores, score_threshold, post_threshold, nms_top_k, keep_top_k, use_gaussian=False,
    gaussian_sigma=2.0, background_label=0, normalized=True, return_index=False,
    return_rois_num=True, name=None,
):  # fmt: skip
    """Matrix NMS (SOLOv2, Wang and others, 2020): scores decay where better boxes overlap.

    Parameters
    ----------
    bboxes : Variable
        ``[batch, M, 4]``.
    scores : Variable
        ``[batch, classes, M]``.
    score_threshold, post_threshold : float
        Only boxes whose score, and whose decayed score, is greater count.
    nms_top_k, keep_top_k : int
        At most so many boxes of a class, and of an image; -1: all.
    use_gaussian : bool, default False
        True: the decay is Gaussian; False: linear.
    gaussian_sigma : float, default 2.0
        Of the Gaussian decay.
    background_label : int, default 0
        The class that is left out; -1: none.
    normalized : bool, default True
        False: sides are pixels, and a box from 2 to 4 is 3 wide.
    return_index, return_rois_num : bool
        Whether to give the last two results; else they are None.
    name : str, optional
        The name of the results in a program.

    Returns
    -------
    out : Variable
        Rows ``[class, decayed score, box]``, ``[kept, 6]``.
    rois_num : Variable or None
        int32 ``[batch]``: how many are kept of each image.
    index : Variable or None
        int32 ``[kept, 1]``: the number of each box among those of all images.

    Examples
    --------
    >>> import dygraph
    >>> boxes, scores = dygraph.zeros([1, 1, 4]), dygraph.ones([1, 1, 1])
    >>> out, counts, index = dygraph.vision.ops.matrix_nms(
    ...     boxes, scores, 0.1, 0.0, -1, -1, background_label=-1)
    >>> out.tolist(), counts.tolist(), index
    ([[0.0, 1.0, 0.0, 0.0, 0.0, 0.0]], [1], None)
    """
    attrs = {
        "score_threshold": score_threshold, "post_threshold": post_threshold,
        "nms_top_k": nms_top_k, "keep_top_k": keep_top_k, "use_gaussian": bool(use_gaussian),
        "gaussian_sigma": gaussian_sigma, "background_label": background_label,
        "normalized": bool(normalized),
    }  # fmt: skip
    found = _core.run_op("matrix_nms", {"BBoxes": bboxes, "Scores": scores}, attrs, {})
    counts = found["RoisNum"] if return_rois_num else None
    return found["Out"], counts, found["Index"] if return_index else None
