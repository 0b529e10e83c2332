"""Boxes: their overlap, boxes relative to others, which box belongs to which label."""

from dygraph.static.layers.making import layer, operator, run
from dygraph.vision import ops

__all__ = [
    "bipartite_match", "box_clip", "box_coder", "box_decoder_and_assign", "iou_similarity",
    "polygon_box_transform", "target_assign",
]  # fmt: skip


@operator()
def iou_similarity(x, y, box_normalized=True, name=None):
    """Intersection over union of all boxes of `x` with all of `y`.

    Parameters
    ----------
    x, y : Variable
        ``[n, 4]`` and ``[m, 4]``: left, upper, right and lower sides; float32 or float64.
    box_normalized : bool, default True
        False: sides are pixels, and a box from 2 to 4 is 3 wide.
    name : str, optional
        The name of the result in a program.

    Returns
    -------
    Variable
        ``[n, m]``, with the level of detail of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, y = to_variable([[0.0, 0.0, 2.0, 2.0]]), to_variable([[1.0, 1.0, 3.0, 3.0]])
    >>> round(layers.iou_similarity(x, y).item(), 4)
    0.1429
    """


@layer
def box_coder(
    prior_box, prior_box_var, target_box, code_type="encode_center_size", box_normalized=True,
    name=None, axis=0,
):  # fmt: skip
    """Boxes as shifts and logarithms of factors relative to prior boxes, or the reverse.

    With centre and size ``x, y, w, h`` of a target ``t`` and of a prior box ``p``, its code is
    ``((tx - px) / pw, (ty - py) / ph, log(tw / pw), log(th / ph))`` divided by the variances.

    Parameters
    ----------
    prior_box : Variable
        ``[m, 4]``: left, upper, right and lower sides; float32 or float64.
    prior_box_var : Variable, list of float or None
        Variances ``[m, 4]``, or four numbers for all boxes; None: 1.
    target_box : Variable
        To encode, boxes ``[n, 4]``; to decode, codes ``[n, m, 4]``.
    code_type : str
        ``"encode_center_size"`` or ``"decode_center_size"``.
    box_normalized : bool, default True
        False: sides are pixels, and a box from 2 to 4 is 3 wide.
    name : str, optional
        The name of the result in a program.
    axis : int, default 0
        To decode: 0 where prior boxes belong to the columns of `target_box`, 1: to its rows.

    Returns
    -------
    Variable
        ``[n, m, 4]``: codes of each target relative to each prior box, or boxes.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> prior = to_variable([[0.0, 0.0, 2.0, 2.0]])
    >>> layers.box_coder(prior, [0.5] * 4, to_variable([[1.0, 0.0, 3.0, 2.0]])).tolist()
    [[[1.0, 0.0, 0.0, 0.0]]]
    """
    return ops.box_coder(prior_box, prior_box_var, target_box, code_type, box_normalized, axis)


@operator(im_info="ImInfo")
def box_clip(input, im_info, name=None):
    """Boxes cut off at the borders of their images.

    Parameters
    ----------
    input : Variable
        ``[rows, 4]`` or ``[rows, classes, 4]`` in pixels, with a level of detail for several
        images; float32 or float64.
    im_info : Variable
        ``[images, 3]``: height, width and scale; an image is ``round(height / scale)`` high.
    name : str, optional
        The name of the result in a program.

    Returns
    -------
    Variable
        The shape of `input`; sides from 0 to the last pixel.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> boxes, info = to_variable([[-1.0, 2.0, 30.0, 40.0]]), to_variable([[10.0, 20.0, 1.0]])
    >>> layers.box_clip(boxes, info).tolist()
    [[0.0, 2.0, 19.0, 9.0]]
    """


