"""Elementwise functions of several tensors: arithmetic, comparison, logic, casts, sums."""

import math

import numpy as np

from dygraph.onnx.export_elements import gelu
from dygraph.onnx.export_graph import operator


def laid_along(c, x="X", y="Y"):
    """Both operands, Y laid along X from the attribute axis on."""
    rank, other, axis = c.rank(x), c.rank(y), c.attr("axis")
    value = c[y]
    if axis >= 0 and axis + other < rank:
        value = c.Unsqueeze(value, axes=list(range(other, other + rank - axis - other)))
    elif axis >= 0 and other > rank - axis:  # trailing ones of Y, as Fluid allows
        extra = other - (rank - axis)
        value = c.Squeeze(value, axes=list(range(other - extra, other)))
    return c[x], value


_PAIRS = {
    "elementwise_add": "Add",
    "elementwise_sub": "Sub",
    "elementwise_mul": "Mul",
    "equal": "Equal",
    "greater_equal": "GreaterOrEqual",
    "greater_than": "Greater",
    "less_equal": "LessOrEqual",
    "less_than": "Less",
}


def _pair(onnx_type):
    def emit(c):
        x, y = laid_along(c)
        if c.dtype == "bool" and onnx_type in ("Add", "Mul"):
            return c.node({"Add": "Or", "Mul": "And"}[onnx_type], x, y)
        if c.dtype == "bool" and onnx_type != "Equal":
            x, y = c.cast(x, "int32"), c.cast(y, "int32")
        return c.node(onnx_type, x, y)

    return emit


for _type, _onnx_type in _PAIRS.items():
    operator(_type)(_pair(_onnx_type))


@operator("not_equal")
def _not_equal(c):
    return c.Not(c.Equal(*laid_along(c)))


def divided(c, x, y):
    """x / y; integers towards zero, by magnitudes, since runtimes differ below zero."""
    if c.floating:
        return c.Div(x, y)
    quotient = c.Div(c.Abs(x), c.Abs(y))
    return c.Mul(c.Mul(quotient, c.Sign(x)), c.Sign(y))


@operator("elementwise_div")
def _div(c):
    return divided(c, *laid_along(c))


def floor_mod(c, x, y):
    """The remainder that has the sign of y, as in Python."""
    if not c.floating:
        return c.Mod(x, y)
    rest = c.Mod(x, y, fmod=1)
    other = c.And(c.Not(c.Equal(rest, 0.0)), c.Xor(c.Less(rest, 0.0), c.Less(y, 0.0)))
    return c.Where(other, c.Add(rest, y), rest)


@operator("elementwise_mod")
def _mod(c):
    return floor_mod(c, *laid_along(c))


@operator("elementwise_floordiv")
def _floordiv(c):
    x, y = laid_along(c)
    if c.floating:
        return c.Floor(c.Div(x, y))
    return divided(c, c.Sub(x, c.Mod(x, y)), y)


@operator("elementwise_pow")
def _elementwise_pow(c):
    return c.Pow(*laid_along(c))


@operator("elementwise_max", "elementwise_min")
def _extreme(c):
    x, y = laid_along(c)
    name = "Max" if c.op.type.endswith("max") else "Min"
    if c.dtype == "bool":
        return c.node("Or" if name == "Max" else "And", x, y)
    return c.node(name, x, y)


@operator("elementwise_fmax", "elementwise_fmin")
def _f_extreme(c):
    x, y = laid_along(c)
    name = "Max" if c.op.type.endswith("max") else "Min"
    if not c.floating:
        return c.node(name, x, y)
    y_or_x, x_or_y = c.Where(c.IsNaN(y), x, y), c.Where(c.IsNaN(x), y, x)
    return c.node(name, x_or_y, y_or_x)


@operator("elementwise_heaviside")
def _heaviside(c):
    x, y = laid_along(c)
    step = c.cast(c.Greater(x, 0), c.dtype)
    found = c.Where(c.Equal(x, 0), y, step)
    return c.Where(c.IsNaN(x), x, found) if c.floating else found


