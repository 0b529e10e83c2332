"""Losses: a prediction, a label of its shape or its classes, and a `reduction`.

``reduction`` is ``'mean'`` (of all losses), ``'sum'`` or ``'none'`` (the losses one by one).
Predictions and labels never broadcast, as they do in PyTorch with a warning: a label of another
shape raises InvalidArgumentError (a ValueError) with both shapes.
"""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.functions import loss_parts, losses
from dygraph.nn.functional.spelling import spelled

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy",
    "gaussian_nll_loss", "huber_loss", "kl_div", "l1_loss", "mse_loss",
    "multi_label_soft_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "poisson_nll_loss",
    "smooth_l1_loss", "square_error_cost",
]  # fmt: skip

ops = _core.ops


# Classes ------------------------------------------------------------------------------------------


def _is_floating(x):
    return x.dtype.name in ("float16", "bfloat16", "float32", "float64")


def _class_axis(input, label, soft):
    """The axis of the classes: 1 in PyTorch, the last in Paddle, which the label's shape decides.

    InvalidArgumentError where both or neither fit.
    """
    if input.ndim < 3:
        return input.ndim - 1
    rest = {axis: (*input.shape[:axis], *input.shape[axis + 1 :]) for axis in (1, input.ndim - 1)}
    if soft:
        fitting = list(rest)
    else:
        fitting = [
            axis
            for axis, sizes in rest.items()
            if label.ndim == len(sizes)
            and all(map(check.may_be_equal, label.shape, sizes))
            or label.ndim == input.ndim
            and all(map(check.may_be_equal, label.shape, (*sizes[:axis], 1, *sizes[axis:])))
        ]
    if len(fitting) == 1:
        return fitting[0]
    shapes = f"got input {list(input.shape)} and label {list(label.shape)}"
    if not fitting:
        raise InvalidArgumentError(
            f"cross_entropy: label must have the shape of input without the axis of the classes, "
            f"1 or -1, {shapes}"
        )
    raise InvalidArgumentError(
        f"cross_entropy: axis must be given, as axis 1 (PyTorch's) and the last axis (Paddle's) "
        f"may both hold the classes, {shapes}. Write axis=1 or axis=-1"
    )


@spelled
def cross_entropy(
    input, label, weight=None, ignore_index=-100, reduction="mean", soft_label=None, axis=None, *,
    label_smoothing=0.0,
):  # fmt: skip
    """``-log(softmax(input)[label])`` along the axis of the classes.

    Takes scores (logits), as PyTorch and Paddle 2 do. Fluid's function of this name takes
    probabilities; nothing about an input says which it holds, so probabilities give another number
    here: write ``nll_loss(dygraph.log(p), label)`` for them.

    Parameters
    ----------
    input : Variable
        ``[N, C]``, ``[C]`` or with more axes, float32 or float64.
    label : Variable
        int32 or int64 classes, the shape of `input` without the axis of the classes, or with 1 in
        its place; or of the type and shape of `input`: the probability of each class.
    weight : Variable or array, optional
        A factor for each class ``[C]``.
    ignore_index : int
        A class that has no loss and no gradient and does not count in the mean.
    reduction : 'mean', 'sum' or 'none'
        The mean divides by the sum of the weights of the labels that count; for probabilities by
        the number of losses.
    soft_label : bool, optional
        Whether `label` holds probabilities. None: its type says it.
    axis : int, optional
        The axis of the classes. None: for three axes and more, axis 1 (PyTorch's) or the last one
        (Paddle's), whichever fits `label`.
    label_smoothing : float
        The share of each label, 0 to 1, that is spread equally over all classes.

    Returns
    -------
    Variable
        A scalar, or the shape of `input` without the axis of the classes.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes that do not fit, and for three axes and more where `label` fits
        both axes.
    OutOfRangeError
        (an IndexError) for a class that `input` does not have.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> scores, label = dygraph.zeros(2, 4), dygraph.to_variable([1, 3])
    >>> round(F.cross_entropy(scores, label).item(), 4)  # log(4)
    1.3863
    """
    input = check.variable(input, "cross_entropy: input")
    label = check.variable(label, "cross_entropy: label")
    if _is_floating(label) and not _is_floating(input):
        raise ArgumentTypeError(
            f"cross_entropy: input comes before label, got {input.dtype} and {label.dtype}. Write "
            "cross_entropy(scores, label)"
        )
    soft = _is_floating(label)
    if soft_label is not None and bool(soft_label) != soft:
        raise ArgumentTypeError(
            f"cross_entropy: label must hold {'probabilities' if soft_label else 'classes'} with "
            f"soft_label={soft_label}, got {label.dtype}. Convert it with "
            f"astype('{input.dtype.name if soft_label else 'int64'}')"
        )
    if soft and soft_label is None and label.ndim != input.ndim:
        raise ArgumentTypeError(
            f"cross_entropy: label must hold int64 or int32 classes, or probabilities of the shape "
            f"of input {list(input.shape)}, got {label.dtype} of shape {list(label.shape)}. "
            "Convert classes with astype('int64')"
        )
    if axis is None:
        axis = _class_axis(input, label, soft)
    return losses.softmax_cross_entropy(
        input,
        label,
        weight,
        check.integer(ignore_index, "cross_entropy: ignore_index"),
        reduction,
        soft,
        axis,
        label_smoothing,
    )


