"""Detections: the boxes that are left of many that overlap."""

from dygraph.static.layers.making import layer, operator, run
from dygraph.vision import ops

__all__ = [
    "locality_aware_nms", "matrix_nms", "multiclass_nms", "retinanet_detection_output",
]  # fmt: skip


@operator()
def multiclass_nms(
    bboxes, scores, score_threshold, nms_top_k, keep_top_k, nms_threshold=0.3, normalized=True,
    nms_eta=1.0, background_label=0, name=None,
):  # fmt: skip
    """Non-maximum suppression in each class of each image.

    Of the boxes whose score is above `score_threshold`, a box is kept if it overlaps with none
    kept before, whose score is greater, by more than `nms_threshold` (intersection over union).

    Parameters
    ----------
    bboxes : Variable
        ``[batch, M, 4]``, or corners of polygons, 8, 16, 24 or 32 numbers each; or
        ``[rows, classes, 4]`` with a level of detail. float32 or float64.
    scores : Variable
        ``[batch, classes, M]``; or ``[rows, classes]``.
    score_threshold : float
        Only boxes of a greater score count.
    nms_top_k : int
        At most so many boxes of a class are compared; -1: all.
    keep_top_k : int
        At most so many boxes of an image are kept; -1: all.
    nms_threshold : float, default 0.3
        The greatest overlap of boxes that are kept.
    normalized : bool, default True
        False: sides are pixels, and a box from 2 to 4 is 3 wide.
    nms_eta : float, default 1.0
        `nms_threshold` is multiplied by it after each box kept, while above 0.5.
    background_label : int, default 0
        The class that is left out; -1: none.
    name : str, optional
        The name of the result in a program.

    Returns
    -------
    Variable
        Rows ``[class, score, box]``, with those of each image as level of detail; ``[[-1]]`` where
        nothing is kept in any image, so that in a program no size is known.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> boxes = to_variable([[[0.0, 0, 4, 4], [0, 0, 4, 3], [6, 6, 8, 8]]])
    >>> scores = to_variable([[[0.75, 0.5, 0.25]]])
    >>> layers.multiclass_nms(boxes, scores, 0.1, -1, -1, background_label=-1).tolist()
    [[0.0, 0.75, 0.0, 0.0, 4.0, 4.0], [0.0, 0.25, 6.0, 6.0, 8.0, 8.0]]
    """


@operator()
def locality_aware_nms(
    bboxes, scores, score_threshold, nms_top_k, keep_top_k, nms_threshold=0.3, normalized=True,
    nms_eta=1.0, background_label=-1, name=None,
):  # fmt: skip
    """`multiclass_nms` of boxes that were joined first with their neighbours (EAST, 2017).

    In the order of `bboxes`, a box that overlaps with the one before by more than `nms_threshold`
    is joined with it: their mean, weighted with the scores, has the sum of the scores.

    Parameters
    ----------
    bboxes : Variable
        ``[batch, M, 4]``, or corners of polygons, 8, 16, 24 or 32 numbers each; float32 or
        float64.
    scores : Variable
        ``[batch, classes, M]``.
    score_threshold : float
        Only boxes of a greater score count.
    nms_top_k : int
        At most so many boxes of a class are compared; -1: all.
    keep_top_k : int
        At most so many boxes of an image are kept; -1: all.
    nms_threshold : float, default 0.3
        The greatest overlap of boxes that are kept.
    normalized : bool, default True
        False: sides are pixels, and a box from 2 to 4 is 3 wide.
    nms_eta : float, default 1.0
        `nms_threshold` is multiplied by it after each box kept, while above 0.5.
    background_label : int, default -1
        The class that is left out; -1: none.
    name : str, optional
        The name of the result in a program.

    Returns
    -------
    Variable
        As of `multiclass_nms`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> boxes, scores = to_variable([[[0.0, 0, 4, 4], [0, 0, 4, 3]]]), to_variable([[[0.5, 0.5]]])
    >>> layers.locality_aware_nms(boxes, scores, 0.1, -1, -1).tolist()
    [[0.0, 1.0, 0.0, 0.0, 4.0, 3.5]]
    """


