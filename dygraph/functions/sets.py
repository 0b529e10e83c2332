"""Functions that compare elements: `allclose`, `unique` and the standard's set functions."""

from typing import NamedTuple

import numpy as np

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError

__all__ = [
    "allclose",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

ops = _core.ops
Variable = _core.Variable


def _tolerance(value, what):
    """A number as a string for the operator, with all its digits."""
    return value if isinstance(value, str) else repr(check.number(value, what, 0))


def allclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether ``|x - y| <= atol + rtol * |y|`` holds for all elements.

    Parameters
    ----------
    x, y : Variable
        Their shapes broadcast.
    rtol, atol : float
        At least 0.
    equal_nan : bool
        Whether a NaN equals a NaN.

    Returns
    -------
    Variable
        ``[]``, bool.

    Raises
    ------
    InvalidArgumentError
        For a tolerance below 0 and shapes that do not broadcast.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([1.0, 2.0])
    >>> bool(dygraph.allclose(x, x + 0.01)), bool(dygraph.allclose(x, x + 0.01, atol=0.02))
    (False, True)
    """
    return ops.allclose(
        x,
        y,
        rtol=_tolerance(rtol, "allclose: rtol"),
        atol=_tolerance(atol, "allclose: atol"),
        equal_nan=bool(equal_nan),
    )


def unique(x, /, *places, return_index=False, return_inverse=False, return_counts=False, axis=None):
    """The distinct elements of `x` in ascending order, or its distinct slices along an axis.

    The operators ``unique`` and ``unique_with_counts`` of `dygraph.run_op` keep the order of first
    appearance, as Fluid does.

    Parameters
    ----------
    x : Variable
    return_index : bool
        Also return the index of the first of each in the flattened `x`, or along `axis`.
    return_inverse : bool
        Also return the index of each element of `x`, which has one axis, or of each slice, in the
        result; see `unique_inverse` for several axes.
    return_counts : bool
        Also return the count of each.
    axis : int, optional
        Compare the slices along this axis, from their first element to their last. A gradient
        flows to the first of each.

    Returns
    -------
    Variable or tuple of Variable

    Raises
    ------
    OutOfRangeError
        For an axis that `x` does not have.
    ArgumentTypeError, InvalidArgumentError
        For arguments without names, and for the inverse of several axes: libraries differ.

    Examples
    --------
    >>> import dygraph
    >>> v, n = dygraph.unique(dygraph.to_variable([3, 1, 3]), return_counts=True)
    >>> v.numpy().tolist(), n.numpy().tolist()
    ([1, 3], [1, 2])
    >>> dygraph.unique(dygraph.to_variable([[3, 1], [2, 2], [3, 1]]), axis=0).numpy().tolist()
    [[2, 2], [3, 1]]
    """
    wanted = (return_index, return_inverse, return_counts)
    if places:
        raise ArgumentTypeError(
            f"unique() takes its arguments by name, got {places[0]}: return_index=, "
            "return_inverse=, return_counts=, axis=. In torch sorted= comes first"
        )
    if return_inverse and axis is None and check.variable(x, "unique: x").ndim != 1:
        raise InvalidArgumentError(
            f"unique: for the inverse x must have one axis, got shape {list(x.shape)}. NumPy and "
            "torch give it the shape of x, Paddle one axis. Write dygraph.unique_inverse(x), or "
            "x.flatten() for one axis"
        )
    if axis is None:
        results = _unique_elements(check.variable(x, "unique: x"), *wanted)
    else:
        axis = check.axis(axis, check.variable(x, "unique: x").ndim, "unique: axis")
        results = _unique_slices(x, axis, *wanted)
    return results[0] if len(results) == 1 else tuple(results)


# Types that the operator lacks, by one that holds all their values.
_HOLDS = {
    "bool": "int32", "int8": "int32", "int16": "int32", "uint8": "int32", "float16": "float32",
    "bfloat16": "float32",
}  # fmt: skip


def _unique_elements(x, *wanted):
    dtype = x.dtype
    if dtype.name not in _HOLDS:
        return _unique_of(x, *wanted)
    found, *rest = _unique_of(x.astype(_HOLDS[dtype.name]), *wanted)
    return [found.astype(dtype), *rest]


def _unique_of(x, return_index, return_inverse, return_counts):
    flat = ops.reshape2(x, shape=[-1])
    found, index, counts = ops.unique_with_counts(flat)
    found, order = ops.argsort(found)
    results = [found]
    if return_index:  # of equal numbers, sorting keeps the order: the first leads its group
        _, places = ops.argsort(flat)
        counted = ops.gather(counts, order)
        results.append(ops.gather(places, ops.cumsum(counted, exclusive=True)))
    if return_inverse:
        _, rank = ops.argsort(order)
        results.append(ops.gather(rank, index))
    if return_counts:
        results.append(ops.gather(counts, order))
    return results


def _unique_slices(x, axis, *wanted):
    _, first, inverse, counts = np.unique(x.numpy(), True, True, True, axis=axis)
    numbers = [_core.to_variable(n.reshape(-1)) for n in (first, inverse, counts)]
    different = ops.index_select(x, numbers[0], dim=axis)
    return [different] + [n for n, want in zip(numbers, wanted, strict=True) if want]


# The array API standard's -------------------------------------------------------------------------


class UniqueAllResult(NamedTuple):
    """The result of `unique_all`."""

    values: Variable
    indices: Variable
    inverse_indices: Variable
    counts: Variable


class UniqueCountsResult(NamedTuple):
    """The result of `unique_counts`."""

    values: Variable
    counts: Variable


class UniqueInverseResult(NamedTuple):
    """The result of `unique_inverse`."""

    values: Variable
    inverse_indices: Variable


def unique_all(x, /):
    """The distinct elements, their first indices, the inverse indices, and the counts.

    Parameters
    ----------
    x : Variable

    Returns
    -------
    tuple of Variable
        ``values``, ``indices``, ``inverse_indices`` and ``counts``.

    Examples
    --------
    >>> import dygraph
    >>> found = dygraph.unique_all(dygraph.asarray([3, 1, 3]))
    >>> found.values.tolist(), found.indices.tolist(), found.inverse_indices.tolist()
    ([1, 3], [1, 0], [1, 0, 1])
    """
    values, indices, inverse, counts = _unique_elements(
        check.variable(x, "unique_all: x"), True, True, True
    )
    return UniqueAllResult(values, indices, _shaped_as(x, inverse), counts)


def unique_counts(x, /):
    """The distinct elements and the count of each.

    Parameters
    ----------
    x : Variable

    Returns
    -------
    tuple of Variable
        ``values`` and ``counts``.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.unique_counts(dygraph.asarray([3, 1, 3])).counts.tolist()
    [1, 2]
    """
    return UniqueCountsResult(*unique(x, return_counts=True))


def unique_inverse(x, /):
    """The distinct elements, and for each element of `x` its index among them.

    Parameters
    ----------
    x : Variable

    Returns
    -------
    tuple of Variable
        ``values`` and ``inverse_indices``, which has the shape of `x`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.unique_inverse(dygraph.asarray([[3, 1], [3, 3]])).inverse_indices.tolist()
    [[1, 0], [1, 1]]
    """
    values, inverse = _unique_elements(check.variable(x, "unique_inverse: x"), False, True, False)
    return UniqueInverseResult(values, _shaped_as(x, inverse))


def unique_values(x, /):
    """The distinct elements in ascending order.

    Parameters
    ----------
    x : Variable

    Returns
    -------
    Variable
        One axis.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.unique_values(dygraph.asarray([3, 1, 3])).tolist()
    [1, 3]
    """
    return unique(x)


def _shaped_as(x, inverse):
    return ops.reshape2(inverse, shape=list(x.shape)) if x.size else x.astype("int64")
