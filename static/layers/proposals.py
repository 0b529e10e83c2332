"""Proposals of regions, and what detectors in two stages learn from.

Examples
--------
>>> import dygraph, numpy as np
>>> from dygraph import static
>>> rois = dygraph.to_variable(np.array([[0.0, 0, 99, 99], [0, 0, 9, 9]]), lod=[[0, 2]])
>>> levels, restore = static.layers.distribute_fpn_proposals(rois, 3, 4, 4, 64)
>>> [v.tolist() for v in levels]
[[[0.0, 0.0, 9.0, 9.0]], [[0.0, 0.0, 99.0, 99.0]]]
"""

from dygraph import ops
from dygraph.core import check
from dygraph.errors import InvalidArgumentError, kind_of
from dygraph.static.layers.making import layer, operator, run

__all__ = [
    "collect_fpn_proposals", "distribute_fpn_proposals", "generate_mask_labels",
    "generate_proposal_labels", "generate_proposals", "retinanet_target_assign",
    "rpn_target_assign",
]  # fmt: skip


@layer
def generate_proposals(
    scores, bbox_deltas, im_info, anchors, variances, pre_nms_top_n=6000, post_nms_top_n=1000,
    nms_thresh=0.5, min_size=0.1, eta=1.0, name=None, return_rois_num=False,
):  # fmt: skip
    """The regions that a region proposal network proposes (Ren and others, Faster R-CNN, 2015).

    The best anchors of each image, moved by `bbox_deltas` times `variances`, cut at the image,
    without the tiny ones and those that overlap a better one.

    Parameters
    ----------
    scores : Variable
        ``[batch, anchors, height, width]``; float32 or float64.
    bbox_deltas : Variable
        ``[batch, 4 * anchors, height, width]``
    im_info : Variable
        ``[batch, 3]``: height and width of each image, and how much it was scaled.
    anchors, variances : Variable
        ``[height, width, anchors, 4]``
    pre_nms_top_n : int, default 6000
        Anchors of an image that are looked at.
    post_nms_top_n : int, default 1000
        Most regions of an image.
    nms_thresh : float, default 0.5
        Overlap above which the worse region is dropped.
    min_size : float, default 0.1
        Least width and height before the image was scaled; below 1 it is 1.
    eta : float, default 1.0
        `nms_thresh` is multiplied by it after each region, while it is above 0.5.
    name : str, optional
        The name of the results in a program; an eager call does not use it.
    return_rois_num : bool, default False
        Return the number of regions of each image too.

    Returns
    -------
    rois : Variable
        ``[regions, 4]`` with those of each image as level of detail.
    scores : Variable
        ``[regions, 1]`` with the same.
    rois_num : Variable
        ``[batch]`` int32, with `return_rois_num` only.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> from dygraph.static import layers
    >>> one = lambda *v: dygraph.to_variable(np.array(v, "float32"))
    >>> rois, scores = layers.generate_proposals(
    ...     one(0.5).reshape([1, 1, 1, 1]), dygraph.zeros([1, 4, 1, 1]), one([20, 20, 1]),
    ...     one(2, 2, 30, 9).reshape([1, 1, 1, 4]), one(1, 1, 1, 1).reshape([1, 1, 1, 4]))
    >>> rois.tolist(), scores.tolist()
    ([[2.0, 2.0, 19.0, 9.0]], [[0.5]])
    """
    slots = {
        "Scores": scores, "BboxDeltas": bbox_deltas, "ImInfo": im_info, "Anchors": anchors,
        "Variances": variances,
    }  # fmt: skip
    attrs = {
        "pre_nms_topN": pre_nms_top_n, "post_nms_topN": post_nms_top_n, "nms_thresh": nms_thresh,
        "min_size": min_size, "eta": eta,
    }  # fmt: skip
    found = run("generate_proposals", slots, attrs, {"RpnRoisNum": 1} if return_rois_num else None)
    results = found["RpnRois"], found["RpnRoiProbs"]
    return (*results, _only(found["RpnRoisNum"])) if return_rois_num else results


def _only(value):
    return value[0] if isinstance(value, (list, tuple)) else value


