"""Where elements stand, and elements at given places."""

import numpy as np

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.functions.arguments import (
    USUAL,
    given_once,
    operands,
    spelled,
    widened,
)

ops = _core.ops
Variable = _core.Variable


# Types that the operators lack, by one in which the order is the same.
_COMPARED = {
    "bool": "int32", "int8": "int32", "int16": "int32", "uint8": "int32", "float16": "float32",
    "bfloat16": "float32",
}  # fmt: skip


def _position(name, operator, which):
    op, what, its_axis = getattr(ops, operator), f"{name}: x", f"{name}: axis"

    @given_once
    def function(x, axis=None, keepdims=False, **spellings):
        if spellings:
            axis, keepdims = spelled(name, spellings, axis=axis, keepdims=keepdims)
        if type(keepdims) is not bool:
            keepdims = check.flag(keepdims, f"{name}: keepdims")
        dtype = check.variable(x, what).dtype
        if dtype not in USUAL and dtype.name in _COMPARED:
            x = x.astype(_COMPARED[dtype.name])
        if axis is None:
            return op(x, flatten=True, keepdims=keepdims)
        if not _core.holds_symbol(axis):
            axis = check.axis(axis, x.ndim, its_axis)
        return op(x, axis=axis, keepdims=keepdims)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The index of the {which} element along `axis`, the first of equal ones.

    Parameters
    ----------
    x : Variable
        A NaN counts as the {which}.
    axis : int, optional
        None: in all elements, flattened.
    keepdims : bool
        True: the axis stays in the shape with size 1.

    Returns
    -------
    Variable
        int64.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.{name}(dygraph.asarray([[1, 9], [8, 0]]), axis=1).tolist()
    {[1, 0] if name == "argmax" else [0, 1]}
    """
    return function


argmax = _position("argmax", "arg_max", "greatest")
argmin = _position("argmin", "arg_min", "least")


class Places(tuple):
    """What `nonzero` gives: the indices along each axis. A use of torch's matrix says how."""

    __slots__ = ()

    def __getitem__(self, index):
        if isinstance(index, tuple):
            raise ArgumentTypeError(f"nonzero(x)[...] takes one number. {_MATRIX}")
        return tuple.__getitem__(self, index)

    def __getattr__(self, name):
        if name.startswith("__") or not hasattr(Variable, name):
            return object.__getattribute__(self, name)  # raises Python's error
        raise AttributeError(f"nonzero(x) is a tuple and has no attribute '{name}'. {_MATRIX}")


_MATRIX = (
    "It holds the indices along each axis, as in NumPy; dygraph.nonzero(x, as_tuple=False) gives "
    "one matrix, as torch and Paddle do"
)


def nonzero(x, /, *, as_tuple=None):
    """The places of the elements that are not 0 or False: the indices along each axis.

    Parameters
    ----------
    x : Variable
    as_tuple : bool, optional
        False: one Variable, ``[places, axes]``, as torch and Paddle give by default. True is
        refused, for which torch gives vectors and Paddle columns.

    Returns
    -------
    tuple of Variable
        int64, so that ``x[dygraph.nonzero(x)]`` is these elements.

    Examples
    --------
    >>> import dygraph
    >>> rows, columns = dygraph.nonzero(dygraph.asarray([[0, 7], [8, 0]]))
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [1, 0])
    """
    if check.variable(x, "nonzero: x").ndim == 0:
        raise InvalidArgumentError("nonzero: x must have an axis, got a 0-d Variable")
    if as_tuple:
        raise InvalidArgumentError(
            "nonzero: with as_tuple=True torch gives vectors and Paddle columns. "
            "dygraph.nonzero(x) gives a tuple of vectors, as_tuple=False one matrix"
        )
    places = ops.where_index(x)
    if as_tuple is not None:
        return places
    return Places(places[:, axis] for axis in range(x.ndim))


def searchsorted(x1, x2, /, *, side="left", sorter=None, right=False, out_int32=False):
    """Where the elements of `x2` would stand in `x1`, which ascends along its last axis.

    Parameters
    ----------
    x1 : Variable
        ``[n]``, or ``[..., n]`` for a row of its own for each row of `x2`.
    x2 : Variable or number
        Any shape; ``[..., m]`` where `x1` has several axes.
    side : {'left', 'right'}
        Before or behind equal elements.
    sorter : Variable, optional
        The indices that sort `x1`, where it is in another order.
    right : bool, default False
        True: ``side='right'``, by torch's and Paddle's name.
    out_int32 : bool, default False
        True: int32 places.

    Returns
    -------
    Variable
        int64, in the shape of `x2`. No gradient. A NaN counts as the greatest.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.searchsorted(dygraph.asarray([1, 3, 5]), dygraph.asarray([3, 4])).tolist()
    [1, 2]
    """
    check.choice(side, ("left", "right"), "searchsorted: side")
    right = check.flag(right, "searchsorted: right") or side == "right"
    x1, x2 = (v.detach() for v in operands("searchsorted", x1, x2))
    if x1.dtype not in USUAL and x1.dtype.name in _COMPARED:
        x1, x2 = (v.astype(_COMPARED[x1.dtype.name]) for v in (x1, x2))
    if sorter is not None:
        x1 = take_along_axis(x1, check.variable(sorter, "searchsorted: sorter"))
    out_int32 = check.flag(out_int32, "searchsorted: out_int32")
    return ops.searchsorted(x1, x2, right=right, out_int32=out_int32)


