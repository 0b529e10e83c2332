"""Variables put together, and cut into pieces."""

import math

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import same_type
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.functions.arguments import countable, given_once, spelled

__all__ = [
    "chunk",
    "concat",
    "split",
    "stack",
    "unbind",
    "unstack",
]

ops = _core.ops
Variable = _core.Variable


def _one_type(arrays, owner):
    """A list of Variables of one type: of the promoted one where they differ."""
    if not isinstance(arrays, (list, tuple)):
        raise ArgumentTypeError(
            f"{owner}: arrays must be a list, got {kind_of(arrays)}. Write {owner}([x, y])"
        )
    if not arrays:
        raise InvalidArgumentError(
            f"{owner}: arrays must be a list of at least one Variable, got an empty one"
        )
    dtypes = set()
    for x in arrays:
        if not isinstance(x, Variable):
            i = next(i for i, y in enumerate(arrays) if y is x)
            check.variable(x, f"{owner}: arrays[{i}]")
        dtypes.add(x.dtype)
    return arrays if len(dtypes) == 1 else same_type(arrays)


def _axis(axis, owner):
    return axis if type(axis) is int else check.integer(axis, f"{owner}: axis")


@given_once
def concat(arrays=None, axis=0, **spellings):
    """The Variables in a list, concatenated along an axis; None: flattened. Types are promoted.

    Parameters
    ----------
    arrays : list of Variable
        Equal shapes except along `axis`.
    axis : int or None
        None: each is flattened first.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.concat([dygraph.zeros([2, 3]), dygraph.ones([1, 3])]).shape
    (3, 3)
    """
    if spellings:
        arrays, axis = spelled("concat", spellings, arrays=arrays, axis=axis)
    arrays = _one_type(arrays, "concat")
    if axis is None:
        arrays, axis = [ops.reshape2(x, shape=[-1]) for x in arrays], 0
    return ops.concat(arrays, axis=_axis(axis, "concat"))


@given_once
def stack(arrays=None, axis=0, **spellings):
    """The Variables in a list along a new axis. Types are promoted.

    Parameters
    ----------
    arrays : list of Variable
        Of equal shapes.
    axis : int
        Where the new axis stands in the result.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.stack([dygraph.zeros([3]), dygraph.ones([3])], axis=1).shape
    (3, 2)
    """
    if spellings:
        arrays, axis = spelled("stack", spellings, arrays=arrays, axis=axis)
    return ops.stack(_one_type(arrays, "stack"), axis=_axis(axis, "stack"))


concat = _core.quick_function("(arrays=None, axis=0, **spellings)", "concat", concat)
stack = _core.quick_function("(arrays=None, axis=0, **spellings)", "stack", stack)


def unstack(x, axis=0, num=None):
    """The elements of `x` along an axis, without it, as a tuple.

    Parameters
    ----------
    x : Variable
    axis : int
    num : int, optional
        The size of the axis, where a program leaves it open.

    Returns
    -------
    tuple of Variable
        As many as the axis is long.

    Examples
    --------
    >>> import dygraph
    >>> [column.tolist() for column in dygraph.unstack(dygraph.eye(2, 3), axis=1)]
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    if num is None:
        if countable(x, axis, "unstack") == 0:
            return ()
    made = ops.unstack(
        x,
        axis=check.integer(axis, "unstack: axis"),
        num=0 if num is None else check.integer(num, "unstack: num", 1),
    )
    return tuple(made)


@given_once
def unbind(x, axis=0, **spellings):
    """The elements of `x` along an axis, without it.

    Parameters
    ----------
    x : Variable
        At least one axis, any type.
    axis : int, default 0
        Negative ones count from the end.
    **spellings : object
        ``dim``, another name of `axis`.

    Returns
    -------
    list of Variable
        As many as the size of the axis.

    Examples
    --------
    >>> import dygraph
    >>> [row.tolist() for row in dygraph.unbind(dygraph.eye(2))]
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if spellings:
        (axis,) = spelled("unbind", spellings, axis=axis)
    countable(x, axis, "unbind")
    return ops.unbind(x, axis=check.integer(axis, "unbind: axis"))


