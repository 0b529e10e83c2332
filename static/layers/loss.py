"""Losses."""

from dygraph import ops
from dygraph.core import check
from dygraph.static.layers.making import layer, operator, run


@operator(input="X")
def bpr_loss(input, label, name=None):
    """Bayesian personalised ranking: how far the label's score stands above the others.

    ``-sum(log(sigmoid(input[label] - input[j]))) / (classes - 1)`` over all ``j`` other than the
    label (Hidasi and others, 2016). The label gets no gradient.

    Parameters
    ----------
    input : Variable
        Scores ``[..., classes]`` of at least 2 classes; float32 or float64.
    label : Variable
        The right classes, ``[..., 1]``, int64 or int32.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[..., 1]``, of the type of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> scores = to_variable([[0.0, 0.0, 0.0]])
    >>> round(layers.bpr_loss(scores, to_variable([[1]])).item(), 4)
    0.6931
    """


@operator(input="X", label="Y")
def huber_loss(input, label, delta):
    """``(label - input)^2 / 2`` up to `delta`, ``delta * (|label - input| - delta / 2)`` beyond it.

    Parameters
    ----------
    input, label : Variable
        Of one shape and type, float32 or float64.
    delta : float
        The difference, above 0, at which the square becomes a line.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.huber_loss(to_variable([0.0, 0.0]), to_variable([0.5, 3.0]), delta=1.0).tolist()
    [0.125, 2.5]
    """


@operator()
def kldiv_loss(x, target, reduction="mean", name=None):
    """The Kullback-Leibler divergence ``target * (log(target) - x)``; 0 where `target` is not
    positive.

    The target gets no gradient.

    Parameters
    ----------
    x : Variable
        Logarithms of probabilities, of any shape; float32 or float64.
    target : Variable
        Probabilities, of the shape and type of `x`.
    reduction : str, default "mean"
        ``"none"``: element by element. ``"mean"``: the mean of all elements. ``"sum"``: their sum.
        ``"batchmean"``: the sum divided by the first size.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape of `x` for ``"none"``, else one number of shape ``()``.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, target = to_variable([0.0, -1.0]), to_variable([1.0, 1.0])
    >>> layers.kldiv_loss(x, target, reduction="none").tolist()
    [0.0, 1.0]
    >>> layers.kldiv_loss(x, target).item()
    0.5
    """


@operator(input="Predicted", label="Labels")
def log_loss(input, label, epsilon=0.0001, name=None):
    """The cross entropy of probabilities of class 1, element by element.

    ``-label * log(input + epsilon) - (1 - label) * log(1 - input + epsilon)``. The label gets no
    gradient.

    Parameters
    ----------
    input : Variable
        Probabilities, of any shape; float32 or float64.
    label : Variable
        0 or 1, of the shape and type of `input`.
    epsilon : float, default 0.0001
        Added to what the logarithms take.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> p, label = to_variable([[0.5], [0.25]]), to_variable([[1.0], [0.0]])
    >>> [round(v, 4) for [v] in layers.log_loss(p, label, epsilon=0.0).tolist()]
    [0.6931, 0.2877]
    """


@operator(left="X1", right="X2")
def margin_rank_loss(label, left, right, margin=0.1, name=None):
    """``max(0, margin - label * (left - right))``, element by element. The label gets no gradient.

    Parameters
    ----------
    label : Variable
        1 where `left` ranks higher, -1 where `right` does.
    left, right : Variable
        Scores of one shape and type, float32 or float64.
    margin : float, default 0.1
        The smallest difference that costs nothing.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of the scores.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, y, z = to_variable([2.0, 1.0]), to_variable([1.5, 3.0]), to_variable([1.0, -1.0])
    >>> left, right, label = x, y, z
    >>> layers.margin_rank_loss(label, left, right, margin=1.0).tolist()
    [0.5, 0.0]
    """


@operator()
def rank_loss(label, left, right, name=None):
    """``log(1 + exp(left - right)) - label * (left - right)`` (RankNet; Burges and others, 2005).

    The label gets no gradient.

    Parameters
    ----------
    label : Variable
        1 where `left` ranks higher, 0 where `right` does.
    left, right : Variable
        Scores of one shape and type, float32 or float64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of the scores.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> left, right = to_variable([[1.0], [0.0]]), to_variable([[0.0], [0.0]])
    >>> [round(v, 4) for [v] in layers.rank_loss(to_variable([[1.0], [0.0]]), left, right).tolist()]
    [0.3133, 0.6931]
    """


