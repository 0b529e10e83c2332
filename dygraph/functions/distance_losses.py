"""Losses of distances, similarities and margins; `losses` shows them with the others."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.functions.loss_parts import like, reduced, same_shape

__all__ = [
    "cosine_embedding_loss", "cosine_similarity", "hinge_embedding_loss", "margin_ranking_loss",
    "npair_loss", "soft_margin_loss", "triplet_margin_loss",
]  # fmt: skip

ops = _core.ops


def cosine_similarity(x1, x2, axis=1, eps=1e-8):
    """``x1 . x2 / max(|x1| |x2|, eps)`` along `axis`.

    Parameters
    ----------
    x1, x2 : Variable
        One shape.
    axis : int
    eps : float

    Returns
    -------
    Variable
        The shape of `x1` without `axis`.

    Examples
    --------
    >>> import dygraph
    >>> a = dygraph.to_variable([[3.0, 4.0], [1.0, 0.0]])
    >>> b = dygraph.to_variable([[6.0, 8.0], [0.0, 2.0]])
    >>> dygraph.ops.cosine_similarity(a, b).tolist()
    [1.0, 0.0]
    """
    x1, x2 = same_shape("cosine_similarity", x1=x1, x2=x2)
    axis = check.axis(axis, x1.ndim, "cosine_similarity: axis")
    eps = check.number(eps, "cosine_similarity: eps", 0)
    dot, a, b = (ops.reduce_sum(v, dim=[axis]) for v in (x1 * x2, ops.square(x1), ops.square(x2)))
    squares = a * b
    return dot / ops.sqrt(ops.elementwise_max(squares, like(squares, eps * eps)))


def cosine_embedding_loss(input1, input2, label, margin=0.0, reduction="mean"):
    """``1 - cos`` for label 1, ``max(0, cos - margin)`` for label -1.

    Parameters
    ----------
    input1, input2 : Variable
        ``[N, D]`` or ``[D]``, of one type.
    label : Variable
        ``[N]`` or ``[]``, 1 or -1, of the type of the inputs.
    margin : float, default 0.0
        The greatest cosine that costs nothing, from -1 to 1.
    reduction : str, default "mean"
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Variable
        One number of shape ``()``; ``[N]`` for ``"none"``.

    Examples
    --------
    >>> import dygraph
    >>> a = dygraph.to_variable([[1.0, 0.0], [1.0, 0.0]])
    >>> b = dygraph.to_variable([[0.0, 1.0], [1.0, 0.0]])
    >>> label = dygraph.to_variable([1.0, -1.0])
    >>> dygraph.ops.cosine_embedding_loss(a, b, label, 0.25, reduction="none").tolist()
    [1.0, 0.75]
    """
    owner = "cosine_embedding_loss"
    input1, input2 = same_shape(owner, input1=input1, input2=input2)
    cos = cosine_similarity(input1, input2, axis=-1)
    cos, label = same_shape(owner, similarity=cos, label=label)
    alike = ops.cast(label == 1, out_dtype=cos.dtype)
    apart = ops.relu(cos - check.number(margin, f"{owner}: margin", -1, 1))
    return reduced(alike * (1 - cos) + (1 - alike) * apart, reduction, owner)


def margin_ranking_loss(input, other, label, margin=0.0, reduction="mean"):
    """``max(0, margin - label * (input - other))``, element by element.

    Parameters
    ----------
    input, other : Variable
        Scores of one shape and type, float32 or float64.
    label : Variable
        1 where `input` ranks higher, else -1; of the same shape and type.
    margin : float, default 0.0
        The smallest difference that costs nothing.
    reduction : str, default "mean"
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Variable
        One number of shape ``()``; the shape of `input` for ``"none"``.

    Examples
    --------
    >>> import dygraph
    >>> x, other = dygraph.to_variable([3.0, 1.0]), dygraph.to_variable([1.0, 2.0])
    >>> label = dygraph.ones_like(x)
    >>> dygraph.ops.margin_ranking_loss(x, other, label, reduction="none").tolist()
    [0.0, 1.0]
    """
    input, other, label = same_shape("margin_ranking_loss", input=input, other=other, label=label)
    margin = check.number(margin, "margin_ranking_loss: margin")
    loss = ops.margin_rank_loss(input, other, label, margin=margin)
    return reduced(loss, reduction, "margin_ranking_loss")


def hinge_embedding_loss(input, label, margin=1.0, reduction="mean"):
    """`input`, a distance, for label 1; ``max(0, margin - input)`` for label -1.

    Parameters
    ----------
    input : Variable
        Distances of any shape; float32 or float64.
    label : Variable
        1 or -1, of the shape and type of `input`.
    margin : float, default 1.0
        The smallest distance that costs nothing.
    reduction : str, default "mean"
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Variable
        One number of shape ``()``; the shape of `input` for ``"none"``.

    Examples
    --------
    >>> import dygraph
    >>> distance, label = dygraph.to_variable([0.5, 0.25]), dygraph.to_variable([1.0, -1.0])
    >>> dygraph.ops.hinge_embedding_loss(distance, label, reduction="none").tolist()
    [0.5, 0.75]
    """
    owner = "hinge_embedding_loss"
    input, label = same_shape(owner, input=input, label=label)
    alike = ops.cast(label == 1, out_dtype=input.dtype)
    apart = ops.relu(check.number(margin, f"{owner}: margin") - input)
    return reduced(alike * input + (1 - alike) * apart, reduction, owner)


def soft_margin_loss(input, label, reduction="mean"):
    """``log(1 + exp(-label * input))``, element by element.

    Parameters
    ----------
    input : Variable
        Scores of any shape; float32 or float64.
    label : Variable
        1 or -1, of the shape and type of `input`.
    reduction : str, default "mean"
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Variable
        One number of shape ``()``; the shape of `input` for ``"none"``.

    Examples
    --------
    >>> import dygraph
    >>> score, label = dygraph.to_variable([0.0, 900.0]), dygraph.to_variable([1.0, -1.0])
    >>> loss = dygraph.ops.soft_margin_loss(score, label, reduction="none")
    >>> [round(v, 4) for v in loss.tolist()]
    [0.6931, 900.0]
    """
    input, label = same_shape("soft_margin_loss", input=input, label=label)
    score = input * label
    loss = ops.sigmoid_cross_entropy_with_logits(score, like(score, 1))
    return reduced(loss, reduction, "soft_margin_loss")


def distance(a, b, p, epsilon, keepdim=False):
    """The p-norm of ``a - b + epsilon`` along the last axis."""
    powers = ops.pow(ops.abs(a - b + epsilon), factor=p)
    return ops.pow(ops.reduce_sum(powers, dim=[-1], keep_dim=keepdim), factor=1 / p)


def triplet_margin_loss(
    input, positive, negative, margin=1.0, p=2.0, epsilon=1e-6, swap=False, reduction="mean"
):
    """``max(0, d(input, positive) - d(input, negative) + margin)``.

    ``d(a, b)`` is the p-norm of ``a - b + epsilon`` along the last axis (Balntas and others, 2016).

    Parameters
    ----------
    input, positive, negative : Variable
        One shape ``[N, D]`` and type, float32 or float64.
    margin : float, default 1.0
        How much farther `negative` must be to cost nothing.
    p : float, default 2.0
        The order of the norm, at least 1.
    epsilon : float, default 1e-06
        Added to the differences.
    swap : bool, default False
        Whether to take the smaller of the distances of `negative` to the two others.
    reduction : str, default "mean"
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Variable
        One number of shape ``()``; ``[N]`` for ``"none"``.

    Examples
    --------
    >>> import dygraph
    >>> x, positive = dygraph.to_variable([[0.0, 0.0]]), dygraph.to_variable([[0.0, 6.0]])
    >>> negative = dygraph.to_variable([[3.0, 4.0]])  # 6 away, 5 away, and a margin of 1
    >>> round(dygraph.ops.triplet_margin_loss(x, positive, negative).item(), 4)
    2.0
    """
    owner = "triplet_margin_loss"
    input, positive, negative = same_shape(owner, input=input, positive=positive, negative=negative)
    margin = check.number(margin, f"{owner}: margin")
    p = check.number(p, f"{owner}: p", 1)

    far = distance(input, negative, p, epsilon)
    if swap:
        far = ops.elementwise_min(far, distance(positive, negative, p, epsilon))
    near = distance(input, positive, p, epsilon)
    return reduced(ops.relu(near - far + margin), reduction, owner)


def npair_loss(anchor, positive, labels, l2_reg=0.002):
    """The loss of pairs against the pairs of other labels in the batch (Sohn, 2016).

    The cross entropy of ``anchor @ positive.T`` with equal probabilities for the columns of a row's
    label, plus `l2_reg` times a quarter of the mean squared norms.

    Parameters
    ----------
    anchor, positive : Variable
        ``[N, D]``; float32 or float64.
    labels : Variable
        ``[N]``
    l2_reg : float, default 0.002
        The weight of the norms, at least 0.

    Returns
    -------
    Variable
        One number, of shape ``()``.

    Raises
    ------
    InvalidArgumentError
        There is not one label for each row.

    Examples
    --------
    >>> import dygraph
    >>> x, labels = dygraph.zeros([2, 3]), dygraph.to_variable([0, 1])
    >>> round(dygraph.ops.npair_loss(x, x, labels).item(), 4)  # two alike: log(2)
    0.6931
    """
    anchor, positive = same_shape("npair_loss", anchor=anchor, positive=positive)
    labels = check.variable(labels, "npair_loss: labels")
    n = anchor.shape[0]
    if -1 not in (n, *labels.shape) and labels.size != n:
        raise InvalidArgumentError(
            f"npair_loss: labels must hold one label for each row of anchor "
            f"{list(anchor.shape)}, got shape {list(labels.shape)}"
        )
    same = ops.cast(labels.reshape(n, 1) == labels.reshape(1, n), out_dtype=anchor.dtype)
    target = same / ops.reduce_sum(same, dim=[1], keep_dim=True)
    norms = [ops.reduce_mean(ops.reduce_sum(ops.square(v), dim=[1])) for v in (anchor, positive)]
    scores = ops.matmul_v2(anchor, positive, trans_y=True)
    loss = ops.softmax_with_cross_entropy(scores, target, soft_label=True)
    regular = (norms[0] + norms[1]) * (0.25 * check.number(l2_reg, "npair_loss: l2_reg", 0))
    return ops.reduce_mean(loss, reduce_all=True) + regular
