"""Elements in order. Equal ones keep theirs: all sorting is stable. NaN counts as greatest."""

import typing

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError
from dygraph.functions.arguments import USUAL, given_once, spelled

ops = _core.ops
Variable = _core.Variable


def _sorted(owner, x, axis, descending, spellings):
    """Values and places in order; equal elements keep their order, so all sorting is stable."""
    if spellings:
        (axis,) = spelled(owner, spellings, axis=axis)
    check.variable(x, f"{owner}: x")
    if not _core.holds_symbol(axis):
        axis = check.integer(axis, f"{owner}: axis")
    if type(descending) is not bool:  # NumPy has the kind of sorting in its place
        descending = check.flag(descending, f"{owner}: descending")
    other = None if x.dtype in USUAL else _COMPARED.get(x.dtype.name)
    if other is None:
        return ops.argsort(x, axis=axis, descending=descending)
    values, places = ops.argsort(x.astype(other), axis=axis, descending=descending)
    return values.astype(x.dtype), places


# Types that the operator lacks, by one in which the order is the same.
_COMPARED = {"bool": "uint8", "float16": "float32", "bfloat16": "float32"}


@given_once
def sort(x, /, *places, axis=-1, descending=False, stable=True, **spellings):
    """`x` sorted along an axis. Equal elements keep their order; NaN counts as the greatest.

    The other arguments have names: torch's ``sort(x, 0)`` gives the elements and their places.

    Parameters
    ----------
    x : Variable
        At least one axis; any type.
    *places : object
        Refused: the other arguments have names.
    axis : int, default -1
        Negative ones count from the end.
    descending : bool, default False
        Whether the greatest comes first.
    stable : bool, default True
        Accepted; all sorting is stable.
    **spellings : object
        Other libraries' names; ``dim`` is refused with a hint.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Raises
    ------
    ArgumentTypeError
        `dim` or a second positional argument is given: torch's result has two parts.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.sort(dygraph.to_variable([3, 1, 2])).numpy().tolist()
    [1, 2, 3]
    """
    if places or "dim" in spellings:
        raise ArgumentTypeError(
            "sort() takes the axis as axis=: dygraph.sort(x, axis=axis) gives the elements, "
            "dygraph.argsort(x, axis=axis) their places, and torch's sort of an axis both"
        )
    return _sorted("sort", x, axis, descending, spellings)[0]


@given_once
def argsort(x, axis=-1, descending=False, *, stable=True, **spellings):
    """The indices that sort `x` along an axis. The operator itself returns both.

    Parameters
    ----------
    x : Variable
    axis : int
    descending : bool
        Whether the greatest element comes first.
    stable : bool
        Equal elements keep their order, with False too.

    Returns
    -------
    Variable
        int64, the shape of `x`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.argsort(dygraph.to_variable([3, 1, 2])).numpy().tolist()
    [1, 2, 0]
    """
    return _sorted("argsort", x, axis, descending, spellings)[1]


class TopK(typing.NamedTuple):
    """What `topk` gives: elements and their places, by torch's names."""

    values: Variable
    indices: Variable


@given_once
def topk(x, k, axis=-1, largest=True, sorted=True, **spellings):
    """The `k` greatest or least elements along an axis, and their indices.

    A pair, whose parts are also ``values`` and ``indices``.

    Parameters
    ----------
    x : Variable
    k : int or Variable
        How many, at most the size of the axis.
    axis : int
    largest : bool
        False: the least elements.
    sorted : bool
        Whether they are in order.

    Returns
    -------
    tuple of Variable
        The elements and their int64 places, `k` along the axis.

    Examples
    --------
    >>> import dygraph
    >>> values, places = dygraph.topk(dygraph.to_variable([3.0, 1.0, 2.0]), 2)
    >>> values.numpy().tolist(), places.numpy().tolist()
    ([3.0, 2.0], [0, 2])
    """
    if spellings:
        (axis,) = spelled("topk", spellings, axis=axis)
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
