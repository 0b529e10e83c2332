"""How often elements come, and into which bins they fall. No gradient flows through these."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.functions import searching
from dygraph.functions.arguments import USUAL, given_once, spelled

__all__ = ["bincount", "bucketize", "histc", "unique_consecutive"]

ops = _core.ops
# Types that the operators lack, by one with the same numbers.
_WIDER = {"int8": "int32", "int16": "int32", "uint8": "int32", "float16": "float32",
          "bfloat16": "float32"}  # fmt: skip


def _usual(x):
    other = None if x.dtype in USUAL else _WIDER.get(x.dtype.name)
    return x if other is None else x.astype(other)


def bincount(x, weights=None, minlength=0):
    """How often each of the numbers 0, 1, 2, ... is in `x`, or the sums of their weights.

    Parameters
    ----------
    x : Variable
        ``[n]``, integers of at least 0.
    weights : Variable, optional
        ``[n]``
    minlength : int, default 0
        The least number of counts.

    Returns
    -------
    Variable
        ``[max(x) + 1]``, int64; of weights their type, of integer ones float64. No gradient.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for a negative number and for shapes that do not fit.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.bincount(dygraph.to_variable([1, 3, 1])).tolist()
    [0, 2, 0, 1]
    """
    x = _usual(check.variable(x, "bincount: x"))
    if x.dtype.is_floating or x.dtype is _core.bool_:
        raise ArgumentTypeError(
            f"bincount: x must hold integers, got {x.dtype}. Convert with x.astype('int64')"
        )
    if weights is not None:
        weights = _usual(check.variable(weights, "bincount: weights")).detach()
    minlength = check.integer(minlength, "bincount: minlength", 0)
    return ops.bincount(x, weights=weights, minlength=minlength)


def bucketize(x, boundaries, *, out_int32=False, right=False):
    """The number of the bin of each element of `x`: where it would stand in `boundaries`.

    Parameters
    ----------
    x : Variable or number
        Any shape.
    boundaries : Variable
        ``[n]``, ascending.
    out_int32 : bool, default False
        True: int32 numbers.
    right : bool, default False
        False: an element that equals a boundary falls into the bin that the boundary ends. True:
        into the one that it begins.

    Returns
    -------
    Variable
        int64, the shape of `x`, from 0 to n. No gradient.

    Examples
    --------
    >>> import dygraph
    >>> edges = dygraph.to_variable([1.0, 3.0, 5.0])
    >>> dygraph.bucketize(dygraph.to_variable([0.0, 3.0, 9.0]), edges).tolist()
    [0, 1, 3]
    """
    if check.variable(boundaries, "bucketize: boundaries").ndim != 1:
        raise InvalidArgumentError(
            f"bucketize: boundaries must have one axis, got shape {list(boundaries.shape)}"
        )
    return searching.searchsorted(boundaries, x, right=right, out_int32=out_int32)


def histc(x, bins=100, min=0, max=0):
    """How many elements of `x` fall into each of `bins` equally wide bins from `min` to `max`.

    A bin holds its lower edge, the last one both. Elements outside and NaN are left out.

    Parameters
    ----------
    x : Variable
        Any shape.
    bins : int, default 100
    min, max : float, default 0
        Equal ones: the least and the greatest element.

    Returns
    -------
    Variable
        ``[bins]``, of the type of `x`. ``dygraph.ops.histogram`` gives int64, as Paddle's does.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for `bins` below 1, for `min` above `max`, and where they are equal for an
        element that is not finite.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.histc(dygraph.to_variable([0.0, 1.0, 1.5, 4.0]), bins=4, min=0, max=4).tolist()
    [1.0, 2.0, 0.0, 1.0]
    """
    counts = ops.histogram(
        _usual(check.variable(x, "histc: x")).detach(),
        bins=check.integer(bins, "histc: bins", 1),
        min=check.number(min, "histc: min"),
        max=check.number(max, "histc: max"),
    )
    return counts if counts.dtype is x.dtype else counts.astype(x.dtype)


@given_once
def unique_consecutive(x, return_inverse=False, return_counts=False, axis=None, **spellings):
    """`x` without the elements, or the slices along an axis, that equal the one before.

    Parameters
    ----------
    x : Variable
        Any shape. A NaN equals a NaN.
    return_inverse : bool, default False
        Whether to give for each element of `x` its place in the result.
    return_counts : bool, default False
        Whether to give how many equal ones stood together.
    axis : int, optional
        None: the elements in order, in one axis.

    Returns
    -------
    Variable or tuple of Variable
        What is left, then the int64 places and counts that are asked for.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([5, 5, 2, 5])
    >>> kept, counts = dygraph.unique_consecutive(x, return_counts=True)
    >>> kept.tolist(), counts.tolist()
    ([5, 2, 5], [2, 1, 1])
    """
    if spellings:
        (axis,) = spelled("unique_consecutive", spellings, axis=axis)
    return_inverse = check.flag(return_inverse, "unique_consecutive: return_inverse")
    return_counts = check.flag(return_counts, "unique_consecutive: return_counts")
    rank = check.variable(x, "unique_consecutive: x").ndim
    axes = [] if axis is None else [check.axis(axis, rank, "unique_consecutive: axis")]
    wanted = {"Out": 1}
    if return_inverse:
        wanted["Index"] = 1
    if return_counts:
        wanted["Counts"] = 1
    made = _core.run_op("unique_consecutive", {"X": _usual(x).detach()}, {"axis": axes}, wanted)
    out = made["Out"] if made["Out"].dtype is x.dtype else made["Out"].astype(x.dtype)
    if len(wanted) == 1:
        return out
    found = [made[name] for name in wanted if name != "Out"]
    if return_inverse and axis is None and not _core.is_symbol(x):
        found[0] = found[0].reshape(x.shape)
    return (out, *found)
