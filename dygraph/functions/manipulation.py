"""Functions that change the shape, position or order of elements.

Most are also methods of Variable. Gradients flow through all that keep the elements.
"""

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.core import check
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
)
from dygraph.functions.arguments import given_once, numbers, spelled

__all__ = [
    "cumsum",
    "expand_dims",
    "flatten",
    "flip",
    "moveaxis",
    "permute_dims",
    "reshape",
    "roll",
    "squeeze",
    "swapaxes",
    "t",
    "transpose",
    "unsqueeze",
]

ops = _core.ops
Variable = _core.Variable


def _axes(axis, what):
    """An int or several as a list; None as an empty one."""
    if axis is None:
        return []
    if isinstance(axis, Variable):
        axis = axis.tolist()
    if isinstance(axis, (list, tuple)):
        return [check.integer(a, what) for a in axis]
    return [check.integer(axis, what)]


# Shape --------------------------------------------------------------------------------------------


@given_once
def squeeze(x, axis=None, **spellings):
    """`x` without the axes of one element, of all or of `axis`. Shares storage.

    InvalidArgumentError for an axis of another size, which torch and Paddle leave in place.

    Parameters
    ----------
    x : Variable
    axis : int or list of int, optional
        Axes of size 1. None: all of them.

    Returns
    -------
    Variable
        `x` without these axes.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.squeeze(dygraph.zeros([1, 2, 1])).shape
    (2,)
    """
    if spellings:
        (axis,) = spelled("squeeze", spellings, axis=axis)
    if _core.holds_symbol(axis):
        return ops.squeeze2(x, axes=axis)
    if isinstance(axis, (list, tuple)) and not axis:
        return ops.assign(x)
    axes = _axes(axis, "squeeze: axis")
    sizes = _core.dims(check.variable(x, "squeeze: x"))
    is_open = any(-len(sizes) <= a < len(sizes) and sizes[a] < 0 for a in axes)
    for a in axes:
        n = sizes[check.axis(a, len(sizes), "squeeze: axis")]
        if n not in (1, -1):
            raise InvalidArgumentError(
                f"squeeze: an axis must have size 1, got axis {a} of shape {list(x.shape)}. "
                "x.squeeze() takes all axes of size 1 away"
            )
    if modes.ways is not None or not is_open:
        return ops.squeeze2(x, axes=axes)
    # In a described program the axis must have one element in the run: the rank was declared.
    gone = sorted({a % len(sizes) for a in axes if sizes[a] in (1, -1)})
    return ops.slice(
        x, axes=gone, starts=[0] * len(gone), ends=[2**31 - 1] * len(gone), decrease_axis=gone
    )


@given_once
def unsqueeze(x, axis=None, **spellings):
    """`x` with axes of one element inserted, one after the other. Shares storage.

    Parameters
    ----------
    x : Variable
    axis : int or list of int
        Where the new axes stand in the result.

    Returns
    -------
    Variable
        `x` with new axes of size 1.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.unsqueeze(dygraph.zeros([2]), [0, -1]).shape
    (1, 2, 1)
    """
    if spellings:
        (axis,) = spelled("unsqueeze", spellings, axis=axis)
    if axis is None:
        raise ArgumentTypeError("unsqueeze: axis must be an int or a list of ints, got nothing")
    if _core.holds_symbol(axis):
        return ops.unsqueeze2(x, **check.axis_tensors("axes", axis, "unsqueeze: axis"))
    return ops.unsqueeze2(x, axes=_axes(axis, "unsqueeze: axis"))


def expand_dims(x, axis):
    """`x` with an axis of one element at the position `axis` of the result. Shares storage.

    Parameters
    ----------
    x : Variable
    axis : int
        Where the new axis stands in the result.

    Returns
    -------
    Variable
        `x` with a new axis of size 1.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.expand_dims(dygraph.zeros([2]), 0).shape
    (1, 2)
    """
    rank = check.variable(x, "expand_dims: x").ndim
    many = axis if isinstance(axis, (list, tuple)) else [axis]
    many = sorted(check.axis(a, rank + len(many), "expand_dims: axis") for a in many)
    return ops.unsqueeze2(x, axes=many)


