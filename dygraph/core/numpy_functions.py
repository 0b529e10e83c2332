"""NumPy's functions of whole arrays for Variables: one function each, in one table."""

import math

import numpy as np

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.core import check
from dygraph.core.promotion import floating, same_type
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    UnimplementedError,
)
from dygraph.functions import elementwise, linear, manipulation, reductions

Variable = _core.Variable
ops = _core.ops


# Arguments ----------------------------------------------------------------------------------------


def op(name, what):
    """An operator by name, looked up when needed. UnimplementedError if it is not built."""
    found = getattr(ops, name, None)
    if found is None:
        raise UnimplementedError(
            f"numpy.{what} of a Variable needs the operator {name}, which this build lacks. Pass "
            f"the values with .numpy()"
        )
    return found


def var(value):
    """A Variable unchanged, an array or a number as a Variable."""
    return value if isinstance(value, Variable) else _core.to_variable(value)


def numbers(x):
    """Bools as int64, as NumPy adds them."""
    return x.astype("int64") if x.dtype.name == "bool" else x


def axis_of(x, axis, what):
    """An axis counted from the front."""
    return check.axis(axis, x.ndim, f"numpy.{what}: axis")


def axes_of(x, axis, what):
    """One axis or several as a list of numbers from 0."""
    many = axis if isinstance(axis, (list, tuple)) else [axis]
    return [axis_of(x, a, what) for a in many]


def refusal(name, kwargs=()):
    with_arguments = f" with {', '.join(kwargs)}" if kwargs else ""
    return ArgumentTypeError(
        f"numpy.{name}{with_arguments} takes no Variables. Pass the values with .numpy(), which "
        f"leaves the tape, or use a function of dygraph"
    )


def call_function(function, args, kwargs, name):
    """Calls one of the functions above. ArgumentTypeError for NumPy's arguments that it lacks.

    Those left at None or at NumPy's "no value" do not count.
    """
    kwargs = {
        k: v for k, v in kwargs.items() if v is not None and v is not np._NoValue or k == "axis"
    }
    code = function.__code__
    known = code.co_varnames[: code.co_argcount]
    unknown = [k for k in kwargs if k not in known]
    if unknown or len(args) > code.co_argcount and not code.co_flags & 0x04:
        raise refusal(name, unknown or [f"{len(args)} arguments"])
    return function(*args, **kwargs)


# Functions ----------------------------------------------------------------------------------------


def _sum(a, axis=None, dtype=None, keepdims=False):
    a = numbers(var(a)) if dtype is None else var(a).astype(dtype)
    return a.sum(axis=axis, keepdim=keepdims)


def _mean(a, axis=None, keepdims=False):
    return floating(var(a)).mean(axis=axis, keepdim=keepdims)


def _prod(a, axis=None, keepdims=False):
    a = numbers(var(a))
    if axis is None or len(axes_of(a, axis, "prod")) == a.ndim:
        return ops.reduce_prod(a, dim=[0], keep_dim=bool(keepdims), reduce_all=True)
    return ops.reduce_prod(a, dim=axes_of(a, axis, "prod"), keep_dim=bool(keepdims))


def _max(a, axis=None, keepdims=False):
    return var(a).max(axis=axis, keepdim=keepdims)


def _min(a, axis=None, keepdims=False):
    return var(a).min(axis=axis, keepdim=keepdims)


def _var(a, axis=None, ddof=0, keepdims=False):
    a = floating(var(a))
    away = a - a.mean(axis=axis, keepdim=True)
    if -1 in _core.dims(a) and modes.ways is None:
        raise check.open_size(
            f"numpy.var: the sizes of '{a.name}', {list(a.shape)}, are known when the program runs",
            "Use dygraph.var, which counts then",
        )
    count = a.size
    if axis is not None:
        count = math.prod(a.shape[i] for i in axes_of(a, axis, "var"))
    squares = (away * away).sum(axis=axis, keepdim=keepdims)
    if (ddof or type(count) is int) and not count > ddof:
        return squares * float("nan")
    return squares / (count - ddof)