@layer
def distribute_fpn_proposals(
    fpn_rois, min_level, max_level, refer_level, refer_scale, name=None
):  # fmt: skip
    """Regions by the level of a feature pyramid that suits their size (Lin and others, 2017).

    The level is ``floor(refer_level + log2(sqrt(area) / refer_scale))``, from `min_level` to
    `max_level`.

    Parameters
    ----------
    fpn_rois : Variable
        ``[regions, 4]`` with those of each image as level of detail; float32 or float64.
    min_level, max_level : int
        The finest and the coarsest level.
    refer_level, refer_scale : int
        The level of regions as large as `refer_scale` pixels.
    name : str, optional
        The name of the results in a program; an eager call does not use it.

    Returns
    -------
    multi_rois : list of Variable
        ``[regions of the level, 4]`` for each level.
    restore_ind : Variable
        ``[regions, 1]`` int32, where each region stands when the levels are put one after another.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> from dygraph.static import layers
    >>> rois = dygraph.to_variable(np.array([[0.0, 0, 99, 99], [0, 0, 9, 9]]), lod=[[0, 2]])
    >>> levels, restore = layers.distribute_fpn_proposals(rois, 3, 4, 4, 64)
    >>> restore.tolist()
    [[1], [0]]
    """
    owner = "distribute_fpn_proposals"
    low = check.integer(min_level, f"{owner}: min_level")
    high = check.integer(max_level, f"{owner}: max_level", low)
    attrs = {
        "min_level": low, "max_level": high, "refer_level": refer_level,
        "refer_scale": refer_scale,
    }  # fmt: skip
    found = run(owner, {"FpnRois": fpn_rois}, attrs, {"MultiFpnRois": high - low + 1})
    return list(found["MultiFpnRois"]), found["RestoreIndex"]


@layer
def collect_fpn_proposals(
    multi_rois, multi_scores, min_level, max_level, post_nms_top_n, name=None
):
    """The regions with the greatest scores of all levels and images, image after image.

    Parameters
    ----------
    multi_rois : list of Variable
        ``[regions, 4]`` for each level, with those of each image as level of detail.
    multi_scores : list of Variable
        ``[regions, 1]`` for each level, with the same.
    min_level, max_level : int
        The finest and the coarsest level.
    post_nms_top_n : int
        Most regions of all images together.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[regions, 4]`` with those of each image as level of detail.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> from dygraph.static import layers
    >>> rois = [dygraph.to_variable(np.full((1, 4), k), lod=[[0, 1]]) for k in (1.0, 2.0)]
    >>> scores = [dygraph.to_variable(np.array([[k]]), lod=[[0, 1]]) for k in (0.1, 0.9)]
    >>> layers.collect_fpn_proposals(rois, scores, 2, 3, post_nms_top_n=1).tolist()
    [[2.0, 2.0, 2.0, 2.0]]
    """
    owner = "collect_fpn_proposals"
    low = check.integer(min_level, f"{owner}: min_level")
    levels = check.integer(max_level, f"{owner}: max_level", low) - low + 1
    for what, given in (("multi_rois", multi_rois), ("multi_scores", multi_scores)):
        if not isinstance(given, (list, tuple)) or len(given) != levels:
            got = f"{len(given)} of them" if isinstance(given, (list, tuple)) else kind_of(given)
            raise InvalidArgumentError(
                f"{owner}: {what} must be a list of one Variable for each of the {levels} levels, "
                f"got {got}"
            )
    slots = {"MultiLevelRois": list(multi_rois), "MultiLevelScores": list(multi_scores)}
    return run(owner, slots, {"post_nms_topN": post_nms_top_n})["FpnRois"]