@operator()
def sigmoid_cross_entropy_with_logits(x, label, ignore_index=-100, name=None, normalize=False):
    """The cross entropy of `label` and ``sigmoid(x)``, element by element.

    ``max(x, 0) - x * label + log(1 + exp(-|x|))``; 0 where the label is `ignore_index`. The label
    gets no gradient.

    Parameters
    ----------
    x : Variable
        Scores, of any shape; float32 or float64.
    label : Variable
        Probabilities, of the shape and type of `x`.
    ignore_index : int, default -100
        The label of elements that do not count.
    name : str, optional
        The name of the result in a program; an eager call does not use it.
    normalize : bool, default False
        Whether to divide by the number of labels that count.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, label = to_variable([[0.0, 1.0]]), to_variable([[1.0, -100.0]])
    >>> out = layers.sigmoid_cross_entropy_with_logits(x, label)
    >>> [round(v, 4) for v in out.tolist()[0]]
    [0.6931, 0.0]
    """


@operator(input="X")
def teacher_student_sigmoid_loss(input, label, soft_max_up_bound=15.0, soft_max_lower_bound=-15.0):
    """The loss of a student that learns from clicks and from a teacher's scores.

    With ``s(x) = log(1 + exp(x))``: ``s(x)`` for a label below -1 (no click, no teacher), ``s(x) -
    x`` below 0 (a click, no teacher), else ``2 * s(x) - x * label``, where the label is the click,
    0 or 1, plus the teacher's score. The label gets no gradient.

    Parameters
    ----------
    input : Variable
        Scores, of any shape; float32 or float64.
    label : Variable
        Of the shape and type of `input`.
    soft_max_up_bound, soft_max_lower_bound : float, default 15.0 and -15.0
        Scores outside these bounds get no gradient.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, label = to_variable([[0.0], [0.0], [0.0]]), to_variable([[-2.0], [-1.0], [1.5]])
    >>> [round(v, 4) for [v] in layers.teacher_student_sigmoid_loss(x, label).tolist()]
    [0.6931, 0.6931, 1.3863]
    """


@layer
def square_error_cost(input, label):
    """``(input - label)^2``, element by element.

    Parameters
    ----------
    input, label : Variable
        Of shapes that broadcast; of one type.

    Returns
    -------
    Variable
        The shape that both broadcast to, of their type.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.square_error_cost(to_variable([1.0, 5.0]), to_variable([3.0, 5.0])).tolist()
    [4.0, 0.0]
    """
    difference = run("elementwise_sub", {"X": input, "Y": label})["Out"]
    return run("square", {"X": difference})["Out"]


@layer
def mse_loss(input, label):
    """The mean of ``(input - label)^2`` over all elements.

    Parameters
    ----------
    input, label : Variable
        Of one shape and type, float32 or float64.

    Returns
    -------
    Variable
        One number, of shape ``()``.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.mse_loss(to_variable([1.0, 5.0]), to_variable([3.0, 5.0])).item()
    2.0
    """
    return ops.mse_loss(input, label)


@layer
def cross_entropy(input, label, soft_label=False, ignore_index=-100):
    """``-log(input[label])`` of rows of probabilities, which add up to 1.

    `softmax_with_cross_entropy` takes scores and is exact for large ones.

    Parameters
    ----------
    input : Variable
        Probabilities ``[..., classes]``; float32 or float64.
    label : Variable
        Class numbers ``[..., 1]``, int64 or int32; with `soft_label`, probabilities of the shape
        and type of `input`.
    soft_label : bool, default False
        Whether `label` holds probabilities: ``-sum(label * log(input))``.
    ignore_index : int, default -100
        The label of rows that give 0. Not used with `soft_label`.

    Returns
    -------
    Variable
        ``[..., 1]``, of the type of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> p = to_variable([[0.25, 0.75], [0.5, 0.5]])
    >>> [round(v, 4) for [v] in layers.cross_entropy(p, to_variable([[1], [0]])).tolist()]
    [0.2877, 0.6931]
    >>> soft = to_variable([[0.0, 1.0], [0.5, 0.5]])
    >>> [round(v, 4) for [v] in layers.cross_entropy(p, soft, soft_label=True).tolist()]
    [0.2877, 0.6931]
    """
    if soft_label:
        return run("cross_entropy", {"X": input, "Label": label}, {"soft_label": True})["Y"]
    attrs = {"ignore_index": ignore_index}
    return run("cross_entropy2", {"X": input, "Label": label}, attrs)["Y"]


