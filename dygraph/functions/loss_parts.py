"""Common parts of losses: checks of shapes, reductions, constants and weights."""

import numpy as np

from dygraph import _core
from dygraph.core import check, size_lists
from dygraph.core.faces import face
from dygraph.core.promotion import floating
from dygraph.errors import InvalidArgumentError

ops = _core.ops
REDUCTIONS = ("mean", "sum", "none")


def same_shape(owner, **variables):
    """The Variables, which must have one shape and one type."""
    (first, a), *rest = ((n, check.variable(v, f"{owner}: {n}")) for n, v in variables.items())
    for name, b in rest:
        if a.shape != b.shape:
            rule = (
                f"{owner}: {first} and {name} must have one shape, got {list(a.shape)} and "
                f"{list(b.shape)}"
            )
            if -1 in (*_core.dims(a), *_core.dims(b)):
                raise check.open_size(rule, "Declare the sizes alike", InvalidArgumentError)
            raise InvalidArgumentError(f"{rule}. Give them one shape with reshape()")
        if a.dtype != b.dtype:
            raise InvalidArgumentError(
                f"{owner}: {first} and {name} must have one type, got {a.dtype} and {b.dtype}. "
                f"Convert with astype('{a.dtype.name}')"
            )
    return [a, *(size_lists.matching(a, b) for _, b in rest)]


def reduced(loss, reduction, owner):
    """The losses, their sum or their mean."""
    check.choice(reduction, REDUCTIONS, f"{owner}: reduction")
    if reduction == "none":
        return loss
    if reduction == "mean":
        return ops.reduce_mean(floating(loss), reduce_all=True)
    return ops.reduce_sum(loss, reduce_all=True)


def like(x, value):
    """A constant of x's shape and type."""
    return ops.fill_any_like(x, value=float(value))


def constant(value, x):
    """An array or a Variable as a Variable beside x; an array is made of x's type."""
    check.variable(x, "a loss: input")
    if not isinstance(value, _core.Variable):
        value = _core.literal(np.asarray(value, x.dtype.name))
    return face(value, x, "a loss")


def kept(weight):
    """A weight that a layer holds: a Variable enters programs as a buffer does."""
    if isinstance(weight, _core.Variable) and not _core.is_symbol(weight):
        weight.persistable = True
    return weight


def weighted(loss, weight, owner):
    """The losses times a weight that broadcasts to their shape; None: unchanged."""
    if weight is None:
        return loss
    weight = constant(weight, loss)
    out = loss * weight
    if out.shape != loss.shape:
        raise InvalidArgumentError(
            f"{owner}: weight must broadcast to the losses, {list(loss.shape)}, got shape "
            f"{list(weight.shape)}"
        )
    return out
