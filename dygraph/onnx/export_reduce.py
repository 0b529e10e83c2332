"""Sums, extremes, norms, sorting and counts."""

import math

import numpy as np

from dygraph.onnx.export_arithmetic import all_of, any_of
from dygraph.onnx.export_graph import operator


def axes_of(c, attr="dim", keep="keep_dim"):
    """(axes from 0 on, keepdims as 0 or 1)."""
    given = c.attr(attr)
    given = [given] if isinstance(given, int) else list(given)
    if c.attr("reduce_all") or not given or c.rank() == 0:
        return list(range(c.rank())), int(c.attr(keep))
    return sorted({int(a) % c.rank() for a in given}), int(c.attr(keep))


def tensor_axes(c):
    """Axes given as a constant input, or those of the attribute."""
    axes, keep = axes_of(c)
    if (c.has("AxisTensor") or c.has("AxisTensorList")) and not c.attr("reduce_all"):
        given = c.ints("dim", "AxisTensor", "AxisTensorList")
        c.require(all(isinstance(a, int) for a in given), "its axes must be constants")
        axes = sorted({a % c.rank() for a in given}) if given else axes
    return axes, keep


_REDUCTIONS = {
    "reduce_sum": "ReduceSum",
    "reduce_mean": "ReduceMean",
    "reduce_max": "ReduceMax",
    "reduce_min": "ReduceMin",
    "reduce_prod": "ReduceProd",
}


def _reduction(onnx_type):
    def emit(c):
        axes, keep = axes_of(c)
        x, dtype = c.x, c.dtype_attr("out_dtype")
        if dtype == "bool" and onnx_type in ("ReduceMax", "ReduceMin"):
            return (any_of if onnx_type == "ReduceMax" else all_of)(c, x, axes or None, keep)
        if dtype == "bool":
            dtype = "int64"
        if dtype != c.dtype:
            x = c.cast(x, dtype)
        if not axes:
            return c.Identity(x)
        if onnx_type == "ReduceMean" and "int" in dtype:
            total = c.ReduceSum(c.cast(x, "int64"), axes=axes, keepdims=keep)
            count = c.squeeze(c.vector([c.times([c.size(x, a, c.dims()) for a in axes])]), [0])
            quotient = c.Div(c.Abs(total), count)
            return c.cast(c.Mul(quotient, c.Sign(total)), dtype)
        if dtype in ("int8", "uint8", "int16", "int64") and onnx_type == "ReduceProd":
            return c.cast(c.ReduceProd(c.cast(x, "int64"), axes=axes, keepdims=keep), dtype)
        if dtype in ("int8", "uint8", "int16"):
            made = c.node(onnx_type, c.cast(x, "int32"), axes=axes, keepdims=keep)
            return c.cast(made, dtype)
        return c.node(onnx_type, x, axes=axes, keepdims=keep)

    return emit


for _type, _onnx_type in _REDUCTIONS.items():
    operator(_type)(_reduction(_onnx_type))


@operator("reduce_all", "reduce_any")
def _truth(c):
    axes, keep = tensor_axes(c)
    x = c.x if c.dtype == "bool" else c.cast(c.x, "bool")
    if not axes:
        return c.Identity(x)
    return (all_of if c.op.type == "reduce_all" else any_of)(c, x, axes, keep)


@operator("mean")
def _mean(c):
    x = c.x if c.floating else c.cast(c.x, "float32")
    return c.ReduceMean(x, keepdims=0)


@operator("logsumexp")
def _logsumexp(c):
    axes, keep = axes_of(c, "axis", "keepdim")
    if not axes:
        return c.Identity(c.x)
    most = c.ReduceMax(c.x, axes=axes, keepdims=1)
    safe = c.Where(c.IsInf(most), c.scalar(0.0), most)
    total = c.ReduceSum(c.Exp(c.Sub(c.x, safe)), axes=axes, keepdims=1)
    found = c.Add(c.Log(total), safe)
    return found if keep else c.squeeze(found, axes)


