"""Elements by their place in the order: medians, the k-th, the most frequent."""

import typing

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import floating
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.functions.arguments import USUAL, given_once, spelled, widened

__all__ = ["kthvalue", "median", "mode", "nanmedian"]

ops = _core.ops
Variable = _core.Variable


def _median(owner, x, axis, mode, keepdims):
    if mode is not None:
        check.choice(mode, ("avg", "min"), f"{owner}: mode")
    keepdims = check.flag(keepdims, f"{owner}: keepdims")
    rank = check.variable(x, f"{owner}: x").ndim
    axes = [] if axis is None else [check.axis(axis, rank, f"{owner}: axis")]
    if mode is None and owner == "median":
        _odd(owner, x, axes or range(rank))
    if mode != "min" and not x.dtype.is_floating:
        x = floating(x)
    run, attrs = getattr(ops, owner), {"axis": axes, "keepdim": keepdims, "mode": mode or "avg"}
    if x.dtype in USUAL:
        return run(x, **attrs)
    if x.dtype is _core.bool_:
        return run(x.astype("int32"), **attrs).astype("bool")
    return widened(lambda x: run(x, **attrs), x)


def _odd(owner, x, axes):
    """Errors where the number of elements is even, or may be: libraries differ there."""
    count = 1
    for axis in axes:
        n = x.shape[axis]
        if type(n) is not int or n < 0:
            raise check.unknown_size(x, axis, owner, ", and it may be even. Or give mode")
        count *= n
    if count and count % 2 == 0:
        raise InvalidArgumentError(
            f"{owner}: of {count} elements NumPy and Paddle give the mean of the two in the "
            "middle, torch the lesser. Write mode='avg' or mode='min'"
        )


@given_once
def median(x, /, *places, axis=None, mode=None, keepdims=False, **spellings):
    """The element in the middle of an axis or of all.

    Parameters
    ----------
    x : Variable
    axis : int, optional
        By name. None: all elements.
    mode : {'avg', 'min'}
        Of an even number of elements the mean of the two in the middle, as in NumPy, or the lesser,
        as in torch. It must be given for an even number.
    keepdims : bool
        True: the axes stay in the shape with size 1.

    Returns
    -------
    Variable
        Of integers a float32; with 'min' of the type of `x`. NaN where an element is NaN.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([5.0, 1.0, 3.0, 2.0])
    >>> dygraph.median(x, mode="avg").item(), dygraph.median(x, mode="min").item()
    (2.5, 2.0)
    """
    if places or "dim" in spellings:
        raise ArgumentTypeError(
            "median() takes the axis as axis=: torch's median of an axis gives the elements and "
            "their places. Write dygraph.median(x, axis=axis)"
        )
    if spellings:
        axis, keepdims = spelled("median", spellings, axis=axis, keepdims=keepdims)
    return _median("median", x, axis, mode, keepdims)


@given_once
def nanmedian(x, /, *places, mode=None, axis=None, keepdims=False, **spellings):
    """The element in the middle of those that are not NaN, along an axis or of all.

    Parameters
    ----------
    x : Variable
    mode : {'avg', 'min'}
        Of an even number of elements the mean of the two in the middle, as in NumPy and Paddle, or
        the lesser, as in torch. It must be given: how many are NaN shows in the values.
    axis : int, optional
        By name. None: all elements.
    keepdims : bool
        True: the axes stay in the shape with size 1.

    Returns
    -------
    Variable
        Of integers a float32; with 'min' of the type of `x`. NaN where all elements are NaN.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([float("nan"), 1.0, 3.0])
    >>> dygraph.nanmedian(x, mode="avg").item(), dygraph.nanmedian(x, mode="min").item()
    (2.0, 1.0)
    """
    if places or "dim" in spellings:
        raise ArgumentTypeError(
            "nanmedian() takes the axis as axis=: torch's nanmedian of an axis gives the elements "
            "and their places. Write dygraph.nanmedian(x, mode='min', axis=axis)"
        )
    if spellings:
        axis, keepdims = spelled("nanmedian", spellings, axis=axis, keepdims=keepdims)
    if mode is None:
        raise ArgumentTypeError(
            "nanmedian: mode must be given. Of an even number of elements NumPy and Paddle give "
            "the mean of the two in the middle, torch the lesser: mode='avg' or mode='min'"
        )
    return _median("nanmedian", x, axis, mode, keepdims)


class Chosen(typing.NamedTuple):
    """What `kthvalue` and `mode` give: elements and their places, by torch's names."""

    values: Variable
    indices: Variable


# Types that the operators lack, by one in which the order is the same.
_COMPARED = {
    "bool": "int32", "int8": "int32", "int16": "int32", "uint8": "int32", "float16": "float32",
    "bfloat16": "float32",
}  # fmt: skip


def _chosen(owner, x, axis, keepdims, **attrs):
    axis = check.axis(axis, max(check.variable(x, f"{owner}: x").ndim, 1), f"{owner}: axis")
    attrs |= {"axis": axis, "keepdim": check.flag(keepdims, f"{owner}: keepdims")}
    other = None if x.dtype in USUAL else _COMPARED.get(x.dtype.name)
    values, indices = getattr(ops, owner)(x if other is None else x.astype(other), **attrs)
    return Chosen(values if other is None else values.astype(x.dtype), indices)


@given_once
def kthvalue(x, k, axis=-1, keepdims=False, **spellings):
    """The `k`-th smallest element along an axis, and where it stands. NaN counts as the greatest.

    A pair, whose parts are also ``values`` and ``indices``.

    Parameters
    ----------
    x : Variable
        Any shape.
    k : int
        From 1 to the size of the axis.
    axis : int, default -1
    keepdims : bool, default False
        True: the axis stays in the shape with size 1.

    Returns
    -------
    tuple of Variable
        The elements, through which gradients flow, and their int64 places; of equal ones, the place
        that a sort gives which keeps their order.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for a `k` that the axis does not have.

    Examples
    --------
    >>> import dygraph
    >>> value, place = dygraph.kthvalue(dygraph.to_variable([5.0, 1.0, 3.0]), 2)
    >>> value.item(), place.item()
    (3.0, 2)
    """
    if spellings:
        axis, keepdims = spelled("kthvalue", spellings, axis=axis, keepdims=keepdims)
    return _chosen("kthvalue", x, axis, keepdims, k=check.integer(k, "kthvalue: k", 1))


@given_once
def mode(x, axis=-1, keepdims=False, **spellings):
    """The most frequent element along an axis, of several the least, and where it stands last.

    A pair, whose parts are also ``values`` and ``indices``.

    Parameters
    ----------
    x : Variable
        Any shape. NaNs count as one element, the greatest.
    axis : int, default -1
    keepdims : bool, default False
        True: the axis stays in the shape with size 1.

    Returns
    -------
    tuple of Variable
        The elements, through which gradients flow, and their int64 places.

    Examples
    --------
    >>> import dygraph
    >>> value, place = dygraph.mode(dygraph.to_variable([3, 1, 2, 1, 3]))
    >>> value.item(), place.item()
    (1, 3)
    """
    if spellings:
        axis, keepdims = spelled("mode", spellings, axis=axis, keepdims=keepdims)
    return _chosen("mode", x, axis, keepdims)