@layer
def rpn_target_assign(
    bbox_pred, cls_logits, anchor_box, anchor_var, gt_boxes, is_crowd, im_info,
    rpn_batch_size_per_im=256, rpn_straddle_thresh=0.0, rpn_fg_fraction=0.5,
    rpn_positive_overlap=0.7, rpn_negative_overlap=0.3, use_random=True,
):  # fmt: skip
    """Anchors and targets to train a region proposal network (Ren and others, Faster R-CNN, 2015).

    Anchors are objects where they overlap a true box by `rpn_positive_overlap`, or as much as any
    anchor does, and background where they overlap all by less than `rpn_negative_overlap`.

    Parameters
    ----------
    bbox_pred : Variable
        ``[batch, anchors, 4]``, what the network predicts; float32 or float64.
    cls_logits : Variable
        ``[batch, anchors, 1]``
    anchor_box : Variable
        ``[anchors, 4]``, or with more axes in front.
    anchor_var : Variable
        Accepted as in Fluid; not used.
    gt_boxes : Variable
        ``[rows, 4]``, the true boxes, with those of each image as level of detail.
    is_crowd : Variable
        ``[rows, 1]`` int32, 1 for boxes to leave out.
    im_info : Variable
        ``[batch, 3]``: height and width of each scaled image, and its scale.
    rpn_batch_size_per_im : int, default 256
        Labels of an image.
    rpn_straddle_thresh : float, default 0.0
        Pixels that an anchor may lie outside the image; below 0: any.
    rpn_fg_fraction : float, default 0.5
        Most objects, as a part of the labels.
    rpn_positive_overlap, rpn_negative_overlap : float, default 0.7 and 0.3
        Overlaps of objects and of background.
    use_random : bool, default True
        Draw the labels; False: take the first ones.

    Returns
    -------
    predicted_scores, predicted_location : Variable
        The rows of `cls_logits` with a label, ``[labels, 1]``, and those of `bbox_pred` with a
        target, ``[located, 4]``.
    target_label, target_bbox : Variable
        ``[labels, 1]`` int32 and ``[located, 4]``.
    bbox_inside_weight : Variable
        ``[located, 4]``, 1 where the target counts.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> from dygraph.static import layers
    >>> anchors = dygraph.to_variable(np.array([[0, 0, 9, 9], [20, 20, 29, 29]], "float32"))
    >>> truth = dygraph.to_variable(np.array([[0, 0, 9, 9]], "float32"), lod=[[0, 1]])
    >>> crowd = dygraph.to_variable(np.array([[0]], "int32"), lod=[[0, 1]])
    >>> info = dygraph.to_variable(np.array([[40, 40, 1]], "float32"))
    >>> score, location, label, target, weight = layers.rpn_target_assign(
    ...     dygraph.zeros([1, 2, 4]), dygraph.zeros([1, 2, 1]), anchors, anchors, truth, crowd,
    ...     info)
    >>> label.tolist(), target.tolist()
    ([[1], [0]], [[0.0, 0.0, 0.0, 0.0]])
    """
    slots = {
        "Anchor": ops.reshape(anchor_box, shape=[-1, 4]), "GtBoxes": gt_boxes, "IsCrowd": is_crowd,
        "ImInfo": im_info,
    }  # fmt: skip
    attrs = {
        "rpn_batch_size_per_im": rpn_batch_size_per_im, "rpn_straddle_thresh": rpn_straddle_thresh,
        "rpn_positive_overlap": rpn_positive_overlap, "rpn_negative_overlap": rpn_negative_overlap,
        "rpn_fg_fraction": rpn_fg_fraction, "use_random": use_random,
    }  # fmt: skip
    found = run("rpn_target_assign", slots, attrs)
    return _predicted(found, bbox_pred, cls_logits, 1)


def _predicted(found, bbox_pred, cls_logits, classes):
    scores = ops.gather(ops.reshape(cls_logits, shape=[-1, classes]), found["ScoreIndex"])
    location = ops.gather(ops.reshape(bbox_pred, shape=[-1, 4]), found["LocationIndex"])
    for target in ("TargetLabel", "TargetBBox", "BBoxInsideWeight"):
        found[target].stop_gradient = True
    return scores, location, found["TargetLabel"], found["TargetBBox"], found["BBoxInsideWeight"]


