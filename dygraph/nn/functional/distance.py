"""Distances, similarities and the losses of margins, with a `reduction` as other losses."""

from dygraph.core import check
from dygraph.functions import distance_losses, loss_parts, losses
from dygraph.nn.functional.spelling import spelled

__all__ = [
    "cosine_embedding_loss", "cosine_similarity", "hinge_embedding_loss", "margin_ranking_loss",
    "pairwise_distance", "soft_margin_loss", "triplet_margin_loss",
]  # fmt: skip


@spelled
def cosine_similarity(x1, x2, axis=1, epsilon=1e-8):
    """``x1 . x2 / max(|x1| |x2|, epsilon)`` along `axis`.

    PyTorch bounds each norm by itself, Paddle the product, as here.

    Parameters
    ----------
    x1, x2 : Variable
        One shape, float32 or float64.
    axis : int
    epsilon : float

    Returns
    -------
    Variable
        The shape of `x1` without `axis`.

    Raises
    ------
    InvalidArgumentError, OutOfRangeError
        (a ValueError, an IndexError) for two shapes, for an axis that they do not have.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> a = dygraph.to_variable([[3.0, 4.0], [1.0, 0.0]])
    >>> F.cosine_similarity(a, dygraph.to_variable([[6.0, 8.0], [0.0, 2.0]])).tolist()
    [1.0, 0.0]
    """
    return losses.cosine_similarity(x1, x2, axis, epsilon)


@spelled
def pairwise_distance(x, y, p=2.0, epsilon=1e-6, keepdim=False):
    """The p-norm of ``x - y + epsilon`` along the last axis.

    Parameters
    ----------
    x, y : Variable
        One shape ``[N, D]`` or ``[D]``, float32 or float64.
    p, epsilon : float
        `p` is at least 1.
    keepdim : bool
        Keep the last axis, of size 1.

    Returns
    -------
    Variable
        ``[N]`` or ``[]``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for two shapes or types, and for a `p` below 1.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x = dygraph.to_variable([[3.0, 4.0]])
    >>> F.pairwise_distance(x, dygraph.zeros_like(x), epsilon=0.0).tolist()
    [5.0]
    """
    x, y = loss_parts.same_shape("pairwise_distance", x=x, y=y)
    p = check.number(p, "pairwise_distance: p", 1)
    epsilon = check.number(epsilon, "pairwise_distance: epsilon")
    return distance_losses.distance(x, y, p, epsilon, keepdim)


@spelled
def cosine_embedding_loss(input1, input2, label, margin=0.0, reduction="mean"):
    """``1 - cos(input1, input2)`` for label 1, ``max(0, cos - margin)`` for label -1.

    Parameters
    ----------
    input1, input2 : Variable
        ``[N, D]`` or ``[D]``, float32 or float64.
    label : Variable
        ``[N]`` or ``[]``, 1 or -1, of the type of the inputs.
    margin : float
        Between -1 and 1.
    reduction : 'mean', 'sum' or 'none'

    Returns
    -------
    Variable
        A scalar, or the shape of `label`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for other shapes, a margin out of bounds.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> a, b = dygraph.to_variable([[1.0, 0.0]]), dygraph.to_variable([[0.0, 1.0]])
    >>> F.cosine_embedding_loss(a, b, dygraph.ones([1], a.dtype)).item()
    1.0
    """
    return losses.cosine_embedding_loss(input1, input2, label, margin, reduction)


@spelled
def margin_ranking_loss(input, other, label, margin=0.0, reduction="mean"):
    """``max(0, margin - label * (input - other))``: label 1 where `input` ranks higher, else -1.

    Parameters
    ----------
    input, other, label : Variable
        One shape and one type, float32 or float64. PyTorch's names are `input1`, `input2`.
    margin : float
    reduction : 'mean', 'sum' or 'none'

    Returns
    -------
    Variable
        A scalar, or the shape of `input`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for several shapes or types, and for another `reduction`.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x, other = dygraph.to_variable([3.0, 1.0]), dygraph.to_variable([1.0, 2.0])
    >>> F.margin_ranking_loss(x, other, dygraph.ones_like(x), reduction="none").tolist()
    [0.0, 1.0]
    """
    return losses.margin_ranking_loss(input, other, label, margin, reduction)


@spelled
def hinge_embedding_loss(input, label, margin=1.0, reduction="mean"):
    """`input`, a distance, for label 1; ``max(0, margin - input)`` for label -1.

    Parameters
    ----------
    input, label : Variable
        One shape and one type, float32 or float64.
    margin : float
    reduction : 'mean', 'sum' or 'none'

    Returns
    -------
    Variable
        A scalar, or the shape of `input`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for two shapes or types, and for another `reduction`.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> distance, label = dygraph.to_variable([0.5, 0.25]), dygraph.to_variable([1.0, -1.0])
    >>> F.hinge_embedding_loss(distance, label, reduction="none").tolist()
    [0.5, 0.75]
    """
    return losses.hinge_embedding_loss(input, label, margin, reduction)


@spelled
def soft_margin_loss(input, label, reduction="mean"):
    """``log(1 + exp(-label * input))``, labels 1 or -1.

    Parameters
    ----------
    input, label : Variable
        One shape, float32 or float64.
    reduction : 'mean', 'sum' or 'none'

    Returns
    -------
    Variable
        Shape ``()``, or that of `input` for 'none'.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes that differ, and for another `reduction`.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> score, label = dygraph.to_variable([0.0, 900.0]), dygraph.to_variable([1.0, -1.0])
    >>> F.soft_margin_loss(score, label, "none").numpy().astype("float64").round(4).tolist()
    [0.6931, 900.0]
    """
    return losses.soft_margin_loss(input, label, reduction)


@spelled
def triplet_margin_loss(
    input, positive, negative, margin=1.0, p=2.0, epsilon=1e-6, swap=False, reduction="mean"
):
    """``max(0, d(input, positive) - d(input, negative) + margin)``, d a `pairwise_distance`.

    Balntas et al., 2016.

    Parameters
    ----------
    input, positive, negative : Variable
        One shape ``[N, D]``, float32 or float64. PyTorch's name of `input` is `anchor`.
    margin, p, epsilon : float
        `p` and `epsilon` as those of `pairwise_distance`.
    swap : bool
        Take the smaller of the distances of `negative` to the two others.
    reduction : 'mean', 'sum' or 'none'

    Returns
    -------
    Variable
        A scalar, or ``[N]``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for several shapes or types, and for a `p` below 1.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x, positive = dygraph.to_variable([[0.0, 0.0]]), dygraph.to_variable([[0.0, 6.0]])
    >>> negative = dygraph.to_variable([[3.0, 4.0]])  # 6 away, 5 away, and a margin of 1
    >>> round(F.triplet_margin_loss(x, positive, negative).item(), 4)
    2.0
    """
    return losses.triplet_margin_loss(
        input, positive, negative, margin, p, epsilon, swap, reduction
    )