@spelled
def nll_loss(input, label, weight=None, ignore_index=-100, reduction="mean"):
    """``-input[label]`` of logarithms of probabilities, such as `log_softmax` gives.

    Parameters
    ----------
    input : Variable
        ``[N, C]`` or ``[N, C, d1, ...]``, float32 or float64.
    label : Variable
        int64 classes ``[N]`` or ``[N, d1, ...]``.
    weight : Variable or array, optional
        A factor for each class ``[C]``; the mean divides by the sum of those of the labels.
    ignore_index : int
        A class that counts for nothing.
    reduction : 'mean', 'sum' or 'none'

    Returns
    -------
    Variable
        A scalar, or the shape of `label`.

    Raises
    ------
    InvalidArgumentError, OutOfRangeError
        (a ValueError, an IndexError) for shapes that do not fit, for a class out of range.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> logs = dygraph.to_variable([[-0.5, -1.0], [-0.25, -2.0]])
    >>> F.nll_loss(logs, dygraph.to_variable([0, 1]), reduction="none").tolist()
    [0.5, 2.0]
    """
    check.choice(reduction, loss_parts.REDUCTIONS, "nll_loss: reduction")
    return ops.nll_loss(
        input,
        label,
        weight=None if weight is None else loss_parts.constant(weight, input),
        reduction=reduction,
        ignore_index=check.integer(ignore_index, "nll_loss: ignore_index"),
    )[0]


@spelled
def binary_cross_entropy(input, label, weight=None, reduction="mean"):
    """``-label log(input) - (1 - label) log(1 - input)`` of probabilities.

    Parameters
    ----------
    input, label : Variable
        Probabilities in [0, 1], one shape, float32 or float64. A logarithm is at least -100.
    weight : Variable or array, optional
        Factors that broadcast to the losses.
    reduction : 'mean', 'sum' or 'none'

    Returns
    -------
    Variable
        A scalar, or the shape of `input`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for other shapes, and for a weight that does not broadcast.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> p, label = dygraph.to_variable([0.5, 0.75]), dygraph.to_variable([1.0, 0.0])
    >>> y = F.binary_cross_entropy(p, label, reduction="none")
    >>> y.numpy().astype("float64").round(4).tolist()
    [0.6931, 1.3863]
    """
    return losses.binary_cross_entropy(input, label, weight, reduction)


