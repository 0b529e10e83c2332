"""Losses as functions that combine operators; `dygraph.ops` has them too.

Every loss takes its ``input`` first and its ``label`` second. They never broadcast: a label of
another shape raises InvalidArgumentError (a ValueError) with both shapes. ``reduction`` is
``'mean'`` (of all losses), ``'sum'`` or ``'none'`` (the losses one by one).
"""

import math

import numpy as np

from dygraph import _core
from dygraph.core import check, size_lists
from dygraph.errors import InvalidArgumentError
from dygraph.functions.distance_losses import (
    cosine_embedding_loss,
    cosine_similarity,
    hinge_embedding_loss,
    margin_ranking_loss,
    npair_loss,
    soft_margin_loss,
    triplet_margin_loss,
)
from dygraph.functions.loss_parts import REDUCTIONS, constant, like, reduced, same_shape, weighted

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss",
    "cosine_similarity", "ctc_greedy_decoder", "ctc_loss", "dice_loss", "gaussian_nll_loss",
    "hinge_embedding_loss", "l1_loss", "margin_ranking_loss", "mse_loss", "npair_loss",
    "poisson_nll_loss", "sampled_softmax_with_cross_entropy", "smooth_l1", "soft_margin_loss",
    "softmax_cross_entropy", "square_error_cost", "triplet_margin_loss",
]  # fmt: skip

ops = _core.ops


def square_error_cost(input, label):
    """``(input - label)^2``, one by one.

    Parameters
    ----------
    input, label : Variable
        One shape, float32 or float64.

    Returns
    -------
    Variable
        The shape of `input`.

    Examples
    --------
    >>> import dygraph
    >>> x, y = dygraph.to_variable([1.0, 4.0]), dygraph.to_variable([1.0, 2.0])
    >>> dygraph.ops.square_error_cost(x, y).numpy()
    array([0., 4.], dtype=float32)
    """
    input, label = same_shape("square_error_cost", input=input, label=label)
    return ops.square(input - label)


def mse_loss(input, label, reduction="mean"):
    """The mean of ``(input - label)^2``; arguments as of `square_error_cost`.

    Parameters
    ----------
    input, label : Variable
        Their shapes broadcast.
    reduction : str
        ``'mean'``, ``'sum'`` or ``'none'``.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> x, y = dygraph.to_variable([1.0, 4.0]), dygraph.to_variable([1.0, 2.0])
    >>> dygraph.ops.mse_loss(x, y).item()
    2.0
    """
    input, label = same_shape("mse_loss", input=input, label=label)
    return reduced(ops.square(input - label), reduction, "mse_loss")


def l1_loss(input, label, reduction="mean"):
    """``|input - label|``, element by element, or its mean or sum.

    Parameters
    ----------
    input, label : Variable
        Of one shape and type, float32 or float64.
    reduction : str, default "mean"
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Variable
        One number of shape ``()``; the shape of `input` for ``"none"``.

    Examples
    --------
    >>> import dygraph
    >>> x, y = dygraph.to_variable([1.0, 4.0]), dygraph.to_variable([1.0, 2.0])
    >>> dygraph.ops.l1_loss(x, y).item()
    1.0
    """
    input, label = same_shape("l1_loss", input=input, label=label)
    return reduced(ops.abs(input - label), reduction, "l1_loss")


def smooth_l1(x, y, inside_weight=None, outside_weight=None, sigma=None):
    """Fluid's name for the operator `smooth_l1_loss`: one loss ``[N, 1]`` for each row.

    Parameters
    ----------
    x, y : Variable
        ``[N, ...]``.
    inside_weight, outside_weight : Variable, optional
        Factors of the difference and of the loss, both or none.
    sigma : float, optional
        The square ends at ``1 / sigma^2``; None is 1.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[0.5, 3.0]])  # 0.5^2 / 2 and 3 - 0.5
    >>> dygraph.ops.smooth_l1(x, dygraph.zeros_like(x)).tolist()
    [[2.625]]
    """
    return ops.smooth_l1_loss(
        x,
        y,
        inside_weight=inside_weight,
        outside_weight=outside_weight,
        sigma=1.0 if sigma is None else check.number(sigma, "smooth_l1: sigma", 0),
    )