@layer
def box_decoder_and_assign(
    prior_box, prior_box_var, target_box, box_score, box_clip, name=None
):  # fmt: skip
    """Boxes of each class from codes, and of each row the box of its best class.

    Parameters
    ----------
    prior_box : Variable
        ``[n, 4]`` in pixels; float32 or float64.
    prior_box_var : Variable
        Four variances.
    target_box : Variable
        Codes ``[n, 4 * classes]``, as `box_coder` makes them.
    box_score : Variable
        ``[n, classes]``; class 0 is the background, which is never the best.
    box_clip : float
        The greatest logarithm of a factor.
    name : str, optional
        The name of the results in a program.

    Returns
    -------
    decoded : Variable
        ``[n, 4 * classes]``.
    assigned : Variable
        ``[n, 4]``.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> prior, var = to_variable([[0.0, 0.0, 1.0, 1.0]]), to_variable([0.1, 0.1, 0.2, 0.2])
    >>> codes, score = to_variable([[0.0] * 4 + [5.0, 0.0, 0.0, 0.0]]), to_variable([[0.5, 0.5]])
    >>> layers.box_decoder_and_assign(prior, var, codes, score, 4.0)[1].tolist()
    [[1.0, 0.0, 2.0, 1.0]]
    """
    inputs = {
        "PriorBox": prior_box, "PriorBoxVar": prior_box_var, "TargetBox": target_box,
        "BoxScore": box_score,
    }  # fmt: skip
    found = run("box_decoder_and_assign", inputs, {"box_clip": box_clip})
    return found["DecodeBox"], found["OutputAssignBox"]


@operator()
def polygon_box_transform(input, name=None):
    """Corners of quadrilaterals from their distances to the cells of a map (EAST, 2017).

    Parameters
    ----------
    input : Variable
        ``[batch, 2 * corners, height, width]``: distances across in even channels, down in odd
        ones; float32 or float64. A cell is 4 pixels wide and high.
    name : str, optional
        The name of the result in a program.

    Returns
    -------
    Variable
        The shape of `input`: ``4 * column - input`` and ``4 * row - input``.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.polygon_box_transform(to_variable([[[[1.0, 1.0]], [[0.5, 0.5]]]])).tolist()
    [[[[-1.0, 3.0]], [[-0.5, -0.5]]]]
    """


@layer
def bipartite_match(dist_matrix, match_type=None, dist_threshold=None, name=None):
    """Match columns with rows, greedily: the greatest element first, each row and column once.

    Parameters
    ----------
    dist_matrix : Variable
        ``[rows, columns]``, the greater the closer, with the rows of each image as its level of
        detail; float32 or float64.
    match_type : str, optional
        ``"bipartite"``, the default, or ``"per_prediction"``: then each column left takes the row
        of its greatest element, if that is `dist_threshold` or more.
    dist_threshold : float, optional
        None is 0.5.
    name : str, optional
        The name of the results in a program.

    Returns
    -------
    indices : Variable
        int32 ``[images, columns]``: the row in its image; -1: none.
    dist : Variable
        ``[images, columns]``: the element that matched; 0: none.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> rows, dist = layers.bipartite_match(to_variable([[0.75, 0.5], [0.25, 0.0]]))
    >>> rows.tolist(), dist.tolist()
    ([[0, -1]], [[0.75, 0.0]])
    """
    attrs = {"match_type": match_type, "dist_threshold": dist_threshold}
    found = run("bipartite_match", {"DistMat": dist_matrix}, attrs)
    return found["ColToRowMatchIndices"], found["ColToRowMatchDist"]


@layer
def target_assign(input, matched_indices, negative_indices=None, mismatch_value=None, name=None):
    """The target of each column of a match: the row that it matched, or a value for none.

    Parameters
    ----------
    input : Variable
        ``[rows, P, K]`` with the rows of each image as its level of detail; int32, int64, float32
        or float64. Column ``j`` reads ``input[row, j % P]``.
    matched_indices : Variable
        int32 ``[images, columns]``: rows of the image; negative: none.
    negative_indices : Variable, optional
        int32 ``[rows, 1]`` with a level of detail: columns that get `mismatch_value` with
        weight 1.
    mismatch_value : int, optional
        None is 0.
    name : str, optional
        The name of the results in a program.

    Returns
    -------
    out : Variable
        ``[images, columns, K]``.
    weight : Variable
        ``[images, columns, 1]``: 1 where there is a target, 0 elsewhere; float32, or the type of a
        floating `input`.

    Raises
    ------
    OutOfRangeError
        An index names a row or a column that is not there.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> labels = to_variable([[[5]], [[6]]], lod=[[0, 2]])
    >>> out, weight = layers.target_assign(labels, to_variable(np.array([[1, -1]], "int32")))
    >>> out.tolist(), weight.tolist()
    ([[[6], [0]]], [[[1.0], [0.0]]])
    """
    inputs = {"X": input, "MatchIndices": matched_indices, "NegIndices": negative_indices}
    found = run("target_assign", inputs, {"mismatch_value": mismatch_value})
    return found["Out"], found["OutWeight"]