@layer
def retinanet_target_assign(
    bbox_pred, cls_logits, anchor_box, anchor_var, gt_boxes, gt_labels, is_crowd, im_info,
    num_classes=1, positive_overlap=0.5, negative_overlap=0.4,
):  # fmt: skip
    """Anchors and targets to train RetinaNet (Lin and others, 2017).

    Anchors are objects, of the class of the true box they overlap most, where they overlap it by
    `positive_overlap`, or as much as any anchor does, and background where they overlap all by
    less than `negative_overlap`.

    Parameters
    ----------
    bbox_pred : Variable
        ``[batch, anchors, 4]``, what the network predicts; float32 or float64.
    cls_logits : Variable
        ``[batch, anchors, num_classes]``
    anchor_box : Variable
        ``[anchors, 4]``, or with more axes in front.
    anchor_var : Variable
        Accepted as in Fluid; not used.
    gt_boxes, gt_labels : Variable
        ``[rows, 4]`` and ``[rows, 1]`` int32, the true boxes and their classes from 1, with those
        of each image as level of detail.
    is_crowd : Variable
        ``[rows, 1]`` int32, 1 for boxes to leave out.
    im_info : Variable
        ``[batch, 3]``: height and width of each scaled image, and its scale.
    num_classes : int, default 1
        The number of classes.
    positive_overlap, negative_overlap : float, default 0.5 and 0.4
        Overlaps of objects and of background.

    Returns
    -------
    predicted_scores, predicted_location : Variable
        The rows of `cls_logits` with a label, ``[labels, num_classes]``, and those of `bbox_pred`
        with a target, ``[located, 4]``.
    target_label, target_bbox : Variable
        ``[labels, 1]`` int32 and ``[located, 4]``.
    bbox_inside_weight : Variable
        ``[located, 4]``, 1 where the target counts.
    fg_num : Variable
        ``[batch, 1]`` int32, 1 more than the number of objects.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> from dygraph.static import layers
    >>> anchors = dygraph.to_variable(np.array([[0, 0, 9, 9], [20, 20, 29, 29]], "float32"))
    >>> truth = dygraph.to_variable(np.array([[0, 0, 9, 9]], "float32"), lod=[[0, 1]])
    >>> one = lambda v: dygraph.to_variable(np.array([[v]], "int32"), lod=[[0, 1]])
    >>> info = dygraph.to_variable(np.array([[40, 40, 1]], "float32"))
    >>> found = layers.retinanet_target_assign(
    ...     dygraph.zeros([1, 2, 4]), dygraph.zeros([1, 2, 9]), anchors, anchors, truth, one(7),
    ...     one(0), info, num_classes=9)
    >>> found[2].tolist(), found[5].tolist()
    ([[7], [0]], [[2]])
    """
    slots = {
        "Anchor": ops.reshape(anchor_box, shape=[-1, 4]), "GtBoxes": gt_boxes,
        "GtLabels": gt_labels, "IsCrowd": is_crowd, "ImInfo": im_info,
    }  # fmt: skip
    attrs = {"positive_overlap": positive_overlap, "negative_overlap": negative_overlap}
    found = run("retinanet_target_assign", slots, attrs)
    made = _predicted(found, bbox_pred, cls_logits, num_classes)
    found["ForegroundNumber"].stop_gradient = True
    return (*made, found["ForegroundNumber"])


@layer
def generate_proposal_labels(
    rpn_rois, gt_classes, is_crowd, gt_boxes, im_info, batch_size_per_im=256, fg_fraction=0.25,
    fg_thresh=0.25, bg_thresh_hi=0.5, bg_thresh_lo=0.0,
    bbox_reg_weights=[0.1, 0.1, 0.2, 0.2],  # noqa: B006
    class_nums=None, use_random=True, is_cls_agnostic=False, is_cascade_rcnn=False,
):  # fmt: skip
    """The regions that the head of a detector learns from (Ren and others, Faster R-CNN, 2015).

    The true boxes join the proposals. A region is an object where it overlaps a true box by
    `fg_thresh`, and background where its greatest overlap is in ``[bg_thresh_lo, bg_thresh_hi)``.

    Parameters
    ----------
    rpn_rois : Variable
        ``[rows, 4]`` corners in the scaled image, with those of each image as level of detail.
    gt_classes, is_crowd, gt_boxes : Variable
        ``[boxes, 1]`` int32, ``[boxes, 1]`` int32 and ``[boxes, 4]``: class, whether it is a crowd,
        and true box before scaling, with those of each image as level of detail.
    im_info : Variable
        ``[batch, 3]``: height and width of each scaled image, and its scale.
    batch_size_per_im : int, default 256
        Most regions of an image.
    fg_fraction : float, default 0.25
        Most objects, as a part of them.
    fg_thresh, bg_thresh_hi, bg_thresh_lo : float, default 0.25 and 0.5 and 0.0
        Overlaps of objects and of background.
    bbox_reg_weights : list of float, default [0.1, 0.1, 0.2, 0.2]
        What the numbers of a target box are divided by.
    class_nums : int
        The number of classes, with background.
    use_random : bool, default True
        Draw the regions; False: take the first ones.
    is_cls_agnostic : bool, default False
        All targets stand in the columns of class 1.
    is_cascade_rcnn : bool, default False
        Fluid's stages of a cascade; not taken here, since the overlaps of the stage before are
        needed: use the operator with MaxOverlap.

    Returns
    -------
    rois, labels_int32 : Variable
        ``[regions, 4]`` and ``[regions, 1]``, with those of each image as level of detail.
    bbox_targets, bbox_inside_weights, bbox_outside_weights : Variable
        ``[regions, 4 * class_nums]``

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> from dygraph.static import layers
    >>> box = dygraph.to_variable(np.array([[0.0, 0, 9, 9]]), lod=[[0, 1]])
    >>> one = lambda v: dygraph.to_variable(np.array([[v]], "int32"), lod=[[0, 1]])
    >>> info = dygraph.to_variable(np.array([[40.0, 40.0, 1.0]]))
    >>> found = layers.generate_proposal_labels(box, one(1), one(0), box, info, class_nums=2)
    >>> found[0].tolist(), found[1].tolist()
    ([[0.0, 0.0, 9.0, 9.0], [0.0, 0.0, 9.0, 9.0]], [[1], [1]])
    """
    owner = "generate_proposal_labels"
    if is_cascade_rcnn:
        raise InvalidArgumentError(
            f"{owner}: is_cascade_rcnn needs the overlaps of the stage before, got none. Call "
            f"dygraph.ops.{owner} with max_overlap"
        )
    slots = {
        "RpnRois": rpn_rois, "GtClasses": gt_classes, "IsCrowd": is_crowd, "GtBoxes": gt_boxes,
        "ImInfo": im_info,
    }  # fmt: skip
    attrs = {
        "batch_size_per_im": batch_size_per_im, "fg_fraction": fg_fraction, "fg_thresh": fg_thresh,
        "bg_thresh_hi": bg_thresh_hi, "bg_thresh_lo": bg_thresh_lo,
        "bbox_reg_weights": list(bbox_reg_weights),
        "class_nums": check.integer(class_nums, f"{owner}: class_nums", 1),
        "use_random": use_random, "is_cls_agnostic": is_cls_agnostic,
    }  # fmt: skip
    found = run(owner, slots, attrs)
    return tuple(found[slot] for slot in (
        "Rois", "LabelsInt32", "BboxTargets", "BboxInsideWeights", "BboxOutsideWeights",
    ))  # fmt: skip