def permute_dims(x, axes):
    """The axes of `x` in another order.

    Parameters
    ----------
    x : Variable
    axes : list of int
        For each axis of the result, which one of `x` it is.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.permute_dims(dygraph.zeros(2, 3, 4), (2, 0, 1)).shape
    (4, 2, 3)
    """
    rank = check.variable(x, "permute_dims: x").ndim
    order = [
        check.axis(a, rank, "permute_dims: an axis") for a in _axes(axes, "permute_dims: axes")
    ]
    if sorted(order) != list(range(rank)):
        raise InvalidArgumentError(
            f"permute_dims: axes must be a permutation of 0 to {rank - 1}, got {axes}"
        )
    return ops.transpose2(x, axis=order) if rank else ops.assign(x)


def reshape(x, shape, *, copy=None):
    """The same elements in another shape.

    Parameters
    ----------
    x : Variable
    shape : int or list of int
        One size may be -1: the rest. A size of 0 is for no elements; in Fluid's layers it keeps
        the size of its axis.
    copy : bool, optional
        A result never shares what is written; False is accepted, too.

    Returns
    -------
    Variable
        The elements of `x` in their order.

    Raises
    ------
    InvalidArgumentError
        For another number of elements.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.reshape(dygraph.arange(6), (2, -1)).shape
    (2, 3)
    """
    if isinstance(shape, Variable) and _core.is_symbol(shape):
        return ops.reshape2(x, shape=shape)
    if type(shape) in (list, tuple) and 0 in shape and all(type(n) is int for n in shape):
        return _of_no_elements(check.variable(x, "reshape: x"), shape)
    return check.variable(x, "reshape: x").reshape(shape)


def _of_no_elements(x, shape):
    from dygraph.core.index_arrays import reshaped

    if x.size != 0 or shape.count(-1) > 1:
        raise InvalidArgumentError(
            f"reshape: a size may be 0 only if x has no elements, got {list(shape)} for shape "
            f"{list(x.shape)}. Write x.shape[axis] to keep the size of an axis, or -1"
        )
    if -1 in shape:  # any size would do
        raise InvalidArgumentError(
            f"reshape: -1 beside 0 leaves the size open, got {list(shape)}. Give all sizes"
        )
    return reshaped(x, list(shape))


def flatten(x, start_axis=0, stop_axis=-1):
    """`x` with the axes from `start_axis` to `stop_axis` joined into one. Shares storage.

    Parameters
    ----------
    x : Variable
    start_axis, stop_axis : int
        The first and the last of the axes that become one.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.flatten(dygraph.zeros([2, 3, 4]), 1).shape
    (2, 12)
    """
    return ops.flatten_contiguous_range(
        x,
        start_axis=check.integer(start_axis, "flatten: start_axis"),
        stop_axis=check.integer(stop_axis, "flatten: stop_axis"),
    )