def binary_cross_entropy(input, label, weight=None, reduction="mean"):
    """``-label * log(input) - (1 - label) * log(1 - input)``. A logarithm is at least -100.

    Parameters
    ----------
    input, label : Variable
        Probabilities in [0, 1], of one shape and type, float32 or float64.
    weight : Variable or array, optional
        Factors that broadcast to the losses.
    reduction : str, default "mean"
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Variable
        One number of shape ``()``; the shape of `input` for ``"none"``.

    Examples
    --------
    >>> import dygraph
    >>> p, label = dygraph.to_variable([0.5, 0.75]), dygraph.to_variable([1.0, 0.0])
    >>> loss = dygraph.ops.binary_cross_entropy(p, label, reduction="none")
    >>> [round(v, 4) for v in loss.tolist()]  # log(2) and log(4)
    [0.6931, 1.3863]
    """
    input, label = same_shape("binary_cross_entropy", input=input, label=label)
    loss = weighted(ops.bce_loss(input, label), weight, "binary_cross_entropy")
    return reduced(loss, reduction, "binary_cross_entropy")


def binary_cross_entropy_with_logits(logit, label, weight=None, pos_weight=None, reduction="mean"):
    """`binary_cross_entropy` of ``sigmoid(logit)``, without the loss of digits at large logits.

    Parameters
    ----------
    logit, label : Variable
        Scores, and probabilities in [0, 1], of one shape and type, float32 or float64.
    weight : Variable or array, optional
        Factors that broadcast to the losses.
    pos_weight : Variable or array, optional
        Factors of the part of label 1, which broadcast to the losses.
    reduction : str, default "mean"
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Variable
        One number of shape ``()``; the shape of `logit` for ``"none"``.

    Examples
    --------
    >>> import dygraph
    >>> score, label = dygraph.to_variable([0.0, 900.0]), dygraph.to_variable([1.0, 0.0])
    >>> loss = dygraph.ops.binary_cross_entropy_with_logits(score, label, reduction="none")
    >>> [round(v, 4) for v in loss.tolist()]
    [0.6931, 900.0]
    """
    owner = "binary_cross_entropy_with_logits"
    logit, label = same_shape(owner, logit=logit, label=label)
    loss = ops.sigmoid_cross_entropy_with_logits(logit, label)
    if pos_weight is not None:
        positive = label * ops.sigmoid_cross_entropy_with_logits(logit, like(logit, 1))
        loss = loss + weighted(positive, constant(pos_weight, logit) - 1, owner)
    return reduced(weighted(loss, weight, owner), reduction, owner)


