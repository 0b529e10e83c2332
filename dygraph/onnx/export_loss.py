"""Losses whose formulas ONNX's operators write exactly."""

import math

import numpy as np

from dygraph.onnx.export_elements import softplus
from dygraph.onnx.export_graph import operator

_MOST = 1e20  # what a probability of 0 costs


def as_column(c, slot, rank, axis=None):
    """Labels as int64 with one element along the class axis, the last by default."""
    label = c.cast(c[slot], "int64")
    axis = rank - 1 if axis is None else axis
    return c.Unsqueeze(label, axes=[axis]) if c.rank(slot) < rank else label


def picked(c, x, label, ignore, axis):
    """(x at the label along an axis, whether the label is ignored); labels keep their axis."""
    ignored = c.Equal(label, c.scalar(ignore, "int64"))
    safe = c.Where(ignored, c.scalar(0, "int64"), label)
    return c.GatherElements(x, safe, axis=axis), ignored


def without_axis(c, value, rank):
    """A loss in the shape of labels, which may come without the class axis."""
    return value if c.rank("Label") == rank else c.Squeeze(value, axes=[rank - 1])


def cost(c, probability):
    """-log(p), 1e20 where p is 0."""
    none = c.Equal(probability, 0.0)
    return c.Where(none, c.scalar(_MOST), c.Neg(c.Log(probability)))


@operator("cross_entropy")
def _cross_entropy(c):
    x, rank = c["X"], c.rank("X")
    if c.attr("soft_label"):
        return c.ReduceSum(c.Mul(c["Label"], cost(c, x)), axes=[rank - 1], keepdims=1)
    label = as_column(c, "Label", rank)
    match, ignored = picked(c, x, label, c.attr("ignore_index"), rank - 1)
    return without_axis(c, c.Where(ignored, c.scalar(0.0), cost(c, match)), rank)


@operator("cross_entropy2")
def _cross_entropy2(c):
    x, rank = c["X"], c.rank("X")
    label = as_column(c, "Label", rank)
    match, ignored = picked(c, x, label, c.attr("ignore_index"), rank - 1)
    match = c.Where(ignored, c.scalar(1.0), match)
    loss = without_axis(c, c.Where(ignored, c.scalar(0.0), cost(c, match)), rank)
    return {"Y": loss, "MatchX": without_axis(c, match, rank)}


@operator("softmax_with_cross_entropy")
def _softmax_with_cross_entropy(c):
    logits, rank = c["Logits"], c.rank("Logits")
    axis = c.attr("axis") % rank
    if c.attr("use_softmax"):
        softmax, logs = c.Softmax(logits, axis=axis), c.LogSoftmax(logits, axis=axis)
    else:
        softmax, logs = c.Identity(logits), c.Neg(cost(c, logits))
    if c.attr("soft_label"):
        loss = c.Neg(c.ReduceSum(c.Mul(c["Label"], logs), axes=[axis], keepdims=1))
        return {"Softmax": softmax, "Loss": loss}
    label = as_column(c, "Label", rank, axis)
    match, ignored = picked(c, logs, label, c.attr("ignore_index"), axis)
    return {"Softmax": softmax, "Loss": c.Where(ignored, c.scalar(0.0), c.Neg(match))}


@operator("sigmoid_cross_entropy_with_logits")
def _sigmoid_cross_entropy(c):
    x, label = c["X"], c["Label"]
    loss = c.Sub(softplus(c, x), c.Mul(x, label))
    ignored = c.Equal(label, float(c.attr("ignore_index")))
    loss = c.Where(ignored, c.scalar(0.0), loss)
    if c.attr("normalize"):
        count = c.ReduceSum(c.cast(c.Not(ignored), c.dtype), keepdims=0)
        loss = c.Div(loss, c.Max(count, 1e-5))
    return loss


@operator("bce_loss")
def _bce_loss(c):
    x, label = c["X"], c["Label"]
    log = lambda v: c.Max(c.Log(v), -100.0)  # noqa: E731
    return c.Neg(c.Add(c.Mul(label, log(x)), c.Mul(c.Sub(1.0, label), log(c.Sub(1.0, x)))))