def _std(a, axis=None, ddof=0, keepdims=False):
    return ops.sqrt(_var(a, axis, ddof, keepdims))


def _arg(name):
    def function(a, axis=None, keepdims=False):
        a = var(a)
        if axis is None:
            a, axis = a.flatten(), 0
        return getattr(ops, name)(a, axis=axis_of(a, axis, name), keepdims=bool(keepdims))

    return function


def _norm(x, ord=None, axis=None, keepdims=False):
    if ord not in (None, 2, "fro") or (ord == 2 and axis is None and var(x).ndim > 1):
        raise refusal("linalg.norm", [f"ord={ord!r}"])
    x = floating(var(x))
    return ops.sqrt((x * x).sum(axis=axis, keepdim=keepdims))


def _cumsum(a, axis=None):
    a = numbers(var(a))
    if axis is None:
        a, axis = a.flatten(), 0
    return op("cumsum", "cumsum")(a, axis=axis_of(a, axis, "cumsum"))


def _clip(a, a_min=None, a_max=None, min=None, max=None):
    a = var(a)
    low, high = a_min if min is None else min, a_max if max is None else max
    if low is not None:
        a = elementwise.maximum(a, low)
    if high is not None:
        a = elementwise.minimum(a, high)
    return a


def _where(condition, x=None, y=None):
    condition = var(condition)
    if (x is None) != (y is None):
        raise InvalidArgumentError("numpy.where: x and y must be given both or neither, got one")
    if x is None:
        return _nonzero(condition)
    if isinstance(x, (int, float)) and isinstance(y, (int, float)):
        x, y = np.asarray(x), np.asarray(y)
    return elementwise.where(_truth(condition), x, y)


def _nonzero(a):
    at = ops.where_index(var(a))
    return tuple(at[:, i] for i in range(at.shape[1]))


def _concatenate(arrays, axis=0):
    arrays = same_type(arrays)
    if not arrays:
        raise InvalidArgumentError("numpy.concatenate: at least one array is needed, got none")
    if axis is None:
        arrays, axis = [a.flatten() for a in arrays], 0
    return ops.concat(arrays, axis=axis_of(arrays[0], axis, "concatenate"))


def _stack(arrays, axis=0):
    arrays = same_type(arrays)
    if not arrays:
        raise InvalidArgumentError("numpy.stack: at least one array is needed, got none")
    axis = check.axis(axis, arrays[0].ndim + 1, "numpy.stack: axis")
    return op("stack", "stack")(arrays, axis=axis)


def _at_least(rank):
    def function(*arrays):
        made = []
        for a in map(var, arrays):
            missing = rank - a.ndim
            made.append(a[(None,) * missing] if missing > 0 else a)
        return made[0] if len(made) == 1 else tuple(made)

    return function


def _vstack(tup):
    return _concatenate([_at_least(2)(a) for a in tup], 0)


def known(a, name, axes=None):
    """The sizes of axes, all by default, that Python needs; refused where the run decides them."""
    axes = range(a.ndim) if axes is None else axes
    return [check.known_size(a, axis, f"numpy.{name}") for axis in axes]


def _hstack(tup):
    arrays = [_at_least(1)(a) for a in tup]
    return _concatenate(arrays, 0 if arrays and arrays[0].ndim == 1 else 1)


