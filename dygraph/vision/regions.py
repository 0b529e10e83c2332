"""Regions, heads and proposals of detectors: the rest of `dygraph.vision.ops`.

Examples
--------
>>> import dygraph, numpy as np
>>> from dygraph.vision import regions
>>> x = dygraph.to_variable(np.arange(16.0).reshape(1, 1, 4, 4))
>>> boxes = dygraph.to_variable([[0.0, 0.0, 2.0, 2.0]]).astype("float64")
>>> regions.roi_align(x, [boxes], output_size=2, aligned=False).tolist()
[[[[2.5, 3.5], [6.5, 7.5]]]]
"""

import math

import dygraph
from dygraph import _core, initializer
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.nn.layer import Layer

__all__ = [
    "DeformConv2D", "PSRoIPool", "RoIAlign", "RoIPool", "deform_conv2d",
    "distribute_fpn_proposals", "generate_proposals", "psroi_pool", "roi_align", "roi_pool",
    "sigmoid_focal_loss", "yolo_box", "yolo_loss",
]  # fmt: skip


def _run(type, slots, attrs, counts=None):
    """The results of an operator by slot; inputs that are None are left out."""
    given = {slot: value for slot, value in slots.items() if value is not None}
    return _core.run_op(type, given, attrs, counts or {})


def _regions(x, boxes, boxes_num, owner):
    """{slot: value} of regions in Paddle's form, in torchvision's, or with a level of detail."""
    check.variable(x, f"{owner}: x")
    if boxes_num is not None and not isinstance(boxes_num, _core.Variable):
        raise ArgumentTypeError(
            f"{owner}: boxes_num must be a Variable with the number of boxes of each image, got "
            f"{kind_of(boxes_num)}. Write output_size=... by name"
        )
    if isinstance(boxes, (list, tuple)):  # one Variable for each image
        if boxes_num is not None:
            raise InvalidArgumentError(f"{owner}: a list of boxes says their numbers itself")
        for b in boxes:
            check.variable(b, f"{owner}: boxes")
        counts = [len(b) for b in boxes]
        boxes = dygraph.concat(list(boxes), axis=0)
        boxes_num = dygraph.to_variable(counts, dtype="int32")
    check.variable(boxes, f"{owner}: boxes")
    if len(boxes.shape) == 2 and boxes.shape[1] == 5 and boxes_num is None:
        raise InvalidArgumentError(
            f"{owner}: boxes must be [boxes, 4], got 5 columns. Give a list with the boxes of each "
            f"image in place of a column with its number"
        )
    return {"X": x, "ROIs": boxes, "RoisNum": boxes_num}


def _pooled(output_size, owner):
    high, wide = check.integers(output_size, 2, f"{owner}: output_size", 1)
    return {"pooled_height": high, "pooled_width": wide}


def roi_align(
    x, boxes, boxes_num=None, output_size=None, spatial_scale=1.0, sampling_ratio=-1, aligned=None,
    name=None,
):  # fmt: skip
    """Regions as grids of one size, by samples between pixels (He and others, Mask R-CNN, 2017).

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    boxes : Variable or list of Variable
        ``[boxes, 4]``, corners ``(x1, y1, x2, y2)``; or a list with those of each image.
    boxes_num : Variable, optional
        How many boxes each image has, ``[batch]`` int32; not for a list, nor for boxes with a
        level of detail.
    output_size : int or (int, int)
        Rows and columns of bins.
    spatial_scale : float, default 1.0
        Pixels of `x` for a unit of `boxes`.
    sampling_ratio : int, default -1
        Samples along each axis of a bin; 0 or less: as many as it has pixels, rounded up.
    aligned : bool
        True: pixels have their middles at halves. To be said, since Paddle's default is True and
        torchvision's False.
    name : str, optional
        Not used.

    Returns
    -------
    Variable
        ``[boxes, channels, *output_size]``

    Raises
    ------
    InvalidArgumentError
        `aligned` or `output_size` is not given, or the boxes do not fit `x`.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = dygraph.to_variable(np.arange(16.0).reshape(1, 1, 4, 4))
    >>> boxes = dygraph.to_variable(np.array([[0.0, 0.0, 3.0, 3.0]]))
    >>> one = dygraph.to_variable(np.array([1], "int32"))
    >>> dygraph.vision.ops.roi_align(x, boxes, one, 1, aligned=False).tolist()
    [[[[7.5]]]]
    """
    if aligned is None:
        raise InvalidArgumentError(
            "roi_align: aligned must be given, for Paddle's default is True and torchvision's "
            "False. Write aligned=True or aligned=False"
        )
    slots = _regions(x, boxes, boxes_num, "roi_align")
    attrs = {
        **_pooled(output_size, "roi_align"), "spatial_scale": spatial_scale,
        "sampling_ratio": sampling_ratio, "aligned": bool(aligned),
    }  # fmt: skip
    return _run("roi_align", slots, attrs)["Out"]