@spelled
def binary_cross_entropy_with_logits(logit, label, weight=None, reduction="mean", pos_weight=None):
    """`binary_cross_entropy` of ``sigmoid(logit)``, without the loss of digits at large logits.

    Parameters
    ----------
    logit, label : Variable
        Scores, and probabilities in [0, 1]; one shape, float32 or float64.
    weight, pos_weight : Variable or array, optional
        Factors of the losses, and of the part of label 1; they broadcast to the losses.
    reduction : 'mean', 'sum' or 'none'

    Returns
    -------
    Variable
        A scalar, or the shape of `logit`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for other shapes, and for weights that do not broadcast.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> score, label = dygraph.to_variable([0.0, 900.0]), dygraph.to_variable([1.0, 0.0])
    >>> loss = F.binary_cross_entropy_with_logits(score, label, reduction="none")
    >>> loss.numpy().astype("float64").round(4).tolist()
    [0.6931, 900.0]
    """
    return losses.binary_cross_entropy_with_logits(logit, label, weight, pos_weight, reduction)


@spelled
def multi_label_soft_margin_loss(input, label, weight=None, reduction="mean"):
    """`binary_cross_entropy_with_logits`, the mean over the classes of each sample.

    PyTorch's name is `multilabel_soft_margin_loss`.

    Parameters
    ----------
    input, label : Variable
        ``[N, C]`` scores and labels 0 or 1, float32 or float64.
    weight : Variable or array, optional
        A factor for each class ``[C]``.
    reduction : 'mean', 'sum' or 'none'

    Returns
    -------
    Variable
        A scalar, or ``[N]``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for other shapes.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> loss = F.multi_label_soft_margin_loss(dygraph.zeros(1, 2), dygraph.ones(1, 2))
    >>> round(loss.item(), 4)  # log(2)
    0.6931
    """
    loss = losses.binary_cross_entropy_with_logits(input, label, weight, None, "none")
    if loss.ndim:
        loss = ops.reduce_mean(loss, dim=[-1])
    return loss_parts.reduced(loss, reduction, "multi_label_soft_margin_loss")


multilabel_soft_margin_loss = multi_label_soft_margin_loss


# Differences --------------------------------------------------------------------------------------


@spelled
def square_error_cost(input, label):
    """``(input - label)^2``, one by one; Paddle's name of ``mse_loss(..., reduction='none')``.

    Parameters
    ----------
    input, label : Variable
        One shape, float32 or float64.

    Returns
    -------
    Variable
        The shape of `input`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes that differ.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x = dygraph.to_variable([1.0, 4.0])
    >>> F.square_error_cost(x, dygraph.ones_like(x)).tolist()
    [0.0, 9.0]
    """
    return losses.square_error_cost(input, label)


@spelled
def mse_loss(input, label, reduction="mean"):
    """``(input - label)^2``.

    Parameters
    ----------
    input, label : Variable
        One shape and one type, float32 or float64.
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
    >>> x, y = dygraph.to_variable([1.0, 4.0]), dygraph.to_variable([1.0, 2.0])
    >>> F.mse_loss(x, y).item()
    2.0
    """
    return losses.mse_loss(input, label, reduction)


@spelled
def l1_loss(input, label, reduction="mean"):
    """``|input - label|``.

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
    >>> x, y = dygraph.to_variable([1.0, 4.0]), dygraph.to_variable([1.0, 2.0])
    >>> F.l1_loss(x, y).item()
    1.0
    """
    return losses.l1_loss(input, label, reduction)


def width(value, owner, name):
    """The width of the part of a loss that is square, above 0."""
    value = check.number(value, f"{owner}: {name}", 0)
    if value == 0:
        raise InvalidArgumentError(
            f"{owner}: {name} must be above 0. l1_loss is the loss of absolute values"
        )
    return value


@spelled
def huber_loss(input, label, reduction="mean", delta=1.0):
    """``d^2 / 2`` for a difference d below `delta`, ``delta (|d| - delta / 2)`` further out.

    Parameters
    ----------
    input, label : Variable
        One shape and one type, float32 or float64.
    reduction : 'mean', 'sum' or 'none'
    delta : float
        Above 0.

    Returns
    -------
    Variable
        A scalar, or the shape of `input`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for two shapes or types, and for a `delta` of 0 or below.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x = dygraph.to_variable([0.5, 3.0])
    >>> F.huber_loss(x, dygraph.zeros_like(x), "none", 2.0).tolist()
    [0.125, 4.0]
    """
    delta = width(delta, "huber_loss", "delta")
    input, label = loss_parts.same_shape("huber_loss", input=input, label=label)
    return loss_parts.reduced(ops.huber_loss(input, label, delta=delta), reduction, "huber_loss")