@operator(
    im_info="ImInfo", gt_classes="GtClasses", is_crowd="IsCrowd", gt_segms="GtSegms",
    labels_int32="LabelsInt32",
)  # fmt: skip
def generate_mask_labels(
    im_info, gt_classes, is_crowd, gt_segms, rois, labels_int32, num_classes, resolution
):  # fmt: skip
    """The masks that Mask R-CNN learns from (He and others, 2017).

    Regions with a class get the polygons of the true object whose box they overlap most, as
    ``resolution * resolution`` pixels, in the place of the class; -1 elsewhere.

    Parameters
    ----------
    im_info : Variable
        ``[batch, 3]``: height and width of each scaled image, and its scale.
    gt_classes, is_crowd : Variable
        ``[objects, 1]`` int32, with those of each image as level of detail.
    gt_segms : Variable
        ``[points, 2]``, x and y; three levels of detail: objects of images, polygons of objects,
        points of polygons.
    rois : Variable
        ``[regions, 4]`` in the scaled image, with those of each image as level of detail.
    labels_int32 : Variable
        ``[regions, 1]`` classes, 0 for background.
    num_classes : int
        The number of classes, with background.
    resolution : int
        Rows and columns of a mask.

    Returns
    -------
    mask_rois : Variable
        ``[masks, 4]``, the regions.
    roi_has_mask_int32 : Variable
        ``[masks, 1]``, their rows among those of the image.
    mask_int32 : Variable
        ``[masks, num_classes * resolution * resolution]``: 1, 0 or -1.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> from dygraph.static import layers
    >>> one = lambda v: dygraph.to_variable(np.array([[v]], "int32"), lod=[[0, 1]])
    >>> corners = np.array([[0.0, 0], [4, 0], [4, 8], [0, 8]])
    >>> polygon = dygraph.to_variable(corners, lod=[[0, 1], [0, 1], [0, 4]])
    >>> roi = dygraph.to_variable(np.array([[0.0, 0, 8, 8]]), lod=[[0, 1]])
    >>> info = dygraph.to_variable(np.array([[9.0, 9, 1]]))
    >>> layers.generate_mask_labels(info, one(1), one(0), polygon, roi, one(1), 2, 2)[2].tolist()
    [[-1, -1, -1, -1, 1, 0, 1, 0]]
    """