@operator("frobenius_norm")
def _frobenius_norm(c):
    axes, keep = axes_of(c)
    x = c.cast(c.x, c.dtype_attr("out_dtype")) if c.attr("out_dtype") != -1 else c.x
    return c.Sqrt(c.ReduceSumSquare(x, axes=axes, keepdims=keep)) if axes else c.Abs(x)


def norm_along(c, x, order, axes, keep):
    size = c.Abs(x)
    if order == math.inf:
        return c.ReduceMax(size, axes=axes, keepdims=keep)
    if order == -math.inf:
        return c.ReduceMin(size, axes=axes, keepdims=keep)
    if order == 0:
        other = c.cast(c.Not(c.Equal(x, 0.0)), c.dtype)
        return c.ReduceSum(other, axes=axes, keepdims=keep)
    if order == 1:
        return c.ReduceSum(size, axes=axes, keepdims=keep)
    if order == 2:
        return c.Sqrt(c.ReduceSumSquare(x, axes=axes, keepdims=keep))
    total = c.ReduceSum(c.Pow(size, order), axes=axes, keepdims=keep)
    return c.Pow(total, 1.0 / order)


@operator("p_norm")
def _p_norm(c):
    order, keep = c.attr("porder"), int(c.attr("keepdim"))
    axes = list(range(c.rank())) if c.attr("asvector") else [c.axis()]
    if c.rank() == 0:
        return norm_along(c, c.Reshape(c.x, np.array([1])), order, [0], 0)
    return norm_along(c, c.x, order, axes, keep)


@operator("dist")
def _dist(c):
    difference = c.Sub(c["X"], c["Y"])
    flat = c.Reshape(difference, np.array([-1]))
    return norm_along(c, flat, c.attr("p"), [0], 0)


@operator("l1_norm")
def _l1_norm(c):
    return c.ReduceSum(c.Abs(c.x), keepdims=0)


@operator("squared_l2_norm")
def _squared_l2_norm(c):
    return c.ReduceSumSquare(c.x, keepdims=0)


@operator("squared_l2_distance")
def _squared_l2_distance(c):
    difference = c.Sub(c["X"], c["Y"])
    axes = list(range(1, c.rank()))
    total = c.ReduceSumSquare(difference, axes=axes, keepdims=1)
    return {
        "Out": c.Reshape(total, np.array([-1, 1])),
        "sub_result": c.Reshape(difference, c.vector([c.size(difference, 0), -1])),
    }


@operator("norm")
def _norm(c):
    total = c.ReduceSumSquare(c.x, axes=[c.axis()], keepdims=1)
    norm = c.Sqrt(c.Add(total, c.attr("epsilon")))
    return {"Out": c.Div(c.x, norm), "Norm": norm}


# Order --------------------------------------------------------------------------------------------


def orderable(c, x):
    """X in a type that TopK and ArgMax of runtimes take."""
    if c.dtype in ("float32", "float64", "int64", "int32"):
        return x
    return c.cast(x, "float32" if c.dtype in ("float16", "bfloat16") else "int32")


@operator("arg_max", "arg_min")
def _arg(c):
    x, axis, keep = orderable(c, c.x), c.axis(), int(c.attr("keepdims"))
    rank = c.rank()
    if c.attr("flatten") or rank == 0:
        x, axis, rank = c.Reshape(x, np.array([-1])), 0, 1
    if c.floating:  # a NaN is the greatest of arg_max and the least of arg_min
        nan = c.IsNaN(c.x if rank == c.rank() and not c.attr("flatten") else x)
        any_nan = c.ReduceMax(c.cast(nan, "int32"), axes=[axis], keepdims=1)
        kind = "float64" if c.dtype == "float64" else "float32"
        as_number = c.cast(nan, kind)
        if c.op.type == "arg_min":
            as_number = c.Neg(as_number)
        x = c.Where(c.cast(any_nan, "bool"), as_number, x)
    found = c.node("ArgMax" if c.op.type == "arg_max" else "ArgMin", x, axis=axis, keepdims=keep)
    if c.attr("flatten") and keep:
        found = c.reshape(found, [1] * c.rank())
    kind = c.dtype_attr("dtype", "int64")
    return found if kind == "int64" else c.cast(found, kind)


