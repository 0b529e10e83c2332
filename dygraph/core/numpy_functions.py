"""NumPy's functions of whole arrays for Variables: a table of ours, with NumPy's arguments."""

import numpy as np

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import floating, same_type
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    UnimplementedError,
)
from dygraph.functions import (
    choices,
    creation,
    diagonals,
    elementwise,
    extent,
    linear,
    manipulation,
    matrices,
    order_statistics,
    pieces,
    products,
    reductions,
    searching,
)

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


def refusal(name, kwargs=()):
    with_arguments = f" with {', '.join(kwargs)}" if kwargs else ""
    return ArgumentTypeError(
        f"numpy.{name}{with_arguments} takes no Variables. Pass the values with .numpy(), which "
        f"leaves the tape, or use a function of dygraph"
    )


def call_function(function, args, kwargs, name):
    """Calls one of the functions below. ArgumentTypeError for NumPy's arguments that it lacks.

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


def _line(a, axis):
    """NumPy's axis=None: all elements as one axis."""
    a = var(a)
    return (a.flatten(), 0) if axis is None else (a, axis)


def _several(sizes):
    return [sizes] if hasattr(type(sizes), "__index__") else list(sizes)


def _truth(a):
    a = var(a)
    return a if a.dtype.name == "bool" else a != 0


# Functions ----------------------------------------------------------------------------------------


def _reduction(name):
    ours = getattr(reductions, name)
    return lambda a, axis=None, keepdims=False: ours(var(a), axis=axis, keepdims=keepdims)


def _with_type(name):
    ours = getattr(reductions, name)
    return lambda a, axis=None, dtype=None, keepdims=False: ours(
        var(a), axis=axis, dtype=dtype, keepdims=keepdims
    )


def _spread(name):
    ours = getattr(reductions, name)
    return lambda a, axis=None, ddof=0, keepdims=False: ours(
        var(a), axis=axis, correction=ddof, keepdims=keepdims
    )


def _place(name):
    ours = getattr(searching, name)
    return lambda a, axis=None, keepdims=False: ours(var(a), axis, keepdims)


def _average(a, axis=None, weights=None):
    if weights is None:
        return reductions.mean(var(a), axis)
    a, weights = same_type([a, weights])
    if a.shape != weights.shape:
        weights = _along(a, axis, weights)
    return reductions.sum(a * weights, axis) / reductions.sum(extent.expand_as(weights, a), axis)


def _along(a, axis, weights):
    """Weights of one axis of `a`, in a shape that broadcasts along it."""
    if not isinstance(axis, int) or weights.ndim != 1:
        raise InvalidArgumentError(
            f"numpy.average: weights must have the shape of a, {list(a.shape)}, or be those of one "
            f"axis, got shape {list(weights.shape)} and axis={axis}"
        )
    at = check.axis(axis, a.ndim, "numpy.average: axis")
    if not check.may_be_equal(a.shape[at], weights.shape[0]):
        raise InvalidArgumentError(
            f"numpy.average: there must be {a.shape[at]} weights for axis {axis} of shape "
            f"{list(a.shape)}, got {weights.shape[0]}"
        )
    return manipulation.reshape(weights, [-1] + [1] * (a.ndim - 1 - at))


def _norm(x, ord=None, axis=None, keepdims=False):
    x = floating(var(x))
    over = x.ndim if axis is None else len(_several(axis))
    if ord is not None and (ord, over) not in ((2, 1), ("fro", 2)):
        raise refusal("linalg.norm", [f"ord={ord!r} of {over} axes"])
    return products.norm(x, axis=axis, keepdim=keepdims)


def _cumsum(a, axis=None, dtype=None):
    a, axis = _line(a, axis)
    return reductions.cumulative_sum(a, axis, dtype=dtype)


def _clip(a, a_min=None, a_max=None, min=None, max=None):
    return choices.clip(var(a), a_min if min is None else min, a_max if max is None else max)


def _where(condition, x=None, y=None):
    if (x is None) != (y is None):
        raise InvalidArgumentError("numpy.where: x and y must be given both or neither, got one")
    if x is None:
        return searching.nonzero(var(condition))
    if isinstance(x, (int, float)) and isinstance(y, (int, float)):
        x, y = np.asarray(x), np.asarray(y)
    return choices.where(_truth(condition), x, y)


def _concatenate(arrays, axis=0):
    return pieces.concat(same_type(arrays) if len(arrays) else [], axis)


def _stack(arrays, axis=0):
    return pieces.stack(same_type(arrays) if len(arrays) else [], axis)


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


def _hstack(tup):
    arrays = [_at_least(1)(a) for a in tup]
    return _concatenate(arrays, 0 if arrays and arrays[0].ndim == 1 else 1)


def _split(ary, indices_or_sections, axis=0):
    """NumPy's places of cuts as the sizes of parts."""
    ary = var(ary)
    if not hasattr(indices_or_sections, "__len__"):
        return pieces.split(ary, num=indices_or_sections, axis=axis)
    axis = check.axis(axis, ary.ndim, "numpy.split: axis")
    size = check.known_size(ary, axis, "numpy.split")
    ends = [slice(None, int(i)).indices(size)[1] for i in indices_or_sections]
    sizes = [max(b - a, 0) for a, b in zip([0, *ends], [*ends, size], strict=True)]
    if sum(sizes) != size:  # cuts out of order, whose parts overlap
        raise refusal("split", [f"places {list(indices_or_sections)}"])
    return pieces.split(ary, sizes=sizes, axis=axis)