@layer
def matrix_nms(
    bboxes, scores, score_threshold, post_threshold, nms_top_k, keep_top_k, use_gaussian=False,
    gaussian_sigma=2.0, background_label=0, normalized=True, return_index=False, name=None,
):  # fmt: skip
    """Matrix NMS (SOLOv2, Wang and others, 2020): scores decay where better boxes overlap.

    Parameters
    ----------
    bboxes : Variable
        ``[batch, M, 4]``; float32 or float64.
    scores : Variable
        ``[batch, classes, M]``.
    score_threshold : float
        Only boxes of a greater score count.
    post_threshold : float
        Only boxes whose decayed score is greater are kept.
    nms_top_k : int
        At most so many boxes of a class are compared; -1: all.
    keep_top_k : int
        At most so many boxes of an image are kept; -1: all.
    use_gaussian : bool, default False
        True: the decay is Gaussian; False: linear.
    gaussian_sigma : float, default 2.0
        Of the Gaussian decay.
    background_label : int, default 0
        The class that is left out; -1: none.
    normalized : bool, default True
        False: sides are pixels, and a box from 2 to 4 is 3 wide.
    return_index : bool, default False
        True: also return the number of each box among those of all images.
    name : str, optional
        The name of the results in a program.

    Returns
    -------
    out : Variable
        Rows ``[class, decayed score, box]``, ``[kept, 6]``, with those of each image as level of
        detail.
    index : Variable
        int32 ``[kept, 1]``, with `return_index`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> boxes, scores = to_variable([[[0.0, 0, 4, 4], [0, 0, 4, 2]]]), to_variable([[[1.0, 0.5]]])
    >>> layers.matrix_nms(boxes, scores, 0.1, 0.0, -1, -1, background_label=-1)[:, 1].tolist()
    [1.0, 0.25]
    """
    out, _, index = ops.matrix_nms(
        bboxes, scores, score_threshold, post_threshold, nms_top_k, keep_top_k, use_gaussian,
        gaussian_sigma, background_label, normalized, return_index,
    )  # fmt: skip
    return (out, index) if return_index else out


@layer
def retinanet_detection_output(
    bboxes, scores, anchors, im_info, score_threshold=0.05, nms_top_k=1000, keep_top_k=100,
    nms_threshold=0.3, nms_eta=1.0,
):  # fmt: skip
    """The detections of RetinaNet (Lin and others, 2017) from the outputs of its levels.

    Parameters
    ----------
    bboxes : list of Variable
        Of each level codes ``[batch, M, 4]`` relative to `anchors`; float32 or float64.
    scores : list of Variable
        Of each level probabilities ``[batch, M, classes]``, without a background.
    anchors : list of Variable
        Of each level ``[M, 4]`` in pixels.
    im_info : Variable
        ``[batch, 3]``: height, width and scale of each image.
    score_threshold : float, default 0.05
        Only greater scores count; in the last level all above 0.
    nms_top_k : int, default 1000
        At most so many boxes of a level are compared; -1: all.
    keep_top_k : int, default 100
        At most so many boxes of an image are kept; -1: all.
    nms_threshold : float, default 0.3
        The greatest overlap of boxes that are kept.
    nms_eta : float, default 1.0
        `nms_threshold` is multiplied by it after each box kept, while above 0.5.

    Returns
    -------
    Variable
        Rows ``[class from 1, score, box]``, ``[kept, 6]``, with those of each image as level of
        detail.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> codes, scores = to_variable([[[0.0, 0.0, 0.0, 0.0]]]), to_variable([[[0.5]]])
    >>> anchors, info = to_variable([[0.0, 0.0, 7.0, 7.0]]), to_variable([[8.0, 8.0, 1.0]])
    >>> layers.retinanet_detection_output([codes], [scores], [anchors], info).tolist()
    [[1.0, 0.5, 0.0, 0.0, 7.0, 7.0]]
    """
    inputs = {
        "BBoxes": list(bboxes), "Scores": list(scores), "Anchors": list(anchors),
        "ImInfo": im_info,
    }  # fmt: skip
    attrs = {
        "score_threshold": score_threshold, "nms_top_k": nms_top_k, "keep_top_k": keep_top_k,
        "nms_threshold": nms_threshold, "nms_eta": nms_eta,
    }  # fmt: skip
    return run("retinanet_detection_output", inputs, attrs)["Out"]