def softmax_cross_entropy(
    input, label, weight=None, ignore_index=-100, reduction="mean", soft_label=False, axis=-1,
    label_smoothing=0.0,
):  # fmt: skip
    """``-log(softmax(input)[label])`` along `axis`, for training classifiers.

    Parameters
    ----------
    input : Variable
        Scores, the classes along `axis`; float32 or float64.
    label : Variable
        int32 or int64 classes, the shape of `input` without `axis` or with 1 in its place; with
        `soft_label` a distribution of the shape of `input`.
    weight : Variable or array, optional
        A factor for each class ``[C]``.
    ignore_index : int, default -100
        A label that has no loss and no gradient and does not count in the mean.
    reduction : str, default "mean"
        ``"mean"``, ``"sum"`` or ``"none"``. The mean divides by the sum of the weights of the
        labels that count (0 if none counts); with `soft_label` by the number of losses.
    soft_label : bool, default False
        Whether `label` holds distributions.
    axis : int, default -1
        The axis of the classes; negative ones count from the end.
    label_smoothing : float, default 0.0
        The share, 0 to 1, of each label that is spread equally over all classes.

    Returns
    -------
    Variable
        One number of shape ``()``, or the shape of `input` without `axis`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) The shapes do not fit.
    OutOfRangeError
        (an IndexError) A label is no class.

    Examples
    --------
    >>> import numpy as np
    >>> import dygraph
    >>> import dygraph, numpy as np
    >>> scores = dygraph.to_variable(np.zeros((2, 4), "float32"))
    >>> label = dygraph.to_variable(np.array([1, 3]))
    >>> bool(abs(dygraph.ops.softmax_cross_entropy(scores, label).item() - np.log(4)) < 1e-6)
    True
    """
    owner = "softmax_cross_entropy"
    input, label = check.variable(input, f"{owner}: input"), check.variable(label, "label")
    axis = check.axis(axis, input.ndim, f"{owner}: axis")
    smoothing = check.number(label_smoothing, f"{owner}: label_smoothing", 0, 1)
    check.choice(reduction, REDUCTIONS, f"{owner}: reduction")
    classes = check.known_size(input, axis, owner) if smoothing else input.shape[axis]
    sizes = input.shape if input.shape.count(-1) < 2 else size_lists.sizes_of(input)
    shape = [n for i, n in enumerate(sizes) if i != axis]
    spread = [classes if i == axis else 1 for i in range(input.ndim)]
    if weight is not None:
        weight = constant(weight, input)
        if weight.shape != (classes,):
            raise InvalidArgumentError(
                f"{owner}: weight must have the shape [{classes}], a factor for each class of "
                f"input {list(input.shape)}, got {list(weight.shape)}"
            )
    if soft_label:
        (input, label) = same_shape(owner, input=input, label=label)
        if smoothing:
            label = label * (1 - smoothing) + smoothing / classes
        if weight is not None:
            label = label * weight.reshape(*spread)
        loss = ops.softmax_with_cross_entropy(input, label, soft_label=True, axis=axis)
        return reduced(loss.reshape(*shape), reduction, owner)
    loss = ops.softmax_with_cross_entropy(input, label, ignore_index=ignore_index, axis=axis)
    loss = loss.reshape(*shape)
    label = label.reshape(*shape)
    counts = ops.cast(label != ignore_index, out_dtype=input.dtype)
    factor = counts
    if weight is not None:
        # An ignored label reads row 0, whose loss is then set to 0.
        rows = label * ops.cast(label != ignore_index, out_dtype=label.dtype)
        factor = counts * ops.lookup_table_v2(weight.reshape(classes, 1), rows).reshape(*shape)
        loss = loss * factor
    if smoothing:
        even = like(input, 1 / classes)
        if weight is not None:
            even = even * weight.reshape(*spread)
        all_classes = ops.softmax_with_cross_entropy(input, even, soft_label=True, axis=axis)
        loss = loss * (1 - smoothing) + all_classes.reshape(*shape) * counts * smoothing
    if reduction != "mean":
        return reduced(loss, reduction, owner)
    total = ops.reduce_sum(factor, reduce_all=True)
    nothing = ops.cast(total == 0, out_dtype=total.dtype)
    return ops.reduce_sum(loss, reduce_all=True) / (total + nothing)


def poisson_nll_loss(input, label, log_input=True, full=False, epsilon=1e-8, reduction="mean"):
    """``exp(input) - label * input``: counts whose logarithmic mean is `input`.

    Parameters
    ----------
    input, label : Variable
        Of one shape and type, float32 or float64.
    log_input : bool, default True
        False: `input` is the mean, and the loss ``input - label * log(input + epsilon)``.
    full : bool, default False
        Whether to add Stirling's ``label * log(label) - label + log(2 * pi * label) / 2`` where the
        label is above 1.
    epsilon : float, default 1e-08
        Added to a mean that the logarithm takes.
    reduction : str, default "mean"
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Variable
        One number of shape ``()``; the shape of `input` for ``"none"``.

    Examples
    --------
    >>> import dygraph
    >>> mean, count = dygraph.to_variable([3.0, 1.0]), dygraph.to_variable([0.0, 5.0])
    >>> loss = dygraph.ops.poisson_nll_loss(mean, count, log_input=False, reduction="none")
    >>> loss.numpy().round(4).tolist()  # 3 - 0 and 1 - 5 log(1)
    [3.0, 1.0]
    """
    owner = "poisson_nll_loss"
    input, label = same_shape(owner, input=input, label=label)
    if log_input:
        loss = ops.exp(input) - label * input
    else:
        loss = input - label * ops.log(input + check.number(epsilon, f"{owner}: epsilon", 0))
    if full:
        above = ops.cast(label > 1, out_dtype=label.dtype)
        y = ops.elementwise_max(label, like(label, 1))
        loss = loss + above * (y * ops.log(y) - y + 0.5 * ops.log(y * (2 * math.pi)))
    return reduced(loss, reduction, owner)


