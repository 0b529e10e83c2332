"""Single-shot detection (SSD, Liu and others, 2016): its loss and its detections."""

from dygraph.errors import InvalidArgumentError
from dygraph.static.layers.box_codes import (
    bipartite_match,
    box_coder,
    iou_similarity,
    target_assign,
)
from dygraph.static.layers.making import layer, run

__all__ = ["detection_output", "ssd_loss"]


def _sum(x, axis):
    return run("reduce_sum", {"X": x}, {"dim": [axis], "keep_dim": True})["Out"]


def _class_loss(confidence, label):
    return run("softmax_with_cross_entropy", {"Logits": confidence, "Label": label})["Loss"]


@layer
def ssd_loss(
    location, confidence, gt_box, gt_label, prior_box, prior_box_var=None, background_label=0,
    overlap_threshold=0.5, neg_pos_ratio=3.0, neg_overlap=0.5, loc_loss_weight=1.0,
    conf_loss_weight=1.0, match_type="per_prediction", mining_type="max_negative", normalize=True,
    sample_size=None,
):  # fmt: skip
    """The loss of SSD: of the class of each prior box, and of the box of those that match.

    Prior boxes that overlap with a labelled box have its class and should move to it (smooth L1 of
    their codes); of the others, the `neg_pos_ratio` times as many that are hardest have the
    background's class (softmax and cross-entropy). The remaining ones do not count.

    Parameters
    ----------
    location : Variable
        Codes ``[batch, boxes, 4]``; float32 or float64.
    confidence : Variable
        Scores ``[batch, boxes, classes]``.
    gt_box : Variable
        Labelled boxes ``[rows, 4]``, with those of each image as level of detail.
    gt_label : Variable
        Their classes, int32 or int64 ``[rows, 1]``, with the same level of detail.
    prior_box : Variable
        ``[boxes, 4]``.
    prior_box_var : Variable or list of float, optional
        Variances ``[boxes, 4]``, or four numbers.
    background_label : int, default 0
        The class of the background.
    overlap_threshold : float, default 0.5
        Prior boxes match if they overlap by that much.
    neg_pos_ratio : float, default 3.0
        Boxes of the background for each that matches.
    neg_overlap : float, default 0.5
        Boxes of the background overlap by less.
    loc_loss_weight, conf_loss_weight : float, default 1.0
        Factors of the two losses.
    match_type : str, default "per_prediction"
        ``"bipartite"``: one prior box for each labelled box.
    mining_type : str, default "max_negative"
        The only one, as in Fluid.
    normalize : bool, default True
        Divide by the number of boxes that match in the batch. Without any the result is NaN, as in
        Fluid.
    sample_size : int, optional
        Of another `mining_type`; not used.

    Returns
    -------
    Variable
        ``[batch, 1]``.

    Raises
    ------
    InvalidArgumentError
        `mining_type` is another one.

    Examples
    --------
    Nothing is known of the class, and the box is right:

    >>> import numpy as np, dygraph
    >>> from dygraph.static import layers
    >>> box = dygraph.to_variable([[0.0, 0.0, 0.5, 0.5]], lod=[[0, 1]])
    >>> label = dygraph.to_variable([[1]], lod=[[0, 1]])
    >>> priors = dygraph.to_variable([[0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 1.0, 1.0]])
    >>> loss = layers.ssd_loss(
    ...     dygraph.zeros([1, 2, 4]), dygraph.zeros([1, 2, 2]), box, label, priors)
    >>> round(loss.item() / 2, 4)  # of two boxes: log 2
    0.6931
    """
    if mining_type != "max_negative":
        raise InvalidArgumentError(
            f"ssd_loss: mining_type must be 'max_negative', as in Fluid, got {mining_type!r}"
        )
    overlap = iou_similarity(gt_box, prior_box)
    matched, dist = bipartite_match(overlap, match_type, overlap_threshold)
    label = run("unsqueeze2", {"X": gt_label}, {"axes": [2]})["Out"]
    target, _ = target_assign(label, matched, mismatch_value=background_label)
    hardness = run("squeeze2", {"X": _class_loss(confidence, target)}, {"axes": [2]})["Out"]
    inputs = {"ClsLoss": hardness, "MatchIndices": matched, "MatchDist": dist}
    attrs = {
        "neg_pos_ratio": neg_pos_ratio, "neg_dist_threshold": neg_overlap,
        "mining_type": mining_type,
    }  # fmt: skip
    mined = run("mine_hard_examples", inputs, attrs)
    matched = mined["UpdatedMatchIndices"]

    target, weight = target_assign(label, matched, mined["NegIndices"], background_label)
    if str(weight.dtype) != str(confidence.dtype):
        weight = run("cast", {"X": weight}, {"out_dtype": confidence.dtype})["Out"]
    loss = _class_loss(confidence, target) * weight * conf_loss_weight
    codes = box_coder(prior_box, prior_box_var, gt_box)
    target, weight = target_assign(codes, matched, mismatch_value=background_label)
    # Smooth L1 is Huber's loss with a delta of 1.
    shift = run("huber_loss", {"X": location, "Y": target}, {"delta": 1.0})["Out"]
    loss = loss + _sum(shift, 2) * weight * loc_loss_weight
    loss = _sum(run("squeeze2", {"X": loss}, {"axes": [2]})["Out"], 1)
    if normalize:
        loss = loss / run("reduce_sum", {"X": weight}, {"reduce_all": True})["Out"]
    return loss


