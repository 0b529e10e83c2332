"""Elements in order. Equal ones keep theirs: all sorting is stable. NaN counts as greatest."""

import typing

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError
from dygraph.functions.arguments import spelled

ops = _core.ops
Variable = _core.Variable


def _sorted(owner, x, axis, descending, spellings):
    """Values and places in order; equal elements keep their order, so all sorting is stable."""
    if "dim" in spellings and owner == "sort":
        raise ArgumentTypeError(
            "sort: with dim= torch gives the elements and their places. Write "
            "dygraph.sort(x, axis=axis) and dygraph.argsort(x, axis=axis)"
        )
    if spellings:
        (axis,) = spelled(owner, spellings, axis=None if axis == -1 else axis)
    check.variable(x, f"{owner}: x")
    if not _core.holds_symbol(axis):
        axis = check.integer(axis, f"{owner}: axis")
    other = _COMPARED.get(x.dtype.name)
    if other is None:
        return ops.argsort(x, axis=axis, descending=bool(descending))
    values, places = ops.argsort(x.astype(other), axis=axis, descending=bool(descending))
    return values.astype(x.dtype), places


# Types that the operator lacks, by one in which the order is the same.
_COMPARED = {"bool": "uint8", "float16": "float32", "bfloat16": "float32"}


def sort(x, axis=-1, descending=False, *, stable=True, **spellings):
    """`x` sorted along an axis. Equal elements keep their order; NaN counts as the greatest.

    >>> import dygraph
    >>> dygraph.sort(dygraph.to_variable([3, 1, 2])).numpy().tolist()
    [1, 2, 3]
    """
    return _sorted("sort", x, axis, descending, spellings)[0]


def argsort(x, axis=-1, descending=False, *, stable=True, **spellings):
    """The indices that sort `x` along an axis. The operator itself returns both.

    >>> import dygraph
    >>> dygraph.argsort(dygraph.to_variable([3, 1, 2])).numpy().tolist()
    [1, 2, 0]
    """
    return _sorted("argsort", x, axis, descending, spellings)[1]


class TopK(typing.NamedTuple):
    """What `topk` gives: elements and their places, by torch's names."""

    values: Variable
    indices: Variable


def topk(x, k, axis=-1, largest=True, sorted=True, **spellings):
    """The `k` greatest or least elements along an axis, and their indices.

    A pair, whose parts are also ``values`` and ``indices``.

    >>> import dygraph
    >>> values, places = dygraph.topk(dygraph.to_variable([3.0, 1.0, 2.0]), 2)
    >>> values.numpy().tolist(), places.numpy().tolist()
    ([3.0, 2.0], [0, 2])
    """
    if spellings:
        (axis,) = spelled("topk", spellings, axis=None if axis == -1 else axis)
    if isinstance(k, Variable):
        k = k.item()
    found = ops.top_k_v2(
        x,
        k=check.integer(k, "topk: k", 1),
        axis=check.integer(axis, "topk: axis"),
        largest=bool(largest),
        sorted=bool(sorted),
    )
    return TopK(*found)
