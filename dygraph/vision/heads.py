"""Heads and proposals of detectors, for `dygraph.vision.ops`.

Examples
--------
>>> import dygraph
>>> from dygraph.vision import heads
>>> x, y = dygraph.zeros([2]), dygraph.to_variable([1.0, 0.0])
>>> round(heads.sigmoid_focal_loss(x, y, reduction="sum").item(), 4)
0.1733
"""

import dygraph
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.vision.regions import run

__all__ = [
    "distribute_fpn_proposals", "generate_proposals", "sigmoid_focal_loss", "yolo_box", "yolo_loss",
]  # fmt: skip


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
    found = run("yolo_box", {"X": x, "ImgSize": img_size}, attrs)
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
    found = run("generate_proposals_v2", slots, attrs, counts)
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
    found = run(owner, {"FpnRois": fpn_rois, "RoisNum": rois_num}, attrs, counts)
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