@operator("atan2")
def _atan2(c):
    y, x = c["X1"], c["X2"]
    angle = c.Atan(c.Div(y, x))
    # -0.0 < 0 is false: 1 / y tells its sign.
    below = c.Less(c.Where(c.Equal(y, 0.0), c.Div(1.0, y), y), 0.0)
    half = c.Where(below, c.scalar(-math.pi), c.scalar(math.pi))
    left = c.Less(c.Where(c.Equal(x, 0.0), c.Div(1.0, x), x), 0.0)
    turned = c.Where(left, c.Add(angle, half), angle)
    both_zero = c.And(c.Equal(x, 0.0), c.Equal(y, 0.0))
    at_zero = c.Where(left, half, c.Mul(half, 0.0))
    found = c.Where(both_zero, at_zero, turned)
    both_infinite = c.And(c.IsInf(x), c.IsInf(y))
    quarter = c.Where(left, c.Mul(half, 0.75), c.Mul(half, 0.25))
    return c.Where(both_infinite, quarter, found)


@operator("minus")
def _minus(c):
    return c.Sub(c["X"], c["Y"])


@operator("lerp")
def _lerp(c):
    difference = c.Sub(c["Y"], c["X"])
    middle = c.Add(c["X"], c.Mul(c["Weight"], difference))
    end = c.Equal(c["Weight"], 1.0)
    return c.Where(end, c.Add(c["Y"], c.Sub(middle, middle)), middle)


@operator("pow")
def _pow(c):
    factor = c["FactorTensor"]
    if factor is not None:
        factor = c.cast(c.Reshape(factor, np.array([], np.int64)), c.dtype)
    elif c.floating:
        factor = c.attr("factor")
    else:
        power = c.Pow(c.cast(c.x, "float64"), c.scalar(c.attr("factor"), "float64"))
        return c.cast(power, c.dtype)
    return c.Pow(c.x, factor)


@operator("scale")
def _scale(c):
    factor, bias = c["ScaleTensor"], c.attr("bias")
    if factor is not None:
        factor = c.cast(c.Reshape(factor, np.array([], np.int64)), c.dtype)
    else:
        factor = c.attr("scale")
    x, first = c.x, c.attr("bias_after_scale")
    whole = isinstance(factor, str) or float(factor).is_integer()
    if not c.floating and not (whole and float(bias).is_integer()):
        c.require(False, "integers times a fraction are rounded in ways ONNX has no operator for")
    number = (lambda v: v) if c.floating else int
    factor = factor if isinstance(factor, str) else number(factor)
    if not first and bias:
        x = c.Add(x, number(bias))
    if isinstance(factor, str) or factor != 1:
        x = c.Mul(x, factor)
    if first and bias:
        x = c.Add(x, number(bias))
    return x if x != c.x else c.Identity(x)


@operator("sum")
def _sum(c):
    values = c.list("X")
    total = values[0]
    for value in values[1:]:
        total = c.Add(total, value)
    return total if len(values) > 1 else c.Identity(total)


@operator("increment")
def _increment(c):
    step = c.attr("step")
    return c.Add(c.x, step if c.floating else int(step))


@operator("cast")
def _cast(c):
    to = c.dtype_attr("out_dtype")
    if c.floating and to not in ("bool", "float16", "bfloat16", "float32", "float64"):
        return saturated(c, c.x, to)
    return c.cast(c.x, to)


def saturated(c, x, to):
    """Floats as integers: towards zero, NaN as 0, cut off at the ends of the type."""
    limits = np.iinfo(to)
    wide = c.cast(x, "float64")
    number = lambda v: c.scalar(v, "float64")  # noqa: E731
    wide = c.Where(c.IsNaN(wide), number(0.0), wide)
    top = float(limits.max)
    if to == "int64":  # 2^63 - 1 is no float64
        high = c.GreaterOrEqual(wide, number(2.0**63))
        low = c.Less(wide, number(-(2.0**63)))
        inside = c.Where(c.Or(high, low), number(0.0), wide)
        found = c.cast(inside, to)
        found = c.Where(high, c.scalar(limits.max, to), found)
        return c.Where(low, c.scalar(limits.min, to), found)
    return c.cast(c.Min(c.Max(wide, number(float(limits.min))), number(top)), to)


@operator("clip")
def _clip(c):
    def bound(slot, attr):
        if c.has(slot):
            return c.cast(c.Reshape(c[slot], np.array([], np.int64)), c.dtype)
        number = c.attr(attr)
        if math.isinf(number):
            return None
        if c.floating:
            return number
        return math.ceil(number) if attr == "min" else math.floor(number)

    low, high, x = bound("Min", "min"), bound("Max", "max"), c.x
    if low is not None:
        x = c.Max(x, low)
    if high is not None:
        x = c.Min(x, high)
    return x if x != c.x else c.Identity(x)


