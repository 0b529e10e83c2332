"""Functions that repeat elements: tiles, broadcasts.

Most are also methods of Variable. Gradients flow through all.
"""

import numpy as np

from dygraph import _core
from dygraph.core import check, size_lists, sizes
from dygraph.errors import InvalidArgumentError
from dygraph.functions.arguments import countable, given_once, numbers, spelled
from dygraph.functions.manipulation import flatten

ops = _core.ops
Variable = _core.Variable


@given_once
def tile(x, repetitions=None, **spellings):
    """`x` repeated along each axis, as NumPy's tile.

    Parameters
    ----------
    x : Variable
        Any shape and type.
    repetitions : int, list of int or Variable, optional
        How often along each axis; of fewer numbers than axes, the first axes come once.
    **spellings : object
        ``repeat_times``, another name of `repetitions`.

    Returns
    -------
    Variable
        Each size times its number.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.tile(dygraph.arange(2), [2, 2]).numpy().tolist()
    [[0, 1, 0, 1], [0, 1, 0, 1]]
    """
    if spellings:
        (repetitions,) = spelled("tile", spellings, repetitions=repetitions)
    if size_lists.followed(repetitions):
        return _tiled(check.variable(x, "tile: x"), list(repetitions))
    if not _core.holds_symbol(repetitions):
        repetitions = numbers(repetitions, "tile: repetitions")
    if isinstance(repetitions, (list, tuple)) and not repetitions:
        return ops.assign(x)
    return ops.tile(x, repeat_times=repetitions)


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

    Parameters
    ----------
    x : Variable
    shape : list of int
        -1 keeps the size of `x`.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.expand(dygraph.zeros([3, 1]), [2, -1, 4]).shape
    (2, 3, 4)
    """
    if size_lists.followed(shape):
        return _expanded(check.variable(x, "expand: x"), list(shape))
    return ops.expand_v2(x, shape=numbers(shape, "expand: shape"))


def expand_method(self, *shape):
    """`dygraph.expand` of this variable, to sizes given as numbers or as one list."""
    return expand(self, shape[0] if len(shape) == 1 else list(shape))


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
    """`x` repeated to a shape that it broadcasts to; the same as `expand`.

    Parameters
    ----------
    x : Variable
        Any shape and type.
    shape : list of int
        The new sizes; -1 keeps that of `x`.

    Returns
    -------
    Variable
        Of `shape`, with the type of `x`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.broadcast_to(dygraph.to_variable([1.0, 2.0]), [2, 2]).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    return expand(x, shape)


def expand_as(x, y):
    """`x` broadcast to the shape of `y`.

    Parameters
    ----------
    x, y : Variable
        The shape of `y` is taken.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.expand_as(dygraph.to_variable([1.0, 2.0]), dygraph.zeros([2, 2])).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    return expand(x, list(size_lists.sizes_of(check.variable(y, "expand_as: y"))))


def broadcast_tensors(inputs):
    """Variables repeated to the shape that all broadcast to.

    Parameters
    ----------
    inputs : list of Variable
        Of any types, with known sizes.

    Returns
    -------
    list of Variable
        One for each input, of the common shape.

    Raises
    ------
    InvalidArgumentError
        The shapes do not broadcast.

    Examples
    --------
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
        sizes.broadcast(*shapes)
    except ValueError:
        raise InvalidArgumentError(
            f"broadcast_tensors: the shapes must broadcast, got {[list(s) for s in shapes]}"
        ) from None
    return ops.broadcast_tensors(list(inputs))


def broadcast_arrays(*arrays):
    """The Variables, all broadcast to their common shape, as a list.

    Parameters
    ----------
    *arrays : Variable

    Returns
    -------
    list of Variable
        All of one shape.

    Examples
    --------
    >>> import dygraph
    >>> a, b = dygraph.broadcast_arrays(dygraph.zeros(3, 1), dygraph.zeros(2))
    >>> a.shape, b.shape
    ((3, 2), (3, 2))
    """
    return broadcast_tensors(arrays)


def repeat(x, repeats, axis=None):
    """Each element along an axis repeated several times.

    Parameters
    ----------
    x : Variable
    repeats : int, list of int or Variable
        One number for all elements, or one for each. torch's ``x.repeat`` is `tile`.
    axis : int, optional
        None: of all elements in one axis.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.repeat(dygraph.arange(3), 2).numpy().tolist()
    [0, 0, 1, 1, 2, 2]
    """
    if axis is None:
        x, axis = flatten(x), 0
    axis = check.axis(axis, x.ndim, "repeat: axis")
    if isinstance(repeats, Variable) and repeats.ndim == 1 and repeats.shape[0] != 1:
        return ops.repeat_interleave(x, repeats_tensor=repeats, dim=axis)
    counts = numbers(repeats, "repeat: repeats")
    n = x.shape[axis] if len(counts) == 1 else countable(x, axis, "repeat")
    if min(counts, default=0) < 0 or len(counts) not in (1, n):
        raise InvalidArgumentError(
            f"repeat: repeats must be a number of at least 0 or {n} of them, got {repeats}"
        )
    if len(counts) == 1:
        return ops.repeat_interleave(x, Repeats=counts[0], dim=axis)
    return ops.repeat_interleave(x, repeats_tensor=_core.literal(np.array(counts)), dim=axis)


@given_once
def repeat_interleave(x, repeats, axis=None, **spellings):
    """Each element along an axis repeated several times: `repeat`, by torch's and Paddle's name.

    Parameters
    ----------
    x : Variable
        Any shape and type.
    repeats : int, list of int or Variable
        One number for all elements, or one for each.
    axis : int, optional
        None: of all elements in one axis.

    Returns
    -------
    Variable
        The size along the axis is the sum of the repeats.

    Raises
    ------
    InvalidArgumentError
        `repeats` holds a negative number, or does not fit the axis.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.repeat_interleave(dygraph.arange(2), 2).tolist()
    [0, 0, 1, 1]
    """
    if spellings:
        (axis,) = spelled("repeat_interleave", spellings, axis=axis)
    return repeat(x, repeats, axis)