def gaussian_nll_loss(input, label, variance, full=False, epsilon=1e-6, reduction="mean"):
    """``(log(variance) + (input - label)^2 / variance) / 2``, element by element.

    Parameters
    ----------
    input, label : Variable
        Means, and what was drawn, of one shape and type, float32 or float64.
    variance : Variable
        Of the same shape and type.
    full : bool, default False
        Whether to add the constant ``log(2 * pi) / 2``.
    epsilon : float, default 1e-06
        The least variance that counts.
    reduction : str, default "mean"
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    Variable
        One number of shape ``()``; the shape of `input` for ``"none"``.

    Examples
    --------
    >>> import dygraph
    >>> x, y = dygraph.to_variable([0.0]), dygraph.to_variable([2.0])
    >>> dygraph.ops.gaussian_nll_loss(x, y, dygraph.ones_like(x)).item()
    2.0
    """
    owner = "gaussian_nll_loss"
    input, label, variance = same_shape(owner, input=input, label=label, variance=variance)
    epsilon = check.number(epsilon, f"{owner}: epsilon", 0)
    variance = ops.elementwise_max(variance, like(variance, epsilon))
    loss = 0.5 * (ops.log(variance) + ops.square(input - label) / variance)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction, owner)


def ctc_loss(
    log_probs, labels, input_lengths, label_lengths, blank=0, reduction="mean",
    norm_by_times=False, zero_infinity=False,
):  # fmt: skip
    """Connectionist temporal classification (Graves et al., 2006), the operator `warpctc`.

    Parameters
    ----------
    log_probs : Variable
        ``[T, N, C]`` scores; the softmax in the loss does not change log probabilities.
    labels : Variable
        ``[N, L]`` integers, none of them `blank`.
    input_lengths, label_lengths : Variable
        ``[N]`` integers.
    blank : int
    reduction : 'mean', 'sum' or 'none'
        The mean is that of each loss over its number of labels.
    norm_by_times : bool
        Divide the gradient by the number of steps.
    zero_infinity : bool
        Replace infinite losses, of labels that do not fit into the steps, by 0. Their gradients are
        always 0.

    Returns
    -------
    Variable
        A scalar, or ``[N]``.

    Examples
    --------
    >>> import dygraph
    >>> scores = dygraph.zeros([1, 1, 2])  # one step, blank and another class alike
    >>> one = dygraph.to_variable([1])
    >>> loss = dygraph.ops.ctc_loss(scores, dygraph.to_variable([[1]]), one, one)
    >>> round(loss.item(), 4)  # log(2)
    0.6931
    """
    check.choice(reduction, REDUCTIONS, "ctc_loss: reduction")
    loss = ops.warpctc(
        log_probs,
        labels,
        logits_length=input_lengths,
        label_length=label_lengths,
        blank=check.integer(blank, "ctc_loss: blank", 0),
        norm_by_times=bool(norm_by_times),
    )
    loss = loss.reshape(-1)
    if zero_infinity:
        loss = ops.where(ops.isinf_v2(loss), like(loss, 0), loss)
    if reduction == "mean":
        count = ops.cast(label_lengths, out_dtype=loss.dtype).reshape(-1)
        loss = loss / ops.elementwise_max(count, like(count, 1))
    return reduced(loss, reduction, "ctc_loss")


def ctc_greedy_decoder(input, blank, input_length=None, padding_value=0):
    """The most probable class of each step, with repetitions merged and blanks removed.

    Parameters
    ----------
    input : Variable
        ``[total, C]`` with LoD, or ``[N, T, C]`` with `input_length`.
    blank : int
    input_length : Variable, optional
        ``[N, 1]`` integers.
    padding_value : int

    Returns
    -------
    Variable or (Variable, Variable)
        ``[total, 1]`` with LoD; or ``[N, T]`` and the lengths ``[N, 1]``.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> steps = dygraph.to_variable(np.eye(3)[[[1, 1, 0, 2]]])
    >>> length = dygraph.to_variable([[4]])
    >>> words, lengths = dygraph.ops.ctc_greedy_decoder(steps, blank=0, input_length=length)
    >>> words.tolist(), lengths.tolist()
    ([[1, 2, 0, 0]], [[2]])
    """
    input = check.variable(input, "ctc_greedy_decoder: input")
    best = ops.top_k(input, k=1)[1]
    attrs = {"blank": check.integer(blank, "ctc_greedy_decoder: blank", 0)}
    if input_length is None:
        return _core.run_op("ctc_align", {"Input": best}, attrs)["Output"]
    slots = {"Input": best.reshape(*size_lists.sizes_of(input)[:2]), "InputLength": input_length}
    attrs["padding_value"] = check.integer(padding_value, "ctc_greedy_decoder: padding_value")
    out = _core.run_op("ctc_align", slots, attrs, {"OutputLength": 1})
    return out["Output"], out["OutputLength"]


