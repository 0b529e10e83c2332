"""Diagonals and triangles of matrices, by their elements and by their places."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.functions import manipulation

__all__ = ["diagonal", "rot90", "tril_indices", "triu_indices"]

ops = _core.ops


def diagonal(x, offset=0, axis1=0, axis2=1, **spellings):
    """A diagonal of each matrix that two axes make, along a last axis. Gradients flow through it.

    Parameters
    ----------
    x : Variable
        At least two axes.
    offset : int, default 0
        Which diagonal; above the main one positive.
    axis1, axis2 : int
        The axes of the rows and of the columns, by default the first two.
    **spellings : int
        ``dim1`` and ``dim2``, other names of the axes.

    Returns
    -------
    Variable
        The other axes of `x`, and the elements of the diagonal.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[1, 2, 3], [4, 5, 6]])
    >>> dygraph.diagonal(x).tolist(), dygraph.diagonal(x, 1).tolist()
    ([1, 5], [2, 6])
    """
    axis1, axis2 = spellings.pop("dim1", axis1), spellings.pop("dim2", axis2)
    if spellings:
        raise ArgumentTypeError(f"diagonal() got an unexpected argument '{min(spellings)}'")
    if check.variable(x, "diagonal: x").ndim < 2:
        raise InvalidArgumentError(f"diagonal: x must have two axes, got shape {list(x.shape)}")
    return ops.diagonal(
        x,
        offset=check.integer(offset, "diagonal: offset"),
        axis1=check.axis(axis1, x.ndim, "diagonal: axis1"),
        axis2=check.axis(axis2, x.ndim, "diagonal: axis2"),
    )


def _triangle(name, side, result, run):
    def function(row, *places, col=None, offset=0, dtype="int64"):
        if places:
            raise ArgumentTypeError(
                f"{name}() takes further arguments by name: torch and Paddle have the columns in "
                f"second place, NumPy the diagonal. Write {name}(n, col=m, offset=k)"
            )
        row = check.integer(row, f"{name}: row", 0)
        col = row if col is None else check.integer(col, f"{name}: col", 0)
        return run(row, col, offset=check.integer(offset, f"{name}: offset"), dtype=dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The places of the elements on and {side} a diagonal of a matrix.

    Parameters
    ----------
    row : int
        The number of rows.
    *places : object
        Refused: the other arguments have names.
    col : int, optional
        The number of columns. None: as many as rows.
    offset : int, default 0
        Which diagonal; above the main one positive.
    dtype : str or dtype, default 'int64'
        'int32' or 'int64'.

    Returns
    -------
    Variable
        ``[2, elements]``: their rows and their columns, so that ``x[tuple(places)]`` takes them.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.{name}(2).tolist()
    {result}
    """
    return function


tril_indices = _triangle(
    "tril_indices",
    "below",
    "[[0, 1, 1], [0, 0, 1]]",
    lambda row, col, **attrs: ops.tril_indices(rows=row, cols=col, **attrs),
)
triu_indices = _triangle(
    "triu_indices",
    "above",
    "[[0, 0, 1], [0, 1, 1]]",
    lambda row, col, **attrs: ops.triu_indices(row=row, col=col, **attrs),
)


def rot90(x, k=1, axes=(0, 1)):
    """`x` turned by `k` quarter turns, from the first of two axes to the second.

    Parameters
    ----------
    x : Variable
        At least two axes.
    k : int, default 1
        The number of quarter turns; negative ones turn back.
    axes : list of int
        The plane, by default the first two axes.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.rot90(dygraph.to_variable([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
    rank, k = check.variable(x, "rot90: x").ndim, check.integer(k, "rot90: k") % 4
    first, second = _plane(axes, rank)
    if k == 0:
        return ops.assign(x)
    if k == 2:
        return ops.flip(x, dims=[first, second])
    if k == 1:
        return manipulation.swapaxes(ops.flip(x, dims=[second]), first, second)
    return ops.flip(manipulation.swapaxes(x, first, second), dims=[second])


def _plane(axes, rank):
    axes = [check.axis(a, rank, "rot90: axes") for a in check.axes(axes)]
    if len(axes) != 2 or axes[0] == axes[1]:
        raise InvalidArgumentError(f"rot90: axes must be two, got {axes}")
    return axes