@layer
def detection_output(
    loc, scores, prior_box, prior_box_var, background_label=0, nms_threshold=0.3, nms_top_k=400,
    keep_top_k=200, score_threshold=0.01, nms_eta=1.0, return_index=False,
):  # fmt: skip
    """The detections of SSD: boxes from codes, softmax of scores, `multiclass_nms`.

    Parameters
    ----------
    loc : Variable
        Codes ``[batch, boxes, 4]``; float32 or float64.
    scores : Variable
        Scores ``[batch, boxes, classes]``, before softmax.
    prior_box : Variable
        ``[boxes, 4]``.
    prior_box_var : Variable or list of float
        Variances ``[boxes, 4]``, or four numbers.
    background_label : int, default 0
        The class that is left out; -1: none.
    nms_threshold : float, default 0.3
        The greatest overlap of boxes that are kept.
    nms_top_k : int, default 400
        At most so many boxes of a class are compared; -1: all.
    keep_top_k : int, default 200
        At most so many boxes of an image are kept; -1: all.
    score_threshold : float, default 0.01
        Only boxes of a greater probability count.
    nms_eta : float, default 1.0
        `nms_threshold` is multiplied by it after each box kept, while above 0.5.
    return_index : bool, default False
        True: also return the number of each box among those of all images.

    Returns
    -------
    out : Variable
        Rows ``[class, probability, box]``, with those of each image as level of detail; where
        nothing is kept ``[[-1]]``, with `return_index` no rows.
    index : Variable
        int32 ``[kept, 1]``, with `return_index`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> priors = dygraph.to_variable([[0.0, 0.0, 0.5, 0.5]])
    >>> codes, scores = dygraph.zeros([1, 1, 4]), dygraph.zeros([1, 1, 2])
    >>> layers.detection_output(codes, scores, priors, [0.1, 0.1, 0.2, 0.2]).tolist()
    [[1.0, 0.5, 0.0, 0.0, 0.5, 0.5]]
    """
    boxes = box_coder(prior_box, prior_box_var, loc, "decode_center_size")
    parts = run("softmax", {"X": scores}, {"axis": -1})["Out"]
    parts = run("transpose2", {"X": parts}, {"axis": [0, 2, 1]})["Out"]
    attrs = {
        "background_label": background_label, "nms_threshold": nms_threshold,
        "nms_top_k": nms_top_k, "keep_top_k": keep_top_k, "score_threshold": score_threshold,
        "nms_eta": nms_eta,
    }  # fmt: skip
    kind = "multiclass_nms2" if return_index else "multiclass_nms"
    found = run(kind, {"BBoxes": boxes, "Scores": parts}, attrs)
    return (found["Out"], found["Index"]) if return_index else found["Out"]