def top(c, x, count, axis, largest=True):
    """(values, positions) of the `count` first in order, of equals the first; a NaN is greatest."""
    x = orderable(c, x)
    count = c.vector([count])
    if not c.floating:
        return c.TopK(x, count, axis=axis, largest=int(largest), sorted=1, outputs=2)
    # Runtimes put NaN where they like: with infinity in their place they sort as the greatest.
    key = c.Where(c.IsNaN(x), c.scalar(math.inf, "float32" if c.dtype != "float64" else c.dtype), x)
    _, places = c.TopK(key, count, axis=axis, largest=int(largest), sorted=1, outputs=2)
    return c.GatherElements(x, places, axis=axis), places


def _back(c, value):
    return value if c.dtype in ("float32", "float64", "int64", "int32") else c.cast(value, c.dtype)


@operator("argsort")
def _argsort(c):
    axis = c.axis()
    if c.rank() == 0:
        return {"Out": c.Identity(c.x), "Indices": c.scalar(0, "int64")}
    values, places = top(c, c.x, c.size(c.x, axis, c.dims()), axis, c.attr("descending"))
    return {"Out": _back(c, values), "Indices": places}


@operator("top_k", "top_k_v2")
def _top_k(c):
    given = c.int_or_value(c["K"]) if c.has("K") else c.attr("k")
    v2 = c.op.type == "top_k_v2"
    axis = c.axis() if v2 else c.rank() - 1
    if c.rank() == 0:
        return {"Out": c.Identity(c.x), "Indices": c.scalar(0, "int64")}
    values, places = top(c, c.x, given, axis, c.attr("largest") if v2 else True)
    return {"Out": _back(c, values), "Indices": places}


@operator("kthvalue")
def _kthvalue(c):
    axis, k = c.axis(), c.attr("k")
    if c.rank() == 0:
        return {"Out": c.Identity(c.x), "Indices": c.scalar(0, "int64")}
    values, places = top(c, c.x, k, axis, False)

    def last(value):
        value = c.slice(value, [k - 1], [k], [axis])
        return value if c.attr("keepdim") else c.squeeze(value, [axis])

    return {"Out": _back(c, last(values)), "Indices": last(places)}


@operator("median")
def _median(c):
    c.require(c.floating, "ONNX's median is composed for floating types only")
    axes = sorted({int(a) % max(c.rank(), 1) for a in c.attr("axis")}) or list(range(c.rank()))
    rest = [a for a in range(c.rank()) if a not in axes]
    x = c.transpose(c.x, rest + axes)
    sizes = c.sizes()
    x = c.Reshape(x, c.vector([*(sizes[a] for a in rest), -1]))
    rank = len(rest)
    count = c.Shape(x, start=rank, end=rank + 1)
    values, _ = top(c, x, count, rank, False)
    two = np.array([2])
    low = c.Div(c.Sub(count, np.array([1])), two)
    high = low if c.attr("mode") == "min" else c.Div(count, two)
    found = c.Mul(c.Add(c.Gather(values, low, axis=rank), c.Gather(values, high, axis=rank)), 0.5)
    nan = any_of(c, c.IsNaN(x), [rank], 1)
    found = c.Where(nan, c.scalar(math.nan), found)
    if c.attr("keepdim"):
        kept = [1 if a in axes else sizes[a] for a in range(c.rank())]
        return {"Out": c.Reshape(found, c.vector(kept)), "MedianIndex": None}
    return {"Out": c.Squeeze(found, axes=[rank]), "MedianIndex": None}


# Counts -------------------------------------------------------------------------------------------


@operator("bincount")
def _bincount(c):
    x = c.cast(c["X"], "int64")
    zero = c.scalar(0, "int64")
    most = c.ReduceMax(c.Concat(x, np.array([-1]), axis=0), keepdims=0)
    count = c.Max(c.Add(most, c.scalar(1, "int64")), c.scalar(c.attr("minlength"), "int64"))
    rows = c.Range(zero, count, c.scalar(1, "int64"))
    hit = c.Equal(c.Unsqueeze(rows, axes=[1]), c.Unsqueeze(x, axes=[0]))
    if c.has("Weights"):
        kind = c.dtype_of("Weights")
        weights = c.Unsqueeze(c["Weights"], axes=[0])
        terms = c.Where(hit, weights, c.scalar(0, kind))
        return c.ReduceSum(terms, axes=[1], keepdims=0)
    out = c.ReduceSum(c.cast(hit, "int64"), axes=[1], keepdims=0)
    kind = str(c.block.program.var_recursive(c.op.output("Out")[0]).dtype)
    return out if kind == "int64" else c.cast(out, kind)