@spelled
def smooth_l1_loss(input, label, reduction="mean", *, beta=1.0):
    """``d^2 / (2 beta)`` for a difference d below `beta`, ``|d| - beta / 2`` further out.

    Parameters
    ----------
    input, label : Variable
        One shape, float32 or float64.
    reduction : 'mean', 'sum' or 'none'
    beta : float
        Above 0; PyTorch's. Paddle's argument `delta` is that of `huber_loss`, which is `beta` times
        as large; with 1 they agree.

    Returns
    -------
    Variable
        Shape ``()``, or that of `input` for 'none'.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes that differ, and for a `beta` that is not above 0.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x = dygraph.to_variable([1.0, 4.0])
    >>> F.smooth_l1_loss(x, dygraph.zeros_like(x), "none", beta=2.0).tolist()
    [0.25, 3.0]
    """
    beta = width(beta, "smooth_l1_loss", "beta")
    input, label = loss_parts.same_shape("smooth_l1_loss", input=input, label=label)
    loss = ops.huber_loss(input, label, delta=beta)
    return loss_parts.reduced(loss / beta, reduction, "smooth_l1_loss")


@spelled
def kl_div(input, label, reduction="mean", log_target=False):
    """``label * (log(label) - input)``: the divergence from `input`, which holds logarithms.

    Parameters
    ----------
    input : Variable
        Logarithms of probabilities, float32 or float64.
    label : Variable
        Probabilities, the shape and type of `input`.
    reduction : 'mean', 'batchmean', 'sum' or 'none'
        'mean' is that of all elements, as in PyTorch and Paddle; 'batchmean', the sum over the size
        of axis 0, is the divergence.
    log_target : bool
        `label` holds logarithms, too.

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
    >>> logs, label = dygraph.to_variable([[-2.0, -3.0]]), dygraph.to_variable([[1.0, 0.0]])
    >>> F.kl_div(logs, label).item(), F.kl_div(logs, label, "batchmean").item()
    (1.0, 2.0)
    """
    check.choice(reduction, ("mean", "batchmean", "sum", "none"), "kl_div: reduction")
    input, label = loss_parts.same_shape("kl_div", input=input, label=label)
    if log_target:
        label = ops.exp(label)
    return ops.kldiv_loss(input, label, reduction=reduction)


@spelled
def poisson_nll_loss(input, label, log_input=True, full=False, epsilon=1e-8, reduction="mean"):
    """``exp(input) - label * input``: counts whose logarithmic mean is `input`.

    Parameters
    ----------
    input, label : Variable
        One shape and one type, float32 or float64.
    log_input : bool
        False: `input` is the mean, and the loss ``input - label * log(input + epsilon)``.
    full : bool
        Add Stirling's ``label log(label) - label + log(2 pi label) / 2`` where label is above 1.
    epsilon : float
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
    >>> mean, count = dygraph.to_variable([3.0, 1.0]), dygraph.to_variable([0.0, 0.0])
    >>> F.poisson_nll_loss(mean, count, log_input=False, reduction="none").tolist()
    [3.0, 1.0]
    """
    return losses.poisson_nll_loss(input, label, log_input, full, epsilon, reduction)


@spelled
def gaussian_nll_loss(input, label, variance, full=False, epsilon=1e-6, reduction="mean"):
    """``(log(variance) + (input - label)^2 / variance) / 2``.

    Parameters
    ----------
    input, label, variance : Variable
        One shape and one type, float32 or float64; a variance counts as at least `epsilon`.
    full : bool
        Add the constant ``log(2 pi) / 2``.
    epsilon : float
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
    >>> F.gaussian_nll_loss(dygraph.zeros(1), dygraph.full([1], 2.0), dygraph.ones(1)).item()
    2.0
    """
    return losses.gaussian_nll_loss(input, label, variance, full, epsilon, reduction)