@operator("clip_by_norm")
def _clip_by_norm(c):
    norm = c.Sqrt(c.ReduceSumSquare(c.x, keepdims=0))
    most = c.attr("max_norm")
    shrunk = c.Div(c.Mul(c.x, most), norm)
    return c.Where(c.Greater(norm, most), shrunk, c.x)


# Logic --------------------------------------------------------------------------------------------


def truth(c, slot):
    """An input as bool."""
    value = c[slot]
    return value if c.dtype_of(slot) == "bool" else c.cast(value, "bool")


@operator("logical_and", "logical_or", "logical_xor")
def _logical(c):
    return c.node(c.op.type[8:].title(), truth(c, "X"), truth(c, "Y"))


@operator("logical_not")
def _logical_not(c):
    return c.Not(truth(c, "X"))


@operator("bitwise_and", "bitwise_or", "bitwise_xor")
def _bitwise(c):
    name = c.op.type[8:].title()
    if c.dtype == "bool":
        return c.node(name, c["X"], c["Y"])
    c.require(c.opset >= 18, "it needs opset 18")
    return c.node("Bitwise" + name, c["X"], c["Y"])


@operator("bitwise_not")
def _bitwise_not(c):
    if c.dtype == "bool":
        return c.Not(c.x)
    c.require(c.opset >= 18, "it needs opset 18")
    return c.BitwiseNot(c.x)


def _of_kind(c, kind):
    """Bools: where elements are 'finite', 'inf' or 'nan'."""
    if not c.floating:
        answer = c.Equal(c.x, c.x) if c.dtype != "bool" else c.Or(c.x, c.Not(c.x))
        return answer if kind == "finite" else c.Not(answer)
    if kind == "inf":
        return c.IsInf(c.x)
    nan = c.IsNaN(c.x)
    return nan if kind == "nan" else c.Not(c.Or(nan, c.IsInf(c.x)))


@operator("isfinite_v2", "isinf_v2", "isnan_v2")
def _is_kind(c):
    return _of_kind(c, c.op.type[2:-3])


def all_of(c, value, axes=None, keepdims=0):
    """Whether all elements are true."""
    number = c.ReduceMin(c.cast(value, "int32"), axes=axes, keepdims=keepdims)
    return c.cast(number, "bool")


def any_of(c, value, axes=None, keepdims=0):
    number = c.ReduceMax(c.cast(value, "int32"), axes=axes, keepdims=keepdims)
    return c.cast(number, "bool")


@operator("isfinite", "isinf", "isnan")
def _any_kind(c):
    kind = c.op.type[2:]
    value = _of_kind(c, kind)
    return all_of(c, value) if kind == "finite" else any_of(c, value)


def _close(c):
    x, y = c["Input"], c["Other"]

    def tolerance(slot, attr):
        if c.has(slot):
            return c.Reshape(c.cast(c[slot], "float64"), np.array([], np.int64))
        return c.scalar(float(c.attr(attr)), "float64")

    wide_x, wide_y = c.cast(x, "float64"), c.cast(y, "float64")
    most = c.Add(tolerance("Atol", "atol"), c.Mul(tolerance("Rtol", "rtol"), c.Abs(wide_y)))
    infinite = c.Or(c.IsInf(wide_x), c.IsInf(wide_y))
    near = c.LessOrEqual(c.Abs(c.Sub(wide_x, wide_y)), most)
    found = c.Or(c.And(infinite, c.Equal(wide_x, wide_y)), c.And(c.Not(infinite), near))
    if c.attr("equal_nan"):
        found = c.Or(found, c.And(c.IsNaN(wide_x), c.IsNaN(wide_y)))
    return found


@operator("isclose")
def _isclose(c):
    return _close(c)


@operator("allclose")
def _allclose(c):
    return all_of(c, _close(c))


@operator("is_empty")
def _is_empty(c):
    return c.Equal(c.Size(c.x), c.scalar(0, "int64"))


# Running sums -------------------------------------------------------------------------------------


def flat_or_axis(c):
    """(x, axis): X, or all its elements as one axis where the attribute flatten says so."""
    if c.attr("flatten") or c.rank() == 0:
        return c.Reshape(c.x, np.array([-1])), 0, 1
    return c.x, c.axis(), c.rank()