@operator("log_loss")
def _log_loss(c):
    x, label, epsilon = c["Predicted"], c["Labels"], c.attr("epsilon")
    yes = c.Mul(label, c.Log(c.Add(x, epsilon)))
    no = c.Mul(c.Sub(1.0, label), c.Log(c.Add(c.Sub(1.0, x), epsilon)))
    return c.Neg(c.Add(yes, no))


@operator("huber_loss")
def _huber(c):
    delta = c.attr("delta")
    rest = c.Sub(c["Y"], c["X"])
    size = c.Abs(rest)
    square = c.Mul(c.Mul(rest, rest), 0.5)
    line = c.Mul(c.Sub(size, delta / 2), delta)
    out = c.Where(c.LessOrEqual(size, delta), square, line)
    return {"Out": out, "Residual": rest}


@operator("hinge_loss")
def _hinge(c):
    sign = c.Sub(c.Mul(c["Labels"], 2.0), 1.0)
    return c.Max(c.Sub(1.0, c.Mul(sign, c["Logits"])), 0.0)


@operator("modified_huber_loss")
def _modified_huber(c):
    v = c.Mul(c.Sub(c.Mul(c["Y"], 2.0), 1.0), c["X"])
    rest = c.Max(c.Sub(1.0, v), 0.0)
    out = c.Where(c.Less(v, -1.0), c.Mul(v, -4.0), c.Mul(rest, rest))
    return {"Out": out, "IntermediateVal": v}


@operator("smooth_l1_loss")
def _smooth_l1(c):
    square = c.attr("sigma") ** 2
    rest = c.Sub(c["X"], c["Y"])
    if c.has("InsideWeight"):
        rest = c.Mul(rest, c["InsideWeight"])
    size = c.Abs(rest)
    if square:
        near = c.Mul(c.Mul(rest, rest), square / 2)
        loss = c.Where(c.Less(size, 1 / square), near, c.Sub(size, 0.5 / square))
    else:
        c.require(False, "sigma 0")
    if c.has("OutsideWeight"):
        loss = c.Mul(loss, c["OutsideWeight"])
    axes = list(range(1, c.rank("X")))
    total = c.ReduceSum(loss, axes=axes, keepdims=1) if axes else loss
    return {"Out": c.Reshape(total, np.array([-1, 1])), "Diff": rest}


@operator("kldiv_loss")
def _kldiv(c):
    x, target, how = c["X"], c["Target"], c.attr("reduction")
    none = c.LessOrEqual(target, 0.0)
    safe = c.Where(none, c.scalar(1.0), target)
    loss = c.Where(none, c.scalar(0.0), c.Mul(target, c.Sub(c.Log(safe), x)))
    if how == "none":
        return loss
    if how == "mean":
        return c.ReduceMean(loss, keepdims=0)
    total = c.ReduceSum(loss, keepdims=0)
    if how == "sum":
        return total
    batch = c.cast(c.squeeze(c.vector([c.size(x, 0, c.dims("X"))]), [0]), c.dtype)
    return c.Div(total, batch)


@operator("label_smooth")
def _label_smooth(c):
    epsilon = c.attr("epsilon")
    kept = c.Mul(c["X"], 1.0 - epsilon)
    if c.has("PriorDist"):
        prior = c.Mul(c.Reshape(c["PriorDist"], np.array([-1])), epsilon)
        return c.Add(kept, prior)
    rank = c.rank("X")
    size = c.size(c["X"], rank - 1, c.dims("X"))
    if isinstance(size, int):
        return c.Add(kept, epsilon / size)
    return c.Add(kept, c.Div(epsilon, c.cast(size, c.dtype)))


@operator("margin_rank_loss")
def _margin_rank(c):
    loss = c.Sub(c.attr("margin"), c.Mul(c["Label"], c.Sub(c["X1"], c["X2"])))
    out = c.Max(loss, 0.0)
    return {"Out": out, "Activated": c.cast(c.Greater(out, 0.0), c.dtype)}