def roi_pool(x, boxes, boxes_num=None, output_size=None, spatial_scale=1.0, name=None):
    """Regions as grids of one size, by their greatest pixels (Girshick, Fast R-CNN, 2015).

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    boxes : Variable or list of Variable
        ``[boxes, 4]``, corners ``(x1, y1, x2, y2)``; or a list with those of each image.
    boxes_num : Variable, optional
        How many boxes each image has, ``[batch]`` int32; not for a list, nor for boxes with a
        level of detail.
    output_size : int or (int, int)
        Rows and columns of bins.
    spatial_scale : float, default 1.0
        Pixels of `x` for a unit of `boxes`.
    name : str, optional
        Not used.

    Returns
    -------
    Variable
        ``[boxes, channels, *output_size]``

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = dygraph.to_variable(np.arange(16.0).reshape(1, 1, 4, 4))
    >>> boxes = [dygraph.to_variable(np.array([[0.0, 0.0, 3.0, 2.0]]))]
    >>> dygraph.vision.ops.roi_pool(x, boxes, output_size=(1, 2)).tolist()
    [[[[9.0, 11.0]]]]
    """
    slots = _regions(x, boxes, boxes_num, "roi_pool")
    attrs = {**_pooled(output_size, "roi_pool"), "spatial_scale": spatial_scale}
    return _run("roi_pool", slots, attrs)["Out"]


