"""Functions that change the shape, position or order of elements.

Most are also methods of Variable. Gradients flow through all that keep the elements.
"""

import math

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.core import check
from dygraph.core.promotion import same_type
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    kind_of,
)
from dygraph.functions.arguments import countable, numbers, spelled

__all__ = [
    "chunk",
    "concat",
    "cumsum",
    "expand_dims",
    "flatten",
    "flip",
    "moveaxis",
    "permute_dims",
    "reshape",
    "roll",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "t",
    "transpose",
    "unbind",
    "unsqueeze",
    "unstack",
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


def squeeze(x, axis=None, **spellings):
    """`x` without the axes of one element, of all or of `axis`. Shares storage.

    InvalidArgumentError for an axis of another size, which torch and Paddle leave in place.

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


def unsqueeze(x, axis=None, **spellings):
    """`x` with axes of one element inserted, one after the other. Shares storage.

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
            f"reshape: a size of 0 is for no elements, got {list(shape)} for shape "
            f"{list(x.shape)}. Write x.shape[axis] to keep the size of an axis, or -1"
        )
    if -1 in shape:  # any size would do
        raise InvalidArgumentError(
            f"reshape: -1 beside 0 leaves the size open, got {list(shape)}. Give all sizes"
        )
    return reshaped(x, list(shape))


def flatten(x, start_axis=0, stop_axis=-1):
    """`x` with the axes from `start_axis` to `stop_axis` joined into one. Shares storage.

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

    >>> import dygraph
    >>> dygraph.t(dygraph.to_variable([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    if check.variable(x, "t: x").ndim > 2:
        raise InvalidArgumentError(f"t: x must have at most two axes, got shape {list(x.shape)}")
    return ops.transpose2(x, axis=[1, 0]) if x.ndim == 2 else ops.assign(x)


def swapaxes(x, axis1, axis2):
    """`x` with two axes exchanged.

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
    for i, x in enumerate(arrays):
        if not isinstance(x, Variable):
            check.variable(x, f"{owner}: arrays[{i}]")
    dtype = arrays[0].dtype
    return arrays if all(x.dtype is dtype for x in arrays) else same_type(arrays)


def concat(arrays=None, axis=0, **spellings):
    """The Variables in a list, concatenated along an axis; None: laid flat. Types are promoted.

    >>> import dygraph
    >>> dygraph.concat([dygraph.zeros([2, 3]), dygraph.ones([1, 3])]).shape
    (3, 3)
    """
    if spellings:
        arrays, axis = _listed("concat", arrays, axis, spellings)
    arrays = _one_type(arrays, "concat")
    if axis is None:
        arrays, axis = [ops.reshape2(x, shape=[-1]) for x in arrays], 0
    return ops.concat(arrays, axis=check.integer(axis, "concat: axis"))


def _listed(owner, arrays, axis, spellings):
    """Paddle's and torch's names for a list of Variables."""
    for name in ("x", "tensors", "inputs", "input"):
        if arrays is None and name in spellings:
            arrays = spellings.pop(name)
    (axis,) = spelled(owner, spellings, axis=axis or None) if spellings else (axis,)
    return arrays, 0 if axis is None and spellings else axis


def stack(arrays=None, axis=0, **spellings):
    """The Variables in a list along a new axis. Types are promoted.

    >>> import dygraph
    >>> dygraph.stack([dygraph.zeros([3]), dygraph.ones([3])], axis=1).shape
    (3, 2)
    """
    if spellings:
        arrays, axis = _listed("stack", arrays, axis, spellings)
    return ops.stack(_one_type(arrays, "stack"), axis=check.integer(axis, "stack: axis"))


def unstack(x, axis=0, num=None):
    """The elements of `x` along an axis, without it, as a tuple.

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


def transpose(x, axes=None, *others, **spellings):
    """The axes in another order; None: reversed.

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
        (axis,) = spelled("unbind", spellings, axis=axis or None)
    countable(x, axis, "unbind")
    return ops.unbind(x, axis=check.integer(axis, "unbind: axis"))


_PARTS = (
    "split() takes num=, the number of parts, or sizes=, a list of their sizes: {0}num=2), "
    "{0}sizes=[1, 2]). torch reads a bare number as the size of a part, NumPy and Paddle as the "
    "number of parts; NumPy reads a list as the places of cuts"
)


def split_method(self, sizes=None, axis=0, *, num=None, **spellings):
    """`dygraph.split` of this variable; sizes may stand first, as in torch and Paddle.

    >>> import dygraph
    >>> [p.tolist() for p in dygraph.arange(3).split([1, 2])]
    [[0], [1, 2]]
    """
    if sizes is not None and not isinstance(sizes, (list, tuple)):
        raise ArgumentTypeError(_PARTS.format("x.split("))
    return split(self, num=num, sizes=sizes, axis=axis, **spellings)


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
    if "num_or_sections" in spellings:  # only Paddle has this name
        given = spellings.pop("num_or_sections")
        num, sizes = (num, given) if isinstance(given, (list, tuple)) else (given, sizes)
    if spellings:
        (axis,) = spelled("split", spellings, axis=axis or None)
    if (num is None) == (sizes is None):
        raise ArgumentTypeError(_PARTS.format("dygraph.split(x, "))
    axis = check.integer(axis, "split: axis")
    if sizes is None:
        return ops.split(x, num=check.integer(num, "split: num", 1), axis=axis)
    if not isinstance(sizes, (list, tuple)):
        raise ArgumentTypeError(f"split: sizes must be a list, got {kind_of(sizes)}")
    sizes = [check.integer(n, "split: a size", -1) for n in sizes]
    return ops.split(x, sections=sizes, axis=axis)


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
        (axis,) = spelled("chunk", spellings, axis=axis or None)
    axis = check.axis(axis, check.variable(x, "chunk: x").ndim, "chunk: axis")
    n = countable(x, axis, "chunk")
    size = max(math.ceil(n / check.integer(chunks, "chunk: chunks", 1)), 1)
    sizes = [min(size, n - begin) for begin in range(0, n, size)] or [0]
    return ops.split(x, sections=sizes, axis=axis)


# Order --------------------------------------------------------------------------------------------


def flip(x, axis=None, **spellings):
    """`x` with some axes reversed; None: all.

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


def roll(x, shift=None, axis=None, **spellings):
    """`x` with its elements rolled along some axes, from the end to the front.

    Parameters
    ----------
    x : Variable
    shift : int or list of int
        By how many places; one number for all axes, or one for each.
    axis : int or list of int, optional
        None: of the elements laid flat.

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


def cumsum(x, axis=None, dtype=None, **spellings):
    """Cumulative sums along an axis, or of the flattened elements without one.

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