@operator("histogram")
def _histogram(c):
    low, high, bins = c.attr("min"), c.attr("max"), c.attr("bins")
    c.require(low != high, "it takes the bounds from X, where min equals max")
    x = c.Reshape(c.cast(c.x, "float64"), np.array([-1]))
    number = lambda v: c.scalar(v, "float64")  # noqa: E731
    place = c.Floor(
        c.Div(c.Mul(c.Sub(x, number(float(low))), number(float(bins))), number(float(high - low)))
    )
    place = c.Min(place, number(float(bins - 1)))
    inside = c.And(c.GreaterOrEqual(x, number(float(low))), c.LessOrEqual(x, number(float(high))))
    place = c.Where(inside, place, number(-1.0))
    rows = np.arange(bins, dtype="float64")[:, None]
    hit = c.Equal(rows, c.Unsqueeze(place, axes=[0]))
    return c.ReduceSum(c.cast(hit, "int64"), axes=[1], keepdims=0)


@operator("searchsorted")
def _searchsorted(c):
    ordered, values = c["SortedSequence"], c["Values"]
    rank = c.rank("SortedSequence")
    line = c.Unsqueeze(ordered, axes=[rank - 1])
    if rank == 1:
        line = c.Reshape(ordered, np.array([1] * c.rank("Values") + [-1]))
    each = c.Unsqueeze(values, axes=[c.rank("Values")])
    below = c.LessOrEqual(line, each) if c.attr("right") else c.Less(line, each)
    if c.floating:  # a NaN is greater than all
        is_nan = c.IsNaN(each)
        other = c.Not(c.IsNaN(line))
        below = c.Or(below, c.And(is_nan, c.Or(is_nan, other) if c.attr("right") else other))
    out = c.ReduceSum(c.cast(below, "int64"), axes=[-1], keepdims=0)
    return c.cast(out, "int32") if c.attr("out_int32") else out


@operator("mean_iou")
def _mean_iou(c):
    c.require(
        not (c.has("InWrongs") or c.has("InCorrects") or c.has("InMeanIou")),
        "it adds to what was counted before",
    )
    classes = np.arange(c.attr("num_classes"), dtype=c.dtype)[:, None]

    def of(slot):
        return c.Equal(classes, c.Reshape(c.cast(c[slot], c.dtype), np.array([1, -1])))

    def count(value):
        return c.ReduceSum(c.cast(value, "int32"), axes=[1], keepdims=0)

    said, true = of("Predictions"), of("Labels")
    correct, wrong = count(c.And(said, true)), count(c.Xor(said, true))
    union = c.cast(c.Add(correct, wrong), "float32")
    there = c.Greater(union, c.scalar(0.0, "float32"))
    one = c.scalar(1.0, "float32")
    ratio = c.Div(c.cast(correct, "float32"), c.Where(there, union, one))
    number = c.Max(c.ReduceSum(c.cast(there, "float32"), keepdims=0), one)
    mean = c.Div(c.ReduceSum(ratio, keepdims=0), number)
    return {"OutMeanIou": mean, "OutWrong": wrong, "OutCorrect": correct}


@operator("accuracy")
def _accuracy(c):
    label = c.cast(c["Label"], c.dtype_of("Indices"))
    hit = c.Equal(c["Indices"], c.Reshape(label, np.array([-1, 1])))
    row = c.ReduceMax(c.cast(hit, "int32"), axes=[1], keepdims=0)
    correct = c.ReduceSum(row, keepdims=0)
    total = c.Size(row)
    ratio = c.Div(c.cast(correct, "float32"), c.cast(total, "float32"))
    return {"Accuracy": ratio, "Correct": correct, "Total": c.cast(total, "int32")}