@layer
def softmax_with_cross_entropy(
    logits, label, soft_label=False, ignore_index=-100, numeric_stable_mode=True,
    return_softmax=False, axis=-1,
):  # fmt: skip
    """The cross entropy of ``softmax(logits)`` and the labels: ``log(sum(exp(logits))) -
    logits[label]``.

    Parameters
    ----------
    logits : Variable
        Scores, with the classes along `axis`; float32 or float64.
    label : Variable
        Class numbers, int64 or int32, with size 1 along `axis`; with `soft_label`, probabilities of
        the shape and type of `logits`.
    soft_label : bool, default False
        Whether `label` holds probabilities.
    ignore_index : int, default -100
        The label of rows that give 0. Not used with `soft_label`.
    numeric_stable_mode : bool, default True
        Accepted as in Fluid; the result is always exact.
    return_softmax : bool, default False
        Whether to return the probabilities as well.
    axis : int, default -1
        The axis of the classes; negative ones count from the end.

    Returns
    -------
    Variable, or tuple of two
        The loss, with size 1 along `axis`; with `return_softmax`, that and the probabilities in the
        shape of `logits`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> scores, label = to_variable([[0.0, 0.0], [0.0, 1.0]]), to_variable([[0], [1]])
    >>> loss, p = layers.softmax_with_cross_entropy(scores, label, return_softmax=True)
    >>> [round(v, 4) for [v] in loss.tolist()], p.tolist()[0]
    ([0.6931, 0.3133], [0.5, 0.5])
    """
    attrs = {
        "soft_label": bool(soft_label), "ignore_index": ignore_index, "axis": axis,
        "numeric_stable_mode": bool(numeric_stable_mode),
    }  # fmt: skip
    found = run("softmax_with_cross_entropy", {"Logits": logits, "Label": label}, attrs)
    return (found["Loss"], found["Softmax"]) if return_softmax else found["Loss"]


@layer
def smooth_l1(x, y, inside_weight=None, outside_weight=None, sigma=None):
    """A square for small differences and a line for large ones, summed by row.

    With ``d = inside_weight * (x - y)``, an element gives ``(sigma * d)^2 / 2`` where ``|d| < 1 /
    sigma^2`` and ``|d| - 1 / (2 * sigma^2)`` elsewhere, times `outside_weight` (Girshick, Fast
    R-CNN, 2015).

    Parameters
    ----------
    x, y : Variable
        ``[rows, ...]``, of one shape and type, float32 or float64.
    inside_weight, outside_weight : Variable, optional
        Of the shape of `x`; None: 1.
    sigma : float, optional
        None is 1.

    Returns
    -------
    Variable
        ``[rows, 1]``

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, y = to_variable([[0.5, 3.0]]), to_variable([[0.0, 0.0]])
    >>> layers.smooth_l1(x, y).tolist()
    [[2.625]]
    """
    return ops.smooth_l1(x, y, inside_weight, outside_weight, sigma)


@layer
def dice_loss(input, label, epsilon=1e-05, name=None):
    """1 minus the mean overlap of probabilities and classes (Sorensen and Dice).

    For a sample it is ``1 - 2 * sum(input * label) / (sum(input) + sum(label) + epsilon)``, the
    label as one-hot rows.

    Parameters
    ----------
    input : Variable
        Probabilities ``[batch, ..., classes]``; float32 or float64.
    label : Variable
        Class numbers ``[batch, ..., 1]``, int64 or int32.
    epsilon : float, default 1e-05
        Keeps the divisor above 0.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        One number, of shape ``()``.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> p, label = to_variable([[1.0, 0.0], [0.5, 0.5]]), to_variable([[0], [1]])
    >>> round(layers.dice_loss(p, label).item(), 4)
    0.25
    """
    return ops.dice_loss(input, label, epsilon)


@layer
def label_smooth(label, prior_dist=None, epsilon=0.1, dtype="float32", name=None):
    """``(1 - epsilon) * label + epsilon * prior_dist`` (Szegedy and others, 2015).

    Parameters
    ----------
    label : Variable
        One-hot rows ``[..., classes]``; float32 or float64.
    prior_dist : Variable, optional
        ``[1, classes]``; None: ``1 / classes`` for each class.
    epsilon : float, default 0.1
        The weight of the prior, from 0 to 1.
    dtype : str, default "float32"
        Accepted as in Fluid; the result has the type of `label`.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `label`.

    Raises
    ------
    InvalidArgumentError
        `epsilon` lies outside [0, 1].

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> [round(v, 4) for v in layers.label_smooth(to_variable([0.0, 1.0]), epsilon=0.1).tolist()]
    [0.05, 0.95]
    """
    epsilon = check.number(epsilon, "label_smooth: epsilon", 0, 1)
    return run("label_smooth", {"X": label, "PriorDist": prior_dist}, {"epsilon": epsilon})["Out"]


__all__ = [
    "bpr_loss", "cross_entropy", "dice_loss", "huber_loss", "kldiv_loss", "label_smooth",
    "log_loss", "margin_rank_loss", "mse_loss", "rank_loss", "sigmoid_cross_entropy_with_logits",
    "smooth_l1", "softmax_with_cross_entropy", "square_error_cost", "teacher_student_sigmoid_loss",
]  # fmt: skip
