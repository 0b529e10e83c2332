"""Rules for reductions, running sums, extremes and order."""

import math

import numpy as np

import dygraph
from dygraph import _core
from dygraph.core.sizes import Size
from dygraph.onnx.load_rules import dims_of, rule
from dygraph.onnx.load_shape import axes_of, filled, is_open, reshaped, reshaped_like, steps_of
from dygraph.onnx.load_sizes import product

ops = _core.ops


def _lowest(dtype):
    if dtype == "bool":
        return False
    return -math.inf if "float" in dtype else int(np.iinfo(dtype).min)


def _highest(dtype):
    if dtype == "bool":
        return True
    return math.inf if "float" in dtype else int(np.iinfo(dtype).max)


_EMPTY = {
    "reduce_sum": lambda dtype: 0, "reduce_prod": lambda dtype: 1,
    "reduce_max": _lowest, "reduce_min": _highest, "reduce_mean": lambda dtype: math.nan,
}  # fmt: skip


def reduced(call, x, axes, name):
    """One reduction, by the axes of the attribute or the input."""
    axes, keep = axes_of(call, axes), bool(call.attr("keepdims", 1))
    if isinstance(axes, _core.Variable):
        if 0 in dims_of(x):
            return _of_nothing(call, x, axes, keep, _EMPTY[name](str(x.dtype)))
        return getattr(ops, name)(x, dim=axes, keep_dim=keep)
    if not axes and call.attr("noop_with_empty_axes", 0):
        return x
    rank, sizes = call.rank(x), call.shape(x)
    axes = [call.axis(a, rank) for a in axes] if axes else list(range(rank))
    if not is_open(sizes) and not math.prod(sizes):
        left = [1 if i in axes else n for i, n in enumerate(sizes) if keep or i not in axes]
        return filled(call, left, _EMPTY[name](str(x.dtype)), str(x.dtype))
    if not rank:
        return x
    return getattr(ops, name)(x, dim=axes, keep_dim=keep)


def _times(x, y):
    return x * y


def _of_nothing(call, x, axes, keep, value):
    """A reduction of no elements by axes that only a run knows."""
    if not keep or is_open(call.shape(x)):
        call.numbers(axes, f"the axes of {call.node.op_type} of no elements")
    rank = call.rank(x)
    axes = axes.astype("int64")
    axes = dygraph.where(axes < 0, axes + rank, axes)
    sizes = call.constant(np.array(call.shape(x), "int32"))
    ones = call.constant(np.ones(dims_of(axes), "int32"))
    sizes = ops.put_along_axis(sizes, axes, ones, Axis=0, Reduce="assign")
    parts = [ops.slice(sizes, axes=[0], starts=[i], ends=[i + 1]) for i in range(rank)]
    return filled(call, parts, value, str(x.dtype))


for _name, _op, _before, _after in (
    ("ReduceSum", "reduce_sum", None, None),
    ("ReduceProd", "reduce_prod", None, None),
    ("ReduceMean", "reduce_mean", None, None),
    ("ReduceL1", "reduce_sum", dygraph.abs, None),
    ("ReduceL2", "reduce_sum", dygraph.square, dygraph.sqrt),
    ("ReduceSumSquare", "reduce_sum", dygraph.square, None),
    ("ReduceLogSum", "reduce_sum", None, dygraph.log),
):  # fmt: skip

    @rule(_name, known=(1,))
    def _reduce(call, x, axes, *, name=_op, before=_before, after=_after):
        out = reduced(call, x if before is None else before(x), axes, name)
        return out if after is None else after(out)


@rule("ReduceMax", "ReduceMin", known=(1,))
def reduce_extreme(call, x, axes):
    name = "reduce_max" if call.node.op_type == "ReduceMax" else "reduce_min"
    if str(x.dtype) == "bool":
        none = 0 in dims_of(x)
        wide = "uint8" if none else "int32"
        return reduced(call, x.astype(wide), axes, name).astype("bool")
    return reduced(call, x, axes, name)


@rule("ReduceLogSumExp", known=(1,))
def reduce_log_sum_exp(call, x, axes):
    found, keep = axes_of(call, axes), bool(call.attr("keepdims", 1))
    sizes = call.shape(x)
    known = not isinstance(found, _core.Variable)
    if (
        known
        and (found or not call.attr("noop_with_empty_axes", 0))
        and (is_open(sizes) or math.prod(sizes))
    ):
        rank = call.rank(x)
        dims = [call.axis(a, rank) for a in found] if found else list(range(rank))
        if str(x.dtype) in ("float32", "float64"):
            return ops.logsumexp(x, axis=dims, keepdim=keep)
    return dygraph.log(reduced(call, dygraph.exp(x), axes, "reduce_sum"))