def _array_split(ary, indices_or_sections, axis=0):
    if hasattr(indices_or_sections, "__len__"):
        return _split(ary, indices_or_sections, axis)
    ary = var(ary)
    axis = check.axis(axis, ary.ndim, "numpy.array_split: axis")
    size = check.known_size(ary, axis, "numpy.array_split")
    count = check.integer(indices_or_sections, "numpy.array_split: sections", 1)
    sizes = [size // count + (i < size % count) for i in range(count)]
    return pieces.split(ary, sizes=sizes, axis=axis)


def _reshape(a, shape=None, newshape=None):
    return manipulation.reshape(var(a), _several(newshape if shape is None else shape))


def _dot(a, b):
    a, b = same_type([a, b])
    if not a.ndim or not b.ndim:
        return a * b
    if b.ndim > 2:
        return linear.tensordot(a, b, axes=([-1], [-2]))
    return a @ b


def _inner(a, b):
    a, b = same_type([a, b])
    return a * b if not a.ndim or not b.ndim else linear.tensordot(a, b, axes=([-1], [-1]))


def _diagonal(a, offset=0, axis1=0, axis2=1):
    return diagonals.diagonal(var(a), offset, axis1, axis2)


def _take(a, indices, axis=None):
    a, axis = _line(a, axis)
    return searching.take(a, indices, axis=axis)


def _take_along_axis(arr, indices, axis=-1):
    arr, axis = _line(arr, axis)
    return searching.take_along_axis(arr, var(indices), axis)


def _like(name):
    ours = getattr(creation, name)
    return lambda a, dtype=None: ours(var(a), dtype=dtype)


def _round(a, decimals=0):
    if decimals:
        raise refusal("round", ["decimals"])
    return elementwise.round(var(a))


REDUCTIONS = {
    "add": _with_type("sum"), "multiply": _with_type("prod"), "maximum": _reduction("max"),
    "minimum": _reduction("min"), "logical_and": _reduction("all"),
    "logical_or": _reduction("any"),
}  # fmt: skip
FUNCTIONS = {
    "all": _reduction("all"), "amax": _reduction("max"), "amin": _reduction("min"),
    "any": _reduction("any"), "argmax": _place("argmax"), "argmin": _place("argmin"),
    "argwhere": lambda a: searching.nonzero(var(a), as_tuple=False),
    "around": _round, "array_split": _array_split, "atleast_1d": _at_least(1),
    "atleast_2d": _at_least(2), "average": _average,
    "broadcast_to": lambda array, shape: extent.broadcast_to(var(array), _several(shape)),
    "clip": _clip, "concatenate": _concatenate, "copy": lambda a: var(a).clone(),
    "cumsum": _cumsum, "diagonal": _diagonal,
    "diff": lambda a, n=1, axis=-1, prepend=None, append=None: reductions.diff(
        var(a), axis=axis, n=n, prepend=prepend, append=append
    ),
    "dot": _dot, "expand_dims": lambda a, axis: manipulation.expand_dims(var(a), axis),
    "flatnonzero": lambda a: searching.nonzero(var(a).flatten())[0],
    "flip": lambda m, axis=None: manipulation.flip(var(m), axis),
    "fliplr": lambda m: manipulation.flip(var(m), 1),
    "flipud": lambda m: manipulation.flip(var(m), 0),
    "full_like": lambda a, fill_value, dtype=None: creation.full_like(
        var(a), fill_value, dtype=dtype
    ),
    "hstack": _hstack, "inner": _inner, "linalg.norm": _norm, "max": _reduction("max"),
    "mean": _reduction("mean"),
    "median": lambda a, axis=None, keepdims=False: order_statistics.median(
        var(a), axis=axis, mode="avg", keepdims=keepdims
    ),
    "min": _reduction("min"),
    "moveaxis": lambda a, source, destination: manipulation.moveaxis(var(a), source, destination),
    "nonzero": lambda a: searching.nonzero(var(a)), "ones_like": _like("ones_like"),
    "outer": lambda a, b: products.outer(*same_type([a, b])), "prod": _with_type("prod"),
    "ravel": lambda a: var(a).flatten(),
    "repeat": lambda a, repeats, axis=None: extent.repeat(var(a), repeats, axis),
    "reshape": _reshape,
    "roll": lambda a, shift, axis=None: manipulation.roll(var(a), shift, axis),
    "round": _round, "split": _split,
    "squeeze": lambda a, axis=None: manipulation.squeeze(var(a), axis), "stack": _stack,
    "std": _spread("std"), "sum": _with_type("sum"),
    "swapaxes": lambda a, axis1, axis2: manipulation.swapaxes(var(a), axis1, axis2),
    "take": _take, "take_along_axis": _take_along_axis,
    "tensordot": lambda a, b, axes=2: linear.tensordot(a, b, axes=axes),
    "tile": lambda A, reps: extent.tile(var(A), _several(reps)),
    "trace": lambda a, offset=0, axis1=0, axis2=1: products.trace(var(a), offset, axis1, axis2),
    "transpose": lambda a, axes=None: manipulation.transpose(var(a), axes),
    "tril": lambda m, k=0: matrices.tril(var(m), k),
    "triu": lambda m, k=0: matrices.triu(var(m), k), "var": _spread("var"),
    "vstack": _vstack, "where": _where, "zeros_like": _like("zeros_like"),
}  # fmt: skip