def psroi_pool(x, boxes, boxes_num=None, output_size=None, spatial_scale=1.0, name=None):
    """Regions of position-sensitive score maps (Dai and others, R-FCN, 2016).

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``, the channels a multiple of the bins; float32 or
        float64.
    boxes : Variable or list of Variable
        ``[boxes, 4]``, corners ``(x1, y1, x2, y2)``; or a list with those of each image.
    boxes_num : Variable, optional
        How many boxes each image has, ``[batch]`` int32; not for a list, nor for boxes with a
        level of detail.
    output_size : int or (int, int)
        Rows and columns of bins.
    spatial_scale : float, default 1.0
        Pixels of `x` for a unit of `boxes`.
    name : str, optional
        Not used.

    Returns
    -------
    Variable
        ``[boxes, channels / bins, *output_size]``

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = dygraph.to_variable(np.arange(16.0).reshape(1, 4, 2, 2))
    >>> boxes = [dygraph.to_variable(np.array([[0.0, 0.0, 1.0, 1.0]]))]
    >>> dygraph.vision.ops.psroi_pool(x, boxes, output_size=2).tolist()
    [[[[0.0, 5.0], [10.0, 15.0]]]]
    """
    slots, attrs = _regions(x, boxes, boxes_num, "psroi_pool"), _pooled(output_size, "psroi_pool")
    bins = attrs["pooled_height"] * attrs["pooled_width"]
    if len(x.shape) == 4 and x.shape[1] % bins:
        raise InvalidArgumentError(
            f"psroi_pool: the channels of x must be a multiple of the {bins} bins, got shape "
            f"{list(x.shape)}"
        )
    attrs.update(spatial_scale=spatial_scale, output_channels=x.shape[1] // bins)
    return _run("psroi_pool", slots, attrs)["Out"]


def deform_conv2d(
    x, offset, weight, bias=None, stride=1, padding=0, dilation=1, deformable_groups=None, groups=1,
    mask=None, name=None,
):  # fmt: skip
    """A convolution whose taps move (Dai and others, 2017; Zhu and others, 2019).

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    offset : Variable
        ``[batch, 2 * deformable_groups * taps, new height, new width]``: how far each tap moves
        down, and across, in pixels.
    weight : Variable
        ``[out channels, channels / groups, height, width]``
    bias : Variable, optional
        ``[out channels]``
    stride, padding, dilation : int or (int, int)
        For height and width.
    deformable_groups : int, optional
        Groups of channels with offsets of their own; None: what `offset` has.
    groups : int, default 1
        Groups of channels with filters of their own.
    mask : Variable, optional
        ``[batch, deformable_groups * taps, new height, new width]``, what each tap is multiplied
        by.
    name : str, optional
        Not used.

    Returns
    -------
    Variable
        ``[batch, out channels, new height, new width]``

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = dygraph.to_variable(np.arange(9.0).reshape(1, 1, 3, 3))
    >>> offset = dygraph.full([1, 2, 3, 3], 0.5, "float64")
    >>> weight = dygraph.ones([1, 1, 1, 1], "float64")
    >>> dygraph.vision.ops.deform_conv2d(x, offset, weight).tolist()
    [[[[2.0, 3.0, 1.75], [5.0, 6.0, 3.25], [3.25, 3.75, 2.0]]]]
    """
    owner = "deform_conv2d"
    for value, what in ((x, "x"), (offset, "offset"), (weight, "weight")):
        check.variable(value, f"{owner}: {what}")
    for value, what in ((bias, "bias"), (mask, "mask")):
        if value is not None:
            check.variable(value, f"{owner}: {what}")
    if deformable_groups is None:
        taps = weight.shape[2] * weight.shape[3] if len(weight.shape) == 4 else 1
        deformable_groups = max(offset.shape[1] // (2 * taps), 1) if len(offset.shape) == 4 else 1
    attrs = {
        "strides": check.integers(stride, 2, f"{owner}: stride", 1),
        "paddings": check.integers(padding, 2, f"{owner}: padding", 0),
        "dilations": check.integers(dilation, 2, f"{owner}: dilation", 1),
        "deformable_groups": deformable_groups, "groups": groups,
    }  # fmt: skip
    slots = {"Input": x, "Offset": offset, "Filter": weight, "Mask": mask}
    out = _run("deformable_conv", slots, attrs)["Output"]
    return out if bias is None else out + bias.reshape([1, -1, 1, 1])


class DeformConv2D(Layer):
    """`deform_conv2d` with its weights.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels before and after.
    kernel_size, stride, padding, dilation : int or (int, int)
        For height and width.
    deformable_groups, groups : int, default 1
        Groups of channels with offsets of their own, and with filters of their own.
    weight_attr, bias_attr : ParamAttr, str, Initializer, None or False
        Weights are initialised from the normal distribution with deviation
        ``sqrt(2 / (height * width * in_channels))``. False: no bias.

    Attributes
    ----------
    weight : Parameter
        ``[out_channels, in_channels / groups, height, width]``.
    bias : Parameter or None
        ``[out_channels]``.

    Examples
    --------
    >>> import dygraph
    >>> conv = dygraph.vision.ops.DeformConv2D(1, 4, 3, padding=1)
    >>> conv(dygraph.ones([2, 1, 5, 5]), dygraph.zeros([2, 18, 5, 5])).shape
    (2, 4, 5, 5)
    """

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1,
        deformable_groups=1, groups=1, weight_attr=None, bias_attr=None,
    ):  # fmt: skip
        super().__init__()
        owner = "DeformConv2D"
        channels = check.integer(in_channels, f"{owner}: in_channels", 1)
        count = check.integer(out_channels, f"{owner}: out_channels", 1)
        groups = check.integer(groups, f"{owner}: groups", 1)
        if channels % groups or count % groups:
            raise InvalidArgumentError(
                f"{owner}: groups must divide in_channels {channels} and out_channels {count}, got "
                f"{groups}"
            )
        window = check.integers(kernel_size, 2, f"{owner}: kernel_size", 1)
        deviation = math.sqrt(2.0 / (window[0] * window[1] * channels))
        self.weight = self.create_parameter(
            [count, channels // groups, *window], attr=weight_attr,
            default_initializer=initializer.Normal(0.0, deviation),
        )  # fmt: skip
        self.bias = self.create_parameter([count], attr=bias_attr, is_bias=True)
        self._options = {
            "stride": stride, "padding": padding, "dilation": dilation,
            "deformable_groups": deformable_groups, "groups": groups,
        }  # fmt: skip

    def forward(self, x, offset, mask=None):
        return deform_conv2d(x, offset, self.weight, self.bias, mask=mask, **self._options)


class _Pool(Layer):
    def __init__(self, output_size, spatial_scale=1.0):
        super().__init__()
        self.output_size = check.integers(output_size, 2, f"{type(self).__name__}: output_size", 1)
        self.spatial_scale = spatial_scale


class RoIPool(_Pool):
    """`roi_pool` as a layer.

    Parameters
    ----------
    output_size : int or (int, int)
        Rows and columns of bins.
    spatial_scale : float, default 1.0
        Pixels of the images for a unit of boxes.

    Examples
    --------
    >>> import dygraph
    >>> boxes = [dygraph.to_variable([[0.0, 0.0, 3.0, 2.0]])]
    >>> dygraph.vision.ops.RoIPool(2)(dygraph.ones([1, 3, 4, 4]), boxes).shape
    (1, 3, 2, 2)
    """

    def forward(self, x, boxes, boxes_num=None):
        return roi_pool(x, boxes, boxes_num, self.output_size, self.spatial_scale)


class PSRoIPool(_Pool):
    """`psroi_pool` as a layer.

    Parameters
    ----------
    output_size : int or (int, int)
        Rows and columns of bins.
    spatial_scale : float, default 1.0
        Pixels of the images for a unit of boxes.

    Examples
    --------
    >>> import dygraph
    >>> boxes = [dygraph.to_variable([[0.0, 0.0, 3.0, 2.0]])]
    >>> dygraph.vision.ops.PSRoIPool(2)(dygraph.ones([1, 8, 4, 4]), boxes).shape
    (1, 2, 2, 2)
    """

    def forward(self, x, boxes, boxes_num=None):
        return psroi_pool(x, boxes, boxes_num, self.output_size, self.spatial_scale)


class RoIAlign(_Pool):
    """`roi_align` as a layer.

    Parameters
    ----------
    output_size : int or (int, int)
        Rows and columns of bins.
    spatial_scale : float, default 1.0
        Pixels of the images for a unit of boxes.
    sampling_ratio : int, default -1
        Samples along each axis of a bin; 0 or less: as many as it has pixels, rounded up.
    aligned : bool, optional
        As of `roi_align`; it may be given in the call instead.

    Examples
    --------
    >>> import dygraph
    >>> boxes = [dygraph.to_variable([[0.0, 0.0, 3.0, 2.0]])]
    >>> dygraph.vision.ops.RoIAlign(2, aligned=True)(dygraph.ones([1, 3, 4, 4]), boxes).shape
    (1, 3, 2, 2)
    """

    def __init__(self, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=None):
        super().__init__(output_size, spatial_scale)
        self.sampling_ratio, self.aligned = sampling_ratio, aligned

    def forward(self, x, boxes, boxes_num=None, aligned=None):
        return roi_align(
            x, boxes, boxes_num, self.output_size, self.spatial_scale, self.sampling_ratio,
            self.aligned if aligned is None else aligned,
        )  # fmt: skip


def yolo_box(
    x, img_size, anchors, class_num, conf_thresh, downsample_ratio, clip_bbox=True, name=None,
    scale_x_y=1.0, iou_aware=False, iou_aware_factor=0.5,
):  # fmt: skip
    """The boxes and scores that a YOLO head predicts (Redmon and Farhadi, YOLOv3, 2018).

    Parameters
    ----------
    x : Variable
        ``[batch, anchors * (5 + class_num), height, width]``: tx, ty, tw, th, to and the classes
        for each anchor; with `iou_aware` a channel for each anchor before them.
    img_size : Variable
        ``[batch, 2]`` int32, height and width of each image.
    anchors : list of int
        Width and height of each anchor, in pixels.
    class_num : int
        The number of classes.
    conf_thresh : float
        Boxes that are less sure are zeros with scores of zeros.
    downsample_ratio : int
        Pixels of the network's input for a cell.
    clip_bbox : bool, default True
        Boxes are cut at the borders of the image.
    name : str, optional
        Not used.
    scale_x_y : float, default 1.0
        A middle is ``scale_x_y * sigmoid(t) - (scale_x_y - 1) / 2`` into its cell.
    iou_aware : bool, default False
        `x` predicts overlaps (PP-YOLO).
    iou_aware_factor : float, default 0.5
        Confidence is ``sigmoid(to)**(1 - factor) * sigmoid(overlap)**factor``.

    Returns
    -------
    boxes : Variable
        ``[batch, anchors * height * width, 4]``, corners in pixels of the images.
    scores : Variable
        ``[batch, anchors * height * width, class_num]``

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x, size = dygraph.zeros([1, 6, 1, 1]), dygraph.to_variable(np.array([[32, 64]], "int32"))
    >>> boxes, scores = dygraph.vision.ops.yolo_box(x, size, [16, 8], 1, 0.01, 32)
    >>> boxes.tolist()
    [[[16.0, 12.0, 48.0, 20.0]]]
    """
    attrs = {
        "anchors": list(anchors), "class_num": class_num, "conf_thresh": conf_thresh,
        "downsample_ratio": downsample_ratio, "clip_bbox": clip_bbox, "scale_x_y": scale_x_y,
        "iou_aware": iou_aware, "iou_aware_factor": iou_aware_factor,
    }  # fmt: skip
    found = _run("yolo_box", {"X": x, "ImgSize": img_size}, attrs)
    return found["Boxes"], found["Scores"]


def yolo_loss(
    x, gt_box, gt_label, anchors, anchor_mask, class_num, ignore_thresh, downsample_ratio,
    gt_score=None, use_label_smooth=True, name=None, scale_x_y=1.0,
):  # fmt: skip
    """The loss of a YOLO head for each image: `static.layers.yolov3_loss` under Paddle's name.

    Parameters
    ----------
    x, gt_box, gt_label, anchors, anchor_mask, class_num, ignore_thresh, downsample_ratio
        As of `static.layers.yolov3_loss`.
    gt_score, use_label_smooth, name, scale_x_y
        As of `static.layers.yolov3_loss`.

    Returns
    -------
    Variable
        ``[batch]``

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> box = dygraph.to_variable(np.array([[[0.5, 0.5, 0.5, 0.25]]], "float32"))
    >>> label = dygraph.to_variable(np.zeros((1, 1), "int32"))
    >>> loss = dygraph.vision.ops.yolo_loss(
    ...     dygraph.zeros([1, 6, 1, 1]), box, label, [16, 8], [0], 1, 0.7, 32)
    >>> round(loss.item(), 4)
    3.9856
    """
    return dygraph.static.layers.yolov3_loss(
        x, gt_box, gt_label, anchors, anchor_mask, class_num, ignore_thresh, downsample_ratio,
        gt_score, use_label_smooth, name, scale_x_y,
    )  # fmt: skip


def generate_proposals(
    scores, bbox_deltas, img_size, anchors, variances, pre_nms_top_n=6000, post_nms_top_n=1000,
    nms_thresh=0.5, min_size=0.1, eta=1.0, pixel_offset=False, return_rois_num=False, name=None,
):  # fmt: skip
    """The regions that a region proposal network proposes (Ren and others, Faster R-CNN, 2015).

    Parameters
    ----------
    scores, bbox_deltas : Variable
        ``[batch, anchors, height, width]`` and ``[batch, 4 * anchors, height, width]``.
    img_size : Variable
        ``[batch, 2]``, height and width of each image, of the type of `scores`.
    anchors, variances : Variable
        ``[height, width, anchors, 4]``
    pre_nms_top_n, post_nms_top_n : int, default 6000 and 1000
        Anchors of an image that are looked at, and regions that are left.
    nms_thresh : float, default 0.5
        Overlap above which the worse region is dropped.
    min_size : float, default 0.1
        Least width and height; below 1 it is 1.
    eta : float, default 1.0
        `nms_thresh` is multiplied by it after each region, while it is above 0.5.
    pixel_offset : bool, default False
        A box from 2 to 4 is 3 wide, not 2.
    return_rois_num : bool, default False
        Return the number of regions of each image too.
    name : str, optional
        Not used.

    Returns
    -------
    rois, scores : Variable
        ``[regions, 4]`` and ``[regions, 1]``.
    rois_num : Variable or None
        ``[batch]`` int32; None without `return_rois_num`.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> one = lambda *v: dygraph.to_variable(np.array(v, "float32"))
    >>> rois, scores, count = dygraph.vision.ops.generate_proposals(
    ...     one(0.5).reshape([1, 1, 1, 1]), dygraph.zeros([1, 4, 1, 1]), one([20, 20]),
    ...     one(2, 2, 30, 9).reshape([1, 1, 1, 4]), one(1, 1, 1, 1).reshape([1, 1, 1, 4]),
    ...     return_rois_num=True)
    >>> rois.tolist(), scores.tolist(), count.tolist()
    ([[2.0, 2.0, 20.0, 9.0]], [[0.5]], [1])
    """
    slots = {
        "Scores": scores, "BboxDeltas": bbox_deltas, "ImShape": img_size, "Anchors": anchors,
        "Variances": variances,
    }  # fmt: skip
    attrs = {
        "pre_nms_topN": pre_nms_top_n, "post_nms_topN": post_nms_top_n, "nms_thresh": nms_thresh,
        "min_size": min_size, "eta": eta, "pixel_offset": pixel_offset,
    }  # fmt: skip
    counts = {"RpnRoisNum": 1} if return_rois_num else None
    found = _run("generate_proposals_v2", slots, attrs, counts)
    return found["RpnRois"], found["RpnRoiProbs"], found.get("RpnRoisNum")


def distribute_fpn_proposals(
    fpn_rois, min_level, max_level, refer_level, refer_scale, pixel_offset=False, rois_num=None,
    name=None,
):  # fmt: skip
    """Regions by the level of a feature pyramid that suits their size (Lin and others, 2017).

    Parameters
    ----------
    fpn_rois : Variable
        ``[regions, 4]``
    min_level, max_level : int
        The finest and the coarsest level.
    refer_level, refer_scale : int
        The level of regions as large as `refer_scale` pixels.
    pixel_offset : bool, default False
        A box from 2 to 4 is 3 wide, not 2.
    rois_num : Variable, optional
        How many regions each image has, ``[batch]`` int32, in place of a level of detail.
    name : str, optional
        Not used.

    Returns
    -------
    multi_rois : list of Variable
        ``[regions of the level, 4]`` for each level.
    restore_ind : Variable
        ``[regions, 1]`` int32, where each region stands when the levels are put one after another.
    rois_num_per_level : list of Variable or None
        ``[batch]`` int32 for each level; None without `rois_num`.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> rois = dygraph.to_variable(np.array([[0.0, 0, 100, 100], [0, 0, 9, 9]]))
    >>> levels, restore, counts = dygraph.vision.ops.distribute_fpn_proposals(
    ...     rois, 3, 4, 4, 64, rois_num=dygraph.to_variable(np.array([2], "int32")))
    >>> restore.tolist(), [c.tolist() for c in counts]
    ([[1], [0]], [[1], [1]])
    """
    owner = "distribute_fpn_proposals"
    low = check.integer(min_level, f"{owner}: min_level")
    levels = check.integer(max_level, f"{owner}: max_level", low) - low + 1
    attrs = {
        "min_level": low, "max_level": low + levels - 1, "refer_level": refer_level,
        "refer_scale": refer_scale, "pixel_offset": pixel_offset,
    }  # fmt: skip
    counts = {"MultiFpnRois": levels}
    if rois_num is not None:
        counts["MultiLevelRoIsNum"] = levels
    found = _run(owner, {"FpnRois": fpn_rois, "RoisNum": rois_num}, attrs, counts)
    per_level = None if rois_num is None else list(found["MultiLevelRoIsNum"])
    return list(found["MultiFpnRois"]), found["RestoreIndex"], per_level


def sigmoid_focal_loss(inputs, targets, alpha=0.25, gamma=2.0, reduction="none"):
    """The focal loss of every number by itself, as torchvision has it (Lin and others, 2017).

    With ``q`` the probability of the target, ``-weight * (1 - q)**gamma * log(q)``.

    Parameters
    ----------
    inputs : Variable
        Scores of any shape; float32 or float64.
    targets : Variable
        0 and 1, or between, in the shape of `inputs`.
    alpha : float, default 0.25
        The weight of targets of 1, ``1 - alpha`` that of 0; below 0: no weights.
    gamma : float, default 2.0
        How much the sure ones are turned down.
    reduction : str, default "none"
        ``"none"``, ``"mean"`` or ``"sum"``.

    Returns
    -------
    Variable
        The shape of `inputs`, or a number.

    Examples
    --------
    >>> import dygraph
    >>> x, y = dygraph.zeros([2]), dygraph.to_variable([1.0, 0.0])
    >>> loss = dygraph.vision.ops.sigmoid_focal_loss(x, y, reduction="sum")
    >>> round(loss.item(), 4)  # log(2) / 4, weighed by 0.25 and 0.75
    0.1733
    """
    owner = "sigmoid_focal_loss"
    check.variable(inputs, f"{owner}: inputs")
    check.variable(targets, f"{owner}: targets")
    check.choice(reduction, ("none", "mean", "sum"), f"{owner}: reduction")
    if tuple(inputs.shape) != tuple(targets.shape):
        raise InvalidArgumentError(
            f"{owner}: targets must have the shape of inputs, {list(inputs.shape)}, got "
            f"{list(targets.shape)}. dygraph.static.layers.{owner} takes class numbers"
        )
    targets = targets.astype(inputs.dtype)
    entropy = dygraph.nn.functional.softplus(inputs) - inputs * targets
    p = dygraph.nn.functional.sigmoid(inputs)
    wrong = p + targets - 2 * p * targets
    loss = entropy * wrong**gamma
    if alpha >= 0:
        loss = loss * (alpha * targets + (1 - alpha) * (1 - targets))
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()