_PARTS = (
    "split() takes num=, the number of parts, or sizes=, a list of their sizes: {0}num=2), "
    "{0}sizes=[1, 2]). torch reads a bare number as the size of a part, NumPy and Paddle as the "
    "number of parts; NumPy reads a list as the places of cuts"
)


@given_once
def split_method(self, sizes=None, axis=0, *, num=None, **spellings):
    """`dygraph.split` of this variable; sizes may stand first, as in torch and Paddle.

    >>> import dygraph
    >>> [p.tolist() for p in dygraph.arange(3).split([1, 2])]
    [[0], [1, 2]]
    """
    if sizes is not None and not isinstance(sizes, (list, tuple)):
        raise ArgumentTypeError(_PARTS.format("x.split("))
    return _split(self, num, sizes, axis, spellings, "x.split(")


@given_once
def split(x, /, *places, num=None, sizes=None, axis=0, **spellings):
    """The list of consecutive parts of `x` along an axis.

    Parameters
    ----------
    x : Variable
    num : int
        The number of equal parts.
    sizes : list of int
        The sizes of the parts, of which one may be -1: the rest. Either is given, by name.
    axis : int

    Returns
    -------
    list of Variable

    Raises
    ------
    ArgumentTypeError
        For a number or a list without a name, which libraries read in three ways.
    InvalidArgumentError
        If the axis cannot be divided so.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.arange(6)
    >>> [p.tolist() for p in dygraph.split(x, sizes=[2, -1])]
    [[0, 1], [2, 3, 4, 5]]
    >>> len(dygraph.split(x, num=3))
    3
    """
    if places:
        raise ArgumentTypeError(_PARTS.format("dygraph.split(x, "))
    return _split(x, num, sizes, axis, spellings, "dygraph.split(x, ")


def _split(x, num, sizes, axis, spellings, call):
    if "num_or_sections" in spellings and num is sizes is None:  # only Paddle has this name
        given = spellings.pop("num_or_sections")
        num, sizes = (None, given) if isinstance(given, (list, tuple)) else (given, None)
    if spellings:
        (axis,) = spelled("split", spellings, axis=axis)
    if (num is None) == (sizes is None):
        raise ArgumentTypeError(_PARTS.format(call))
    axis = check.integer(axis, "split: axis")
    if sizes is None:
        return ops.split(x, num=check.integer(num, "split: num", 1), axis=axis)
    if not isinstance(sizes, (list, tuple)):
        raise ArgumentTypeError(f"split: sizes must be a list, got {kind_of(sizes)}")
    sizes = [check.integer(n, "split: a size", -1) for n in sizes]
    return ops.split(x, sections=sizes, axis=axis)


@given_once
def chunk(x, chunks, axis=0, **spellings):
    """At most `chunks` parts of `x` along an axis, of equal sizes except for a shorter last one.

    Parameters
    ----------
    x : Variable
        At least one axis, any type.
    chunks : int
        How many parts at most.
    axis : int, default 0
        Negative ones count from the end.
    **spellings : object
        ``dim``, another name of `axis`.

    Returns
    -------
    list of Variable
        The parts, of the type of `x`.

    Examples
    --------
    >>> import dygraph
    >>> [len(p) for p in dygraph.chunk(dygraph.arange(7), 3)]
    [3, 3, 1]
    """
    if spellings:
        (axis,) = spelled("chunk", spellings, axis=axis)
    axis = check.axis(axis, check.variable(x, "chunk: x").ndim, "chunk: axis")
    n = countable(x, axis, "chunk")
    size = max(math.ceil(n / check.integer(chunks, "chunk: chunks", 1)), 1)
    sizes = [min(size, n - begin) for begin in range(0, n, size)] or [0]
    return ops.split(x, sections=sizes, axis=axis)