def dice_loss(input, label, epsilon=1e-5):
    """``1 - 2 |input and label| / (|input| + |label|)``, the mean over the batch.

    Parameters
    ----------
    input : Variable
        ``[N, ..., C]`` probabilities of each class.
    label : Variable
        ``[N, ..., 1]`` integers.
    epsilon : float
        Added to the denominator.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> p, label = dygraph.to_variable([[1.0, 0.0], [1.0, 0.0]]), dygraph.to_variable([[0], [1]])
    >>> round(dygraph.ops.dice_loss(p, label).item(), 4)  # one row right, one wrong
    0.5
    """
    input, label = check.variable(input, "dice_loss: input"), check.variable(label, "label")
    fits = input.ndim == label.ndim > 1 and all(
        map(check.may_be_equal, label.shape, (*input.shape[:-1], 1))
    )
    if not fits:
        raise InvalidArgumentError(
            f"dice_loss: label must have the shape of input with 1 in place of the classes, got "
            f"{list(label.shape)} for input {list(input.shape)}"
        )
    rows = constant(np.eye(check.known_size(input, input.ndim - 1, "dice_loss")), input)
    hot = ops.lookup_table_v2(rows, label.reshape(*size_lists.sizes_of(input)[:-1]))
    axes = list(range(1, input.ndim))
    both, of_input, of_label = (ops.reduce_sum(v, dim=axes) for v in (input * hot, input, hot))
    score = 1 - both * 2 / (of_input + of_label + check.number(epsilon, "dice_loss: epsilon", 0))
    return ops.reduce_mean(score, reduce_all=True)


def sampled_softmax_with_cross_entropy(
    logits, label, num_samples, num_true=1, remove_accidental_hits=True,
    use_customized_samples=False, customized_samples=None, customized_probabilities=None, seed=0,
):  # fmt: skip
    """`softmax_with_cross_entropy` over the true classes and `num_samples` drawn ones.

    Parameters
    ----------
    logits : Variable
        ``[N, C]`` scores; float32 or float64.
    label : Variable
        ``[N, num_true]`` int64 classes.
    num_samples : int
        How many classes are drawn.
    num_true : int, default 1
        How many classes of a row are true.
    remove_accidental_hits : bool, default True
        Whether to lower the logits of samples that are true classes of the row.
    use_customized_samples : bool, default False
        Whether to take the samples given in place of drawn ones.
    customized_samples, customized_probabilities : Variable, optional
        Classes and their probabilities, ``[N, num_true + num_samples]``.
    seed : int, default 0
        0: other draws in each call.

    Returns
    -------
    Variable
        ``[N, 1]``

    Raises
    ------
    InvalidArgumentError
        The shape of `label` does not fit.

    Examples
    --------
    >>> import dygraph
    >>> scores, label = dygraph.zeros([2, 1000]), dygraph.to_variable([[3], [7]])
    >>> dygraph.ops.sampled_softmax_with_cross_entropy(scores, label, 5).shape
    (2, 1)
    """
    owner = "sampled_softmax_with_cross_entropy"
    label = check.variable(label, f"{owner}: label")
    num_true = check.integer(num_true, f"{owner}: num_true", 1)
    if label.ndim != 2 or check.known_size(label, 1, owner) != num_true:
        raise InvalidArgumentError(
            f"{owner}: label must have the shape [N, num_true] with num_true {num_true}, got "
            f"{list(label.shape)}"
        )
    slots = {"Logits": check.variable(logits, f"{owner}: logits"), "Labels": label}
    if use_customized_samples:
        slots["CustomizedSamples"] = customized_samples
        slots["CustomizedProbabilities"] = customized_probabilities
    attrs = {
        "num_samples": check.integer(num_samples, f"{owner}: num_samples", 0),
        "remove_accidental_hits": bool(remove_accidental_hits),
        "use_customized_samples": bool(use_customized_samples),
        "seed": check.integer(seed, f"{owner}: seed"),
    }
    out = _core.run_op("sample_logits", slots, attrs)
    scores = out["SampledLogits"]
    hot = np.zeros((scores.shape[1], scores.shape[1]))
    hot[:num_true, :num_true] = np.eye(num_true)
    rows = ops.lookup_table_v2(constant(hot, scores), out["SampledLabels"])
    target = ops.reduce_sum(rows, dim=[1]) * (1 / num_true)
    return ops.softmax_with_cross_entropy(scores, target, soft_label=True)
