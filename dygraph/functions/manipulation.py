"""Functions that change the shape, position or order of elements.

`dygraph.ops` has them beside the operators they call. A function with the name of an
operator replaces it, with the arguments of Paddle 2 (``axis``). Most are also methods of Variable.
Gradients flow through all that keep the elements.
"""

import math

import numpy as np

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.core import check, size_lists, sizes
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    kind_of,
)

__all__ = [
    "argsort",
    "broadcast_tensors",
    "broadcast_to",
    "chunk",
    "concat",
    "cumsum",
    "expand",
    "expand_as",
    "flatten",
    "flip",
    "meshgrid",
    "moveaxis",
    "pad",
    "repeat_interleave",
    "roll",
    "sort",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "t",
    "tile",
    "topk",
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


_LISTS, _INT = (list, tuple), {int}


def _numbers(values, what):
    if type(values) in _LISTS and _INT.issuperset(map(type, values)):
        return values
    if isinstance(values, (Variable, np.ndarray)):
        values = values.tolist()
    if hasattr(type(values), "__index__"):
        values = [values]
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ArgumentTypeError(f"{what} must be a list of integers, got {kind_of(values)}")
    return [check.integer(v, what) for v in values]


# Shape --------------------------------------------------------------------------------------------


def squeeze(x, axis=None):
    """`x` without the axes of one element, of all or of `axis`. Shares storage.

    >>> import dygraph
    >>> dygraph.squeeze(dygraph.zeros([1, 2, 1])).shape
    (2,)
    """
    if _core.holds_symbol(axis):
        return ops.squeeze2(x, axes=axis)
    if axis == []:
        return ops.assign(x)
    axes = _axes(axis, "squeeze: axis")
    sizes = _core.dims(check.variable(x, "squeeze: x"))
    is_open = any(-len(sizes) <= a < len(sizes) and sizes[a] < 0 for a in axes)
    if modes.ways is not None or not is_open:
        return ops.squeeze2(x, axes=axes)
    # In a described program the axis must have one element in the run: the rank was declared.
    gone = sorted({a % len(sizes) for a in axes if sizes[a] in (1, -1)})
    return ops.slice(
        x, axes=gone, starts=[0] * len(gone), ends=[2**31 - 1] * len(gone), decrease_axis=gone
    )


def unsqueeze(x, axis):
    """`x` with axes of one element inserted, one after the other. Shares storage.

    >>> import dygraph
    >>> dygraph.unsqueeze(dygraph.zeros([2]), [0, -1]).shape
    (1, 2, 1)
    """
    if _core.holds_symbol(axis):
        return ops.unsqueeze2(x, **check.axis_tensors("axes", axis, "unsqueeze: axis"))
    return ops.unsqueeze2(x, axes=_axes(axis, "unsqueeze: axis"))


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


def concat(x, axis=0):
    """The tensors in the list `x`, concatenated along an axis.

    >>> import dygraph
    >>> dygraph.concat([dygraph.zeros([2, 3]), dygraph.ones([1, 3])]).shape
    (3, 3)
    """
    return ops.concat(x, axis=check.integer(axis, "concat: axis"))


def stack(x, axis=0):
    """The tensors in the list `x` along a new axis.

    >>> import dygraph
    >>> dygraph.stack([dygraph.zeros([3]), dygraph.ones([3])], axis=1).shape
    (3, 2)
    """
    return ops.stack(x, axis=check.integer(axis, "stack: axis"))


def unstack(x, axis=0, num=None):
    """The list of the elements of `x` along an axis, without it.

    >>> import dygraph
    >>> [column.tolist() for column in dygraph.unstack(dygraph.eye(2, 3), axis=1)]
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    if num is None:
        _countable(x, axis, "unstack")
    return ops.unstack(
        x,
        axis=check.integer(axis, "unstack: axis"),
        num=0 if num is None else check.integer(num, "unstack: num", 1),
    )


def unbind(x, axis=0):
    """The list of the elements of `x` along an axis, without it.

    >>> import dygraph
    >>> [row.tolist() for row in dygraph.unbind(dygraph.eye(2))]
    [[1.0, 0.0], [0.0, 1.0]]
    """
    _countable(x, axis, "unbind")
    return ops.unbind(x, axis=check.integer(axis, "unbind: axis"))


def _countable(x, axis, owner):
    """The size of an axis, which is the number of results."""
    axis = check.axis(axis, check.variable(x, f"{owner}: x").ndim, f"{owner}: axis")
    n = x.shape[axis]
    if type(n) is not int:
        raise n.refused(f"the number of {owner}'s results is the size")
    if n < 0:
        raise check.unknown_size(x, axis, owner, ", and so is the number of results")
    return n


def split(x, num_or_sections, axis=0):
    """The list of consecutive parts of `x` along an axis.

    Parameters
    ----------
    x : Variable
    num_or_sections : int or list of int
        The number of equal parts; or their sizes, of which one may be -1: the rest.
    axis : int

    Raises
    ------
    InvalidArgumentError
        If the axis cannot be divided so.

    Examples
    --------
    >>> import dygraph
    >>> [p.shape for p in dygraph.split(dygraph.zeros([5, 2]), [2, -1])]
    [(2, 2), (3, 2)]
    """
    axis = check.integer(axis, "split: axis")
    if isinstance(num_or_sections, (list, tuple)):
        sizes = [check.integer(n, "split: a section", -1) for n in num_or_sections]
        return ops.split(x, sections=sizes, axis=axis)
    return ops.split(x, num=check.integer(num_or_sections, "split: num_or_sections", 1), axis=axis)


def chunk(x, chunks, axis=0):
    """At most `chunks` parts of `x` along an axis, of equal sizes except for a shorter last one.

    >>> import dygraph
    >>> [len(p) for p in dygraph.chunk(dygraph.arange(7), 3)]
    [3, 3, 1]
    """
    axis = check.axis(axis, check.variable(x, "chunk: x").ndim, "chunk: axis")
    n = _countable(x, axis, "chunk")
    size = max(math.ceil(n / check.integer(chunks, "chunk: chunks", 1)), 1)
    sizes = [min(size, n - begin) for begin in range(0, n, size)] or [0]
    return ops.split(x, sections=sizes, axis=axis)


# Repetition ---------------------------------------------------------------------------------------


def tile(x, repeat_times):
    """`x` repeated along each axis, as NumPy's tile.

    >>> import dygraph
    >>> dygraph.tile(dygraph.arange(2), [2, 2]).numpy().tolist()
    [[0, 1, 0, 1], [0, 1, 0, 1]]
    """
    if size_lists.followed(repeat_times):
        return _tiled(check.variable(x, "tile: x"), list(repeat_times))
    if not _core.holds_symbol(repeat_times):
        repeat_times = _numbers(repeat_times, "tile: repeat_times")
    return ops.tile(x, repeat_times=repeat_times)


def _tiled(x, times):
    """`tile` with numbers that are known only in a run."""
    parts = {"repeat_times_tensor": size_lists.variables(times)}
    out = _core.run_op("tile", {"X": x, **parts}, {})["Out"]
    shape = [1] * (len(times) - x.ndim) + list(x.shape)
    times = [1] * (x.ndim - len(times)) + times
    made = [
        n if same_one else -1 if n == -1 else n * t
        for n, t, same_one in ((n, t, sizes.same(t, 1)) for n, t in zip(shape, times, strict=True))
    ]
    return size_lists.declare(out, made)


def expand(x, shape):
    """`x` broadcast to `shape` by NumPy's rule; -1 keeps the size of an axis.

    >>> import dygraph
    >>> dygraph.expand(dygraph.zeros([3, 1]), [2, -1, 4]).shape
    (2, 3, 4)
    """
    if size_lists.followed(shape):
        return _expanded(check.variable(x, "expand: x"), list(shape))
    return ops.expand_v2(x, shape=_numbers(shape, "expand: shape"))


def _expanded(x, shape):
    """`expand` with sizes that are known only in a run."""
    lead = len(shape) - x.ndim
    kept = lead >= 0 and all(
        not isinstance(n, sizes.Size) or (i >= lead and sizes.same(x.shape[i - lead], n))
        for i, n in enumerate(shape)
    )
    if kept:  # only existing sizes
        return ops.expand_v2(x, shape=shape)
    parts = {"expand_shapes_tensor": size_lists.variables(shape)}
    out = _core.run_op("expand_v2", {"X": x, **parts}, {})["Out"]
    made = [
        x.shape[i - lead] if i >= lead and type(n) is int and n == -1 else n
        for i, n in enumerate(shape)
    ]
    return size_lists.declare(out, made)


def broadcast_to(x, shape):
    """The same as `expand`.

    >>> import dygraph
    >>> dygraph.broadcast_to(dygraph.to_variable([1.0, 2.0]), [2, 2]).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    return expand(x, shape)


def expand_as(x, y):
    """`x` broadcast to the shape of `y`.

    >>> import dygraph
    >>> dygraph.expand_as(dygraph.to_variable([1.0, 2.0]), dygraph.zeros([2, 2])).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    return expand(x, list(size_lists.sizes_of(check.variable(y, "expand_as: y"))))


def broadcast_tensors(inputs):
    """The list of the tensors in `inputs`, all broadcast to their common shape.

    >>> import dygraph
    >>> a, b = dygraph.broadcast_tensors([dygraph.zeros([3, 1]), dygraph.zeros([2])])
    >>> a.shape, b.shape
    ((3, 2), (3, 2))
    """
    shapes = [check.variable(x, "broadcast_tensors: an input").shape for x in inputs]
    for x, shape in zip(inputs, shapes, strict=True):
        for axis in range(len(shape)):
            check.known_size(x, axis, "broadcast_tensors")
    try:
        common = list(sizes.broadcast(*shapes))
    except ValueError:
        raise InvalidArgumentError(
            f"broadcast_tensors: the shapes must broadcast, got {[list(s) for s in shapes]}"
        ) from None
    return [ops.expand_v2(x, shape=common) for x in inputs]


def repeat_interleave(x, repeats, axis=None):
    """Each element along an axis repeated several times.

    Parameters
    ----------
    x : Variable
    repeats : int or list of int
        One number for all elements, or one for each.
    axis : int, optional
        None: of all elements in one axis.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.repeat_interleave(dygraph.arange(3), 2).numpy().tolist()
    [0, 0, 1, 1, 2, 2]
    """
    if axis is None:
        x, axis = flatten(x), 0
    axis = check.axis(axis, x.ndim, "repeat_interleave: axis")
    n = _countable(x, axis, "repeat_interleave")
    counts = _numbers(repeats, "repeat_interleave: repeats")
    if min(counts, default=0) < 0 or len(counts) not in (1, n):
        raise InvalidArgumentError(
            f"repeat_interleave: repeats must be a number of at least 0 or {n} of them, "
            f"got {repeats}"
        )
    index = np.repeat(np.arange(n), counts[0] if len(counts) == 1 else counts)
    return ops.index_select(x, _core.literal(index), dim=axis)


# Border, order ------------------------------------------------------------------------------------


def pad(x, pad, mode="constant", value=0.0, data_format="NCHW"):
    """`x` padded at its borders.

    Parameters
    ----------
    x : Variable
    pad : list of int
        Two numbers for an axis, before and after. For all axes: the first axis first. For fewer:
        for the last spatial axes, the last one first, as Paddle's (left, right, top, bottom).
    mode : {'constant', 'reflect', 'replicate'}
        The padding: `value`, `x` mirrored at its border, or the border.
    value : float
    data_format : {'NCL', 'NLC', 'NCHW', 'NHWC', 'NCDHW', 'NDHWC'}

    Raises
    ------
    InvalidArgumentError
        If the numbers do not fit the axes.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.ops.pad(dygraph.ones([2]), [1, 2], value=5.0).numpy().tolist()
    [5.0, 1.0, 1.0, 5.0, 5.0]
    """
    rank = check.variable(x, "pad: x").ndim
    check.choice(mode, ("constant", "reflect", "replicate", "edge"), "pad: mode")
    check.choice(data_format, ("NCHW", "NHWC", "NCL", "NLC", "NCDHW", "NDHWC"), "pad: data_format")
    numbers = _numbers(pad, "pad: pad")
    if len(numbers) % 2 or len(numbers) > 2 * rank:
        raise InvalidArgumentError(
            f"pad: pad must hold two numbers for each axis of x {list(x.shape)} or for some of the "
            f"last ones, got {numbers}"
        )
    pairs = [numbers[i : i + 2] for i in range(0, len(numbers), 2)]
    if len(pairs) < rank:
        last = [[0, 0]] if data_format[-1] == "C" else []
        pairs = pairs[::-1] + last
        pairs = [[0, 0]] * (rank - len(pairs)) + pairs
    if mode == "constant":
        return ops.pad(x, paddings=[n for pair in pairs for n in pair], pad_value=value)
    mode = "edge" if mode == "replicate" else mode
    if rank == 4 and not any(pairs[0] + pairs[1]):
        return ops.pad2d(x, paddings=pairs[2] + pairs[3], mode=mode)
    if rank == 4 and not any(pairs[0] + pairs[3]):
        return ops.pad2d(x, paddings=pairs[1] + pairs[2], mode=mode, data_format="NHWC")
    for axis, pair in enumerate(pairs):
        if any(pair):
            size = check.known_size(x, axis, f"pad with mode '{mode}'")
            x = ops.index_select(x, _core.literal(_border(size, pair, mode)), dim=axis)
    return x


def _border(size, pair, mode):
    """The indices of `size` elements padded by `pair`, in mode 'reflect' or 'edge'."""
    if min(pair) < 0 or (mode == "reflect" and max(pair) >= max(size, 1)) or size == 0:
        most = f"less than the size {size} of its axis" if mode == "reflect" else "of some elements"
        raise InvalidArgumentError(
            f"pad: with mode '{mode}' pad must be at least 0 and {most}, got {pair}"
        )
    return np.pad(np.arange(size), pair, mode)


def flip(x, axis):
    """`x` with some axes reversed.

    >>> import dygraph
    >>> dygraph.flip(dygraph.arange(3), 0).numpy().tolist()
    [2, 1, 0]
    """
    return ops.flip(x, dims=_axes(axis, "flip: axis"))


def roll(x, shifts, axis=None):
    """`x` with its elements rolled along some axes, from the end to the front.

    >>> import dygraph
    >>> dygraph.roll(dygraph.arange(4), 1).numpy().tolist()
    [3, 0, 1, 2]
    """
    return ops.roll(x, shifts=_numbers(shifts, "roll: shifts"), dims=_axes(axis, "roll: axis"))


def meshgrid(*inputs):
    """The coordinates of the points of a grid, one tensor for each given axis.

    >>> import dygraph
    >>> x, y = dygraph.meshgrid(dygraph.arange(2), dygraph.arange(3))
    >>> x.shape, y.numpy().tolist()
    ((2, 3), [[0, 1, 2], [0, 1, 2]])
    """
    if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
        inputs = inputs[0]
    return ops.meshgrid(list(inputs))


def cumsum(x, axis=None, dtype=None):
    """Cumulative sums along an axis, or of the flattened elements without one.

    >>> import dygraph
    >>> dygraph.cumsum(dygraph.arange(4)).numpy().tolist()
    [0, 1, 3, 6]
    """
    if dtype is not None:
        x = x.astype(dtype)
    if axis is None:
        return ops.cumsum(x, flatten=True)
    if not _core.holds_symbol(axis):
        axis = check.integer(axis, "cumsum: axis")
    return ops.cumsum(x, axis=axis)


def sort(x, axis=-1, descending=False):
    """`x` sorted along an axis. Equal elements keep their order; NaN counts as the greatest.

    >>> import dygraph
    >>> dygraph.sort(dygraph.to_variable([3, 1, 2])).numpy().tolist()
    [1, 2, 3]
    """
    return ops.argsort(x, axis=check.integer(axis, "sort: axis"), descending=bool(descending))[0]


def argsort(x, axis=-1, descending=False):
    """The indices that sort `x` along an axis. The operator itself returns both.

    >>> import dygraph
    >>> dygraph.argsort(dygraph.to_variable([3, 1, 2])).numpy().tolist()
    [1, 2, 0]
    """
    return ops.argsort(x, axis=check.integer(axis, "argsort: axis"), descending=bool(descending))[1]


def topk(x, k, axis=-1, largest=True, sorted=True):
    """The `k` greatest or least elements along an axis, and their indices.

    >>> import dygraph
    >>> values, places = dygraph.topk(dygraph.to_variable([3.0, 1.0, 2.0]), 2)
    >>> values.numpy().tolist(), places.numpy().tolist()
    ([3.0, 2.0], [0, 2])
    """
    if isinstance(k, Variable):
        k = k.item()
    return ops.top_k_v2(
        x,
        k=check.integer(k, "topk: k", 1),
        axis=check.integer(axis, "topk: axis"),
        largest=bool(largest),
        sorted=bool(sorted),
    )