def _array_split(ary, indices_or_sections, axis=0):
    ary = var(ary)
    axis = axis_of(ary, axis, "split")
    size = check.known_size(ary, axis, "numpy.split")
    if hasattr(indices_or_sections, "__len__"):
        ends = [0, *(slice(None, int(i)).indices(size)[1] for i in indices_or_sections), size]
    else:
        count = check.integer(indices_or_sections, "numpy.split: sections", 1)
        ends = np.cumsum([0] + [size // count + (i < size % count) for i in range(count)]).tolist()
    before = (slice(None),) * axis
    return [ary[(*before, slice(a, b))] for a, b in zip(ends[:-1], ends[1:], strict=True)]


def _split(ary, indices_or_sections, axis=0):
    ary = var(ary)
    count = indices_or_sections
    size = known(ary, "split", [axis_of(ary, axis, "split")])[0]
    if not hasattr(count, "__len__") and size % count:
        raise InvalidArgumentError(
            f"numpy.split: axis {axis} of shape {list(ary.shape)} must divide into {count} parts"
        )
    return _array_split(ary, count, axis)


def _reshape(a, shape=None, newshape=None):
    shape = newshape if shape is None else shape
    shape = [shape] if hasattr(type(shape), "__index__") else list(shape)
    a = var(a)
    if 0 in shape:  # for NumPy a size, for reshape2 a copy
        from dygraph.core.index_arrays import reshaped

        return reshaped(a, [check.integer(n, "numpy.reshape: a size", 0) for n in shape])
    return a.reshape(shape)


def _transpose(a, axes=None):
    return var(a).transpose() if axes is None else var(a).transpose(list(axes))


def _moveaxis(a, source, destination):
    return manipulation.moveaxis(var(a), source, destination)


def _swapaxes(a, axis1, axis2):
    return manipulation.swapaxes(var(a), axis1, axis2)


def _expand_dims(a, axis):
    return manipulation.expand_dims(var(a), axis)


def _squeeze(a, axis=None):
    return manipulation.squeeze(var(a), axis)


def _dot(a, b):
    a, b = same_type([a, b])
    if not a.ndim or not b.ndim:
        return a * b
    if b.ndim > 2:
        return _tensordot(a, b, ([a.ndim - 1], [b.ndim - 2]))
    return a @ b


def _tensordot(a, b, axes=2):
    return linear.tensordot(a, b, axes=axes)


def _outer(a, b):
    a, b = same_type([a, b])
    return a.flatten()[:, None] * b.flatten()


def _inner(a, b):
    a, b = same_type([a, b])
    return a * b if not a.ndim or not b.ndim else _tensordot(a, b, ([-1], [-1]))


def _trace(a):
    a = var(a)
    if a.ndim != 2:
        raise refusal("trace", [f"{a.ndim} axes"])
    return _diagonal(a).sum()


def _diagonal(a):
    a = var(a)
    if a.ndim != 2:
        raise refusal("diagonal", [f"{a.ndim} axes"])
    at = np.arange(min(known(a, "diagonal")))
    return a[at, at]


def _take(a, indices, axis=None):
    a = var(a)
    if axis is None:
        a, axis = a.flatten(), 0
    axis = axis_of(a, axis, "take")
    whole = (slice(None),) * axis
    return a[(*whole, indices if isinstance(indices, Variable) else np.asarray(indices))]


def _take_along_axis(arr, indices, axis=-1):
    arr, indices = var(arr), var(indices)
    if axis is None:
        arr, axis = arr.flatten(), 0
    return ops.take_along_axis(arr, indices, Axis=axis_of(arr, axis, "take_along_axis"))


def _repeat(a, repeats, axis=None):
    a = var(a)
    if axis is None:
        a, axis = a.flatten(), 0
    (size,) = known(a, "repeat", [axis_of(a, axis, "repeat")])
    return _take(a, np.repeat(np.arange(size), np.asarray(repeats)), axis)


def _tile(A, reps):
    A = var(A)
    reps = [reps] if hasattr(type(reps), "__index__") else list(reps)
    for axis, count in zip(range(-1, -len(reps) - 1, -1), reversed(reps), strict=True):
        if A.ndim < -axis:
            A = A[None]
        (size,) = known(A, "tile", [A.ndim + axis])
        A = _take(A, np.tile(np.arange(size), count), axis)
    return A


def _broadcast_to(array, shape):
    array = var(array)
    shape = [shape] if hasattr(type(shape), "__index__") else list(shape)
    condition = np.ones(shape, "bool")
    if np.broadcast_shapes(tuple(known(array, "broadcast_to")), tuple(shape)) != tuple(shape):
        raise InvalidArgumentError(
            f"numpy.broadcast_to: shape {list(array.shape)} does not broadcast to {shape}"
        )
    return ops.where(_core.literal(condition), array, ops.fill_any_like(array))


def _flip(m, axis=None):
    m = var(m)
    axes = range(m.ndim) if axis is None else axes_of(m, axis, "flip")
    return m[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(m.ndim))]


def _roll(a, shift, axis=None):
    a = var(a)
    if axis is None:
        return _reshape(_roll(a.flatten(), shift, 0), known(a, "roll"))
    axes = axes_of(a, axis, "roll")
    shifts = shift if isinstance(shift, (list, tuple)) else [shift] * len(axes)
    for by, i in zip(shifts, axes, strict=True):
        a = _take(a, np.roll(np.arange(*known(a, "roll", [i])), by), i)
    return a


def _triangle(choose):
    def function(m, k=0):
        m = var(m)
        among = np.ones(known(m, "tril and triu", range(m.ndim)[-2:]), "bool")
        return ops.where(_core.literal(choose(among, k)), m, ops.fill_any_like(m))

    return function


def _diff(a, n=1, axis=-1):
    return reductions.diff(var(a), axis=axis, n=n)


def _like(value):
    def function(a, dtype=None):
        made = ops.fill_any_like(var(a), value=value)
        return made if dtype is None else made.astype(dtype)

    return function


def _full_like(a, fill_value, dtype=None):
    return _like(check.number(fill_value, "numpy.full_like: fill_value"))(a, dtype)


def _round(a, decimals=0):
    if decimals:
        raise refusal("round", ["decimals"])
    a = var(a)
    return op("round", "round")(a) if a.dtype.is_floating else a.clone()


def _average(a, axis=None, weights=None):
    if weights is None:
        return _mean(a, axis)
    a, weights = same_type([a, weights])
    return _sum(a * weights, axis) / _sum(_broadcast_to(weights, known(a, "average")), axis)


def _truth(a):
    a = var(a)
    return a if a.dtype.name == "bool" else a != 0


def _any(a, axis=None, keepdims=False):
    return _sum(_truth(a), axis=axis, keepdims=keepdims) > 0


def _all(a, axis=None, keepdims=False):
    return _sum(_truth(a) == False, axis=axis, keepdims=keepdims) == 0  # noqa: E712


REDUCTIONS = {
    "add": _sum, "multiply": _prod, "maximum": _max, "minimum": _min, "logical_and": _all,
    "logical_or": _any,
}  # fmt: skip
FUNCTIONS = {
    "all": _all, "amax": _max, "amin": _min, "any": _any, "argmax": _arg("arg_max"),
    "argmin": _arg("arg_min"), "argwhere": lambda a: ops.where_index(var(a)),
    "around": _round, "array_split": _array_split, "atleast_1d": _at_least(1),
    "atleast_2d": _at_least(2), "average": _average, "broadcast_to": _broadcast_to, "clip": _clip,
    "concatenate": _concatenate, "copy": lambda a: var(a).clone(), "cumsum": _cumsum,
    "diagonal": _diagonal, "diff": _diff, "dot": _dot, "expand_dims": _expand_dims,
    "flatnonzero": lambda a: ops.where_index(var(a).flatten())[:, 0], "flip": _flip,
    "fliplr": lambda m: _flip(m, 1), "flipud": lambda m: _flip(m, 0), "full_like": _full_like,
    "hstack": _hstack, "inner": _inner, "linalg.norm": _norm, "max": _max, "mean": _mean,
    "min": _min, "moveaxis": _moveaxis, "nonzero": _nonzero, "ones_like": _like(1.0),
    "outer": _outer, "prod": _prod, "ravel": lambda a: var(a).flatten(), "repeat": _repeat,
    "reshape": _reshape, "roll": _roll, "round": _round, "split": _split, "squeeze": _squeeze,
    "stack": _stack, "std": _std, "sum": _sum, "swapaxes": _swapaxes, "take": _take,
    "take_along_axis": _take_along_axis, "tensordot": _tensordot, "tile": _tile, "trace": _trace,
    "transpose": _transpose, "tril": _triangle(np.tril), "triu": _triangle(np.triu), "var": _var,
    "vstack": _vstack, "where": _where, "zeros_like": _like(0.0),
}  # fmt: skip