@operator("cumsum")
def _cumsum(c):
    x, axis, _ = flat_or_axis(c)
    kind = c.dtype
    if kind not in ("float32", "float64", "int32", "int64"):
        kind = "int64"
        x = c.cast(x, kind)
    out = c.CumSum(
        x, c.scalar(axis, "int64"), exclusive=int(c.attr("exclusive")),
        reverse=int(c.attr("reverse")),
    )  # fmt: skip
    if c.rank() == 0 and not c.attr("flatten"):
        out = c.Reshape(out, np.array([], np.int64))
    return out


def prefixes(c, x, axis, rank, fill, reverse=False, exclusive=False):
    """[..., n, n] behind `axis`: in row i the elements up to i, `fill` elsewhere."""
    last = list(range(rank))
    last.append(last.pop(axis))
    rows = c.unsqueeze(c.transpose(x, last), [rank - 1])
    count = c.Shape(x, start=axis, end=axis + 1)
    places = c.range(count)
    row, column = c.Unsqueeze(places, axes=[1]), c.Unsqueeze(places, axes=[0])
    if reverse:
        row, column = column, row
    seen = c.Less(column, row) if exclusive else c.LessOrEqual(column, row)
    return c.Where(seen, rows, fill), last


def _back(c, value, last):
    return c.transpose(value, [last.index(i) for i in range(len(last))])


@operator("cumprod")
def _cumprod(c):
    if c.rank() == 0:
        return c.Identity(c.x)
    grid, last = prefixes(c, c.x, c.axis("dim"), c.rank(), c.scalar(1))
    return _back(c, c.ReduceProd(grid, axes=[c.rank()], keepdims=0), last)


@operator("logcumsumexp")
def _logcumsumexp(c):
    x, axis, rank = flat_or_axis(c)
    if c.rank() == 0 and not c.attr("flatten"):
        return c.Where(c.scalar(bool(c.attr("exclusive")), "bool"), c.scalar(-math.inf), c.x)
    grid, last = prefixes(
        c, x, axis, rank, c.scalar(-math.inf), c.attr("reverse"), c.attr("exclusive")
    )
    most = c.ReduceMax(grid, axes=[rank], keepdims=1)
    safe = c.Where(c.IsInf(most), c.scalar(0.0), most)
    total = c.Log(c.ReduceSum(c.Exp(c.Sub(grid, safe)), axes=[rank], keepdims=1))
    return _back(c, c.Squeeze(c.Add(total, safe), axes=[rank]), last)


@operator("cummax", "cummin")
def _cumulative_extreme(c):
    c.require(c.floating, "ONNX's running extremes are composed for floating types only")
    greatest = c.op.type == "cummax"
    axis, rank = c.axis(), c.rank()
    fill = c.scalar(-math.inf if greatest else math.inf)
    grid, last = prefixes(c, c.x, axis, rank, fill)
    reduce, arg = ("ReduceMax", "ArgMax") if greatest else ("ReduceMin", "ArgMin")
    out = c.node(reduce, grid, axes=[rank], keepdims=0)
    # Of equal ones the last counts.
    where = c.node(arg, grid, axis=rank, keepdims=0, select_last_index=1)
    return {
        "out": _back(c, out, last),
        "indices": _back(c, c.cast(where, c.dtype_attr()), last),
    }


@operator("check_finite_and_unscale")
def _check_finite(c):
    values = c.list("X")
    found = None
    for value in values:
        bad = any_of(c, c.Or(c.IsNaN(value), c.IsInf(value)))
        found = bad if found is None else c.Or(found, bad)
    scale = c.Reshape(c["Scale"], np.array([], np.int64))
    return {
        "Out": [c.Div(v, scale) for v in values],
        "FoundInfinite": c.Reshape(found, np.array([1])),
    }


@operator("fused_elemwise_activation", "fused_elemwise_add_activation")
def _fused_elementwise(c):
    first, second = c.attr("functor_list")
    x, y = laid_along(c)

    def unary(name, value):
        if name == "scale":
            return c.Mul(value, c.attr("scale"))
        if name == "gelu":
            return gelu(c, value)
        return c.node(name.title(), value)

    pair = {"elementwise_add": "Add", "elementwise_mul": "Mul"}
    if first in pair:
        inner = unary(second, y)
        return {"Out": c.node(pair[first], x, inner), "IntermediateOut": inner}
    inner = c.node(pair[second], x, y)
    return {"Out": unary(first, inner), "IntermediateOut": inner}