@rule("ArgMax", "ArgMin")
def arg_extreme(call, x):
    rank = call.rank(x)
    axis, keep = call.axis(call.attr("axis", 0), rank), bool(call.attr("keepdims", 1))
    function = ops.arg_max if call.node.op_type == "ArgMax" else ops.arg_min
    if not call.attr("select_last_index", 0):
        return function(x, axis=axis, keepdims=keep, dtype="int64")
    found = function(dygraph.flip(x, axis), axis=axis, keepdims=keep, dtype="int64")
    n = call.shape(x)[axis]
    last = n.variable(found) - 1 if isinstance(n, Size) else n - 1
    return last - found


@rule("CumSum", "CumProd", known=(1,))
def cumulative(call, x, axis):
    backwards, exclusive = call.attr("reverse", 0), bool(call.attr("exclusive", 0))
    found = call.integers(axis)
    if found is None and call.node.op_type == "CumSum":
        axis = call.variable(axis).astype("int32").reshape([1])
        return ops.cumsum(x, axis=axis, exclusive=exclusive, reverse=bool(backwards))
    if found is None:
        return by_axis(
            call, axis, range(call.rank(x)), lambda a: _cumprod(x, a, backwards, exclusive)
        )
    axis = call.axis(call.integer(axis, "the axis of CumProd"), call.rank(x))
    if call.node.op_type == "CumProd":
        return _cumprod(x, axis, backwards, exclusive)
    return ops.cumsum(x, axis=axis, exclusive=exclusive, reverse=bool(backwards))


def by_axis(call, axis, axes, function):
    """What a function gives for the one of some axes that a run decides, of one shape for all."""
    axis, rank = call.variable(axis).astype("int64").reshape([1]), max(axes) + 1
    out = None
    for a in axes:
        made = function(a)
        here = dygraph.logical_or(dygraph.equal(axis, a), dygraph.equal(axis, a - rank))
        out = made if out is None else dygraph.where(here, made, out)
    return out


def _cumprod(x, axis, backwards, exclusive):
    if backwards:
        x = dygraph.flip(x, axis)
    if exclusive:
        first = dygraph.ones_like(ops.slice(x, axes=[axis], starts=[0], ends=[1]))
        x = ops.concat([first, ops.slice(x, axes=[axis], starts=[0], ends=[-1])], axis=axis)
    x = ops.cumprod(x, dim=axis)
    return dygraph.flip(x, axis) if backwards else x


@rule("TopK", known=(1,))
def top_k(call, x, k):
    axis = call.axis(call.attr("axis", -1), call.rank(x))
    k = call.attr("k") if call.opset < 10 else call.integers(k) or call.variable(k)
    k = k[0] if isinstance(k, list) else k
    attrs = {
        "axis": axis, "largest": bool(call.attr("largest", 1)),
        "sorted": bool(call.attr("sorted", 1)),
    }  # fmt: skip
    if isinstance(k, Size):
        k = k.tensor()
    if isinstance(k, _core.Variable):
        k = k.astype("int32").reshape([1])
    values, index = ops.top_k_v2(x, k=k, **attrs)
    return values, index


@rule("Unique")
def unique(call, x):
    axis, is_sorted = call.attr("axis"), bool(call.attr("sorted", 1))
    attrs = {"is_sorted": True, "axis": [] if axis is None else [call.axis(axis, call.rank(x))]}
    if axis is None:
        x = ops.reshape2(x, shape=[-1])
    found = _unique(x, attrs)
    values, first, inverse, counts = found
    if is_sorted:
        return values, first, inverse, counts
    order = dygraph.argsort(first)
    back = dygraph.argsort(order)
    at = 0 if axis is None else attrs["axis"][0]
    return (
        ops.gather(values, order, axis=at), ops.gather(first, order, axis=0),
        ops.gather(back, inverse, axis=0), ops.gather(counts, order, axis=0),
    )  # fmt: skip


def _unique(x, attrs):
    found = _core.run_op(
        "unique", {"X": x},
        {**attrs, "dtype": "int64", "return_index": True, "return_inverse": True,
         "return_counts": True},
        {"Indices": 1, "Counts": 1},
    )  # fmt: skip
    return found["Out"], found["Indices"], found["Index"], found["Counts"]


@rule("Hardmax")
def hardmax(call, x):
    x, axis, back = coerced(call, x)
    n = call.shape(x)[axis]
    found = ops.arg_max(x, axis=axis, keepdims=True, dtype="int64")
    rank = call.rank(x)
    place = ops.reshape2(steps_of(call, n), shape=[-1 if i == axis else 1 for i in range(rank)])
    return back(dygraph.equal(found, place).astype(x.dtype))


def coerced(call, x):
    """Before opset 13 softmax works on two axes: those before `axis`, and the others."""
    rank = call.rank(x)
    axis = call.axis(call.attr("axis", -1 if call.opset >= 13 else 1), rank)
    if call.opset >= 13 or axis == rank - 1:
        return x, axis, lambda y: y
    sizes = call.shape(x)
    flat = reshaped(call, x, [product(sizes[:axis]), product(sizes[axis:])])
    return flat, 1, lambda y: reshaped_like(call, y, sizes)