@operator("rank_loss")
def _rank_loss(c):
    left, right, label = c["Left"], c["Right"], c["Label"]
    ranks = [c.rank(slot) for slot in ("Left", "Right", "Label")]
    if len(set(ranks)) > 1:  # [n] and [n, 1] are mixed
        rank = len(c.block.program.var_recursive(c.op.output("Out")[0]).shape)
        goal = c.Shape((left, right, label)[ranks.index(rank)])
        left, right, label = (c.Reshape(v, goal) for v in (left, right, label))
    rest = c.Sub(left, right)
    return c.Sub(softplus(c, rest), c.Mul(label, rest))


@operator("bpr_loss")
def _bpr(c):
    x, rank = c["X"], c.rank("X")
    label = as_column(c, "Label", rank)
    own = c.GatherElements(x, label, axis=rank - 1)
    size = c.size(x, rank - 1, c.dims("X"))
    loss = softplus(c, c.Sub(x, own))  # -log(sigmoid(own - x))
    total = c.Sub(c.ReduceSum(loss, axes=[rank - 1], keepdims=1), c.scalar(math.log(2.0)))
    others = size - 1.0 if isinstance(size, int) else c.Sub(c.cast(size, c.dtype), 1.0)
    return c.Div(total, others)


@operator("nll_loss")
def _nll(c):
    x = c["X"]
    label = c.Unsqueeze(c.cast(c["Label"], "int64"), axes=[1])
    match, ignored = picked(c, x, label, c.attr("ignore_index"), 1)
    if c.has("Weight"):
        weight = c.Gather(c["Weight"], c.Where(ignored, c.scalar(0, "int64"), label), axis=0)
    else:
        weight = c.Expand(c.scalar(1.0), c.Shape(label))
    weight = c.Squeeze(c.Where(ignored, c.scalar(0.0), weight), axes=[1])
    loss = c.Neg(c.Mul(weight, c.Squeeze(match, axes=[1])))
    total = c.ReduceSum(weight, keepdims=0)
    how = c.attr("reduction")
    if how == "none":
        return {"Out": loss, "Total_weight": total}
    out = c.ReduceSum(loss, keepdims=0)
    if how == "mean":
        none = c.Equal(total, 0.0)
        out = c.Where(none, c.scalar(0.0), c.Div(out, c.Where(none, c.scalar(1.0), total)))
    return {"Out": out, "Total_weight": total}


@operator("teacher_student_sigmoid_loss")
def _teacher_student(c):
    x, label = c["X"], c["Label"]
    plain = softplus(c, x)
    both = c.Sub(c.Add(plain, plain), c.Mul(x, label))
    middle = c.Where(c.Less(label, 0.0), c.Sub(plain, x), both)
    return c.Where(c.Less(label, -1.0), plain, middle)


@operator("sigmoid_focal_loss")
def _focal(c):
    x, gamma, alpha = c["X"], c.attr("gamma"), c.attr("alpha")
    label = c.Reshape(c.cast(c["Label"], "int64"), np.array([-1, 1]))
    count = c.cast(c.Max(c.Reshape(c["FgNum"], np.array([], np.int64)), c.scalar(1, "int32")),
                   c.dtype)  # fmt: skip
    classes = c.Add(c.range(c.size(x, 1, c.dims("X"))), c.scalar(1, "int64"))
    true = c.Equal(label, c.Unsqueeze(classes, axes=[0]))
    p = c.Sigmoid(x)
    yes = c.Mul(c.Mul(c.Pow(c.Sub(1.0, p), gamma), softplus(c, c.Neg(x))), alpha)
    no = c.Mul(c.Mul(c.Pow(p, gamma), softplus(c, x)), 1.0 - alpha)
    loss = c.Div(c.Where(true, yes, no), count)
    return c.Where(c.Less(label, c.scalar(0, "int64")), c.scalar(0.0), loss)