def take(x, indices, /, *, axis=None):
    """The elements or slices of `x` at given indices along an axis.

    Parameters
    ----------
    x : Variable
    indices : Variable of integers
        A negative one counts from the end.
    axis : int, optional
        May be left out for one axis.

    Returns
    -------
    Variable
        The type of `x`.

    Raises
    ------
    InvalidArgumentError
        Without an axis where there are several.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.asarray([[1, 2, 3], [4, 5, 6]])
    >>> dygraph.take(x, dygraph.asarray([2, 0]), axis=1).tolist()
    [[3, 1], [6, 4]]
    """
    rank = check.variable(x, "take: x").ndim
    if not isinstance(indices, Variable):
        indices = np.asarray(indices)
    if indices.dtype in ("bool", _core.bool_):
        raise ArgumentTypeError("take: indices must be integers, got bools. x[mask] takes elements")
    if axis is None and rank != 1:
        raise InvalidArgumentError(
            f"take: axis must be given for {rank} axes. x.flatten() makes one of them"
        )
    axis = 0 if axis is None else check.axis(axis, rank, "take: axis")
    return x[(*(slice(None),) * axis, indices)]


def take_along_axis(x, indices, axis=-1):
    """The elements of `x` along `axis` at the index that each element of `indices` gives.

    Parameters
    ----------
    x : Variable
    indices : Variable of integers
        As many axes as `x`; the others broadcast. A negative place counts from the end.
    axis : int

    Returns
    -------
    Variable
        The shape of `indices` and the type of `x`.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.asarray([[3, 1], [2, 4]])
    >>> dygraph.take_along_axis(x, dygraph.argsort(x), axis=1).tolist()
    [[1, 3], [2, 4]]
    """
    rank = check.variable(x, "take_along_axis: x").ndim
    axis = check.axis(axis, rank, "take_along_axis: axis")
    if check.variable(indices, "take_along_axis: indices").ndim != rank:
        raise InvalidArgumentError(
            f"take_along_axis: indices must have {rank} axes, as x, got shape {list(indices.shape)}"
        )
    n = x.shape[axis]
    if indices.dtype.name not in ("int32", "int64"):
        indices = indices.astype("int64")
    indices = ops.where(indices < 0, indices + n, indices)
    sizes = [check.known_size(v, i, "take_along_axis") for v in (x, indices) for i in range(rank)]
    if sizes[:rank] != sizes[rank:]:
        sizes = [sizes[:rank], sizes[rank:]]
        common = [
            None if i == axis else max(a, b) if a and b else 0
            for i, (a, b) in enumerate(zip(*sizes, strict=True))
        ]
        x, indices = (
            ops.expand_v2(v, shape=[size[i] if c is None else c for i, c in enumerate(common)])
            for v, size in zip((x, indices), sizes, strict=True)
        )
    return widened(lambda x: ops.take_along_axis(x, indices, Axis=axis), x)


def index_add(x, axis, index, source, *, alpha=1):
    """`x` with the slices of `source` added to those at `index` along `axis`.

    Slices of the same place add up, in order. torch's order, ``(x, axis, index, source)``, and
    Paddle's, ``(x, index, axis, source)``, both work: an int is the axis.

    Parameters
    ----------
    x : Variable
    axis : int
    index : Variable of integers
        ``[n]``, one place for each slice.
    source : Variable
        As `x`, with n slices along `axis`.
    alpha : float
        A factor of `source`.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes that do not fit.
    OutOfRangeError
        (an IndexError) for a place that `x` does not have.

    Examples
    --------
    >>> import dygraph
    >>> rows = dygraph.to_variable([[1.0, 2.0], [3.0, 4.0]])
    >>> dygraph.index_add(dygraph.zeros(2, 2), 0, dygraph.to_variable([1, 1]), rows).tolist()
    [[0.0, 0.0], [4.0, 6.0]]
    """
    if isinstance(axis, Variable) and not isinstance(index, Variable):
        axis, index = index, axis
    axis = check.axis(axis, check.variable(x, "index_add: x").ndim, "index_add: axis")
    check.variable(index, "index_add: index")
    wanted = [*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]]
    given = list(check.variable(source, "index_add: source").shape)
    fits = len(wanted) == len(given) and all(map(check.may_be_equal, wanted, given))
    if index.ndim != 1 or not fits:
        raise InvalidArgumentError(
            f"index_add: index must be [n] and source as x with n along axis {axis}, got x "
            f"{list(x.shape)}, index {list(index.shape)} and source {given}"
        )
    return ops.index_add(x, index, source if alpha == 1 else source * alpha, axis=axis)