def t(x):
    """The transpose of a matrix; Variables with fewer axes are unchanged.

    Parameters
    ----------
    x : Variable
        Two axes at most.

    Returns
    -------
    Variable
        The transposed matrix; a vector as it is.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.t(dygraph.to_variable([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    if check.variable(x, "t: x").ndim > 2:
        raise InvalidArgumentError(f"t: x must have at most two axes, got shape {list(x.shape)}")
    return ops.transpose2(x, axis=[1, 0]) if x.ndim == 2 else ops.assign(x)


def swapaxes(x, axis1, axis2):
    """`x` with two axes exchanged.

    Parameters
    ----------
    x : Variable
    axis1, axis2 : int

    Returns
    -------
    Variable
        `x` with these two axes in each other's place.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.swapaxes(dygraph.zeros([2, 3, 4]), 0, -1).shape
    (4, 3, 2)
    """
    rank = check.variable(x, "swapaxes: x").ndim
    a, b = check.axis(axis1, rank, "swapaxes: axis1"), check.axis(axis2, rank, "swapaxes: axis2")
    order = list(range(rank))
    order[a], order[b] = b, a
    return ops.transpose2(x, axis=order)


def moveaxis(x, source, destination):
    """`x` with the axes `source` at the positions `destination`, the others in order.

    Parameters
    ----------
    x : Variable
        Any shape and type.
    source, destination : int or list of int
        As many of both; negative ones count from the end.

    Returns
    -------
    Variable
        The sizes of `x`, moved likewise.

    Raises
    ------
    InvalidArgumentError
        An axis is named twice, or the lengths differ.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.moveaxis(dygraph.zeros([2, 3, 4]), 0, -1).shape
    (3, 4, 2)
    """
    rank = check.variable(x, "moveaxis: x").ndim
    ends = []
    for given, what in ((source, "source"), (destination, "destination")):
        axes = [check.axis(a, rank, f"moveaxis: {what}") for a in _axes(given, f"moveaxis: {what}")]
        if len(set(axes)) != len(axes):
            raise InvalidArgumentError(f"moveaxis: {what} must name each axis once, got {given}")
        ends.append(axes)
    if len(ends[0]) != len(ends[1]):
        raise InvalidArgumentError(
            f"moveaxis: source and destination must have equal lengths, got {source} and "
            f"{destination}"
        )
    order = [a for a in range(rank) if a not in ends[0]]
    for place, axis in sorted(zip(ends[1], ends[0], strict=True)):
        order.insert(place, axis)
    return ops.transpose2(x, axis=order) if rank else ops.assign(x)


# Pieces -------------------------------------------------------------------------------------------


@given_once
def transpose(x, axes=None, *others, **spellings):
    """The axes in another order; None: reversed.

    Parameters
    ----------
    x : Variable
    axes : int or list of int, optional
        For each axis of the result, which one of `x` it is. None: in reverse order.
    *others : int
        The numbers behind the first, where they stand without a list.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.transpose(dygraph.zeros(2, 3, 4), [2, 0, 1]).shape
    (4, 2, 3)
    """
    if spellings:
        (axes,) = spelled("transpose", spellings, axes=axes)
    check.variable(x, "transpose: x")
    if others:
        raise ArgumentTypeError(
            f"transpose: the axes must be one list, got {', '.join(map(str, (axes, *others)))}. "
            "torch exchanges two axes: write dygraph.swapaxes(x, 0, 1)"
        )
    return x.transpose() if axes is None else x.transpose(list(axes))


# Order --------------------------------------------------------------------------------------------


@given_once
def flip(x, axis=None, **spellings):
    """`x` with some axes reversed; None: all.

    Parameters
    ----------
    x : Variable
    axis : int or list of int, optional
        None: all axes.

    Returns
    -------
    Variable
        The elements in reverse order along these axes.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.flip(dygraph.arange(3), 0).numpy().tolist()
    [2, 1, 0]
    """
    if spellings:
        (axis,) = spelled("flip", spellings, axis=axis)
    if axis is None:
        axis = list(range(check.variable(x, "flip: x").ndim))
    axes = _axes(axis, "flip: axis")
    return ops.flip(x, dims=axes) if axes else ops.assign(x)


@given_once
def roll(x, shift=None, axis=None, **spellings):
    """`x` with its elements rolled along some axes, from the end to the front.

    Parameters
    ----------
    x : Variable
    shift : int or list of int
        By how many places; one number for all axes, or one for each.
    axis : int or list of int, optional
        None: of the flattened elements.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.roll(dygraph.arange(4), 1).numpy().tolist()
    [3, 0, 1, 2]
    """
    if spellings:
        shift, axis = spelled("roll", spellings, shift=shift, axis=axis)
    axes = _axes(axis, "roll: axis")
    shift = numbers(shift, "roll: shift")
    if len(shift) == 1:
        shift = [*shift] * max(len(axes), 1)
    if check.variable(x, "roll: x").ndim == 0:
        return ops.assign(x)
    return ops.roll(x, shifts=shift, dims=axes)


@given_once
def cumsum(x, axis=None, dtype=None, **spellings):
    """Cumulative sums along an axis, or of the flattened elements without one.

    Parameters
    ----------
    x : Variable
    axis : int, optional
        None: of all elements, flattened.
    dtype : dtype, optional
        The type of the sums.

    Returns
    -------
    Variable
        Each element is the sum of those up to it.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.cumsum(dygraph.arange(4)).numpy().tolist()
    [0, 1, 3, 6]
    """
    if spellings:
        (axis,) = spelled("cumsum", spellings, axis=axis)
    if dtype is not None:
        x = x.astype(dtype)
    if axis is None:
        return ops.cumsum(x, flatten=True)
    if not _core.holds_symbol(axis):
        axis = check.integer(axis, "cumsum: axis")
    return ops.cumsum(x, axis=axis)
