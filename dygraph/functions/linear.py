"""Products of matrices and sums of products over axes."""

import math
import operator

from dygraph import _core
from dygraph.core import check, size_lists
from dygraph.errors import InvalidArgumentError
from dygraph.functions.arguments import given_once, operands, spelled, widened
from dygraph.functions.complex_numbers import conj

ops = _core.ops
Variable = _core.Variable


def _matmul(x1, x2, /, **transposed):
    """The matrix product ``x1 @ x2``; axes before the last two are stacks and broadcast.

    Parameters
    ----------
    x1, x2 : Variable
        One with one axis is a row on the left and a column on the right.
    **transposed : bool
        ``transpose_x``, ``transpose_y``: exchange the last two axes of `x1` or `x2` first.

    Returns
    -------
    Variable

    Raises
    ------
    InvalidArgumentError
        For shapes that do not fit, and an operand without axes.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> dygraph.matmul(x, x).tolist()
    [[7.0, 10.0], [15.0, 22.0]]
    """
    x1, x2 = operands("matmul", x1, x2)
    if not transposed:
        return widened(operator.matmul, x1, x2)
    names = {name.replace("transpose_", "trans_"): bool(v) for name, v in transposed.items()}
    return ops.matmul_v2(x1, x2, **names)


_matmul.__name__ = _matmul.__qualname__ = "matmul"
matmul = _core.quick_function("(x1, x2, /, **transposed)", "matmul_v2", _matmul)


def matrix_transpose(x, /):
    """The matrices of the last two axes transposed.

    Parameters
    ----------
    x : Variable
        ``[..., m, n]``

    Returns
    -------
    Variable
        ``[..., n, m]``

    Examples
    --------
    >>> import dygraph
    >>> dygraph.matrix_transpose(dygraph.zeros(2, 3, 4)).shape
    (2, 4, 3)
    """
    rank = check.variable(x, "matrix_transpose: x").ndim
    if rank < 2:
        raise InvalidArgumentError(
            f"matrix_transpose: x must have two axes, got shape {list(x.shape)}"
        )
    return ops.transpose2(x, axis=[*range(rank - 2), rank - 1, rank - 2])


@given_once
def tensordot(x1, x2, /, axes=2, **spellings):
    """The sums of products over axes of both.

    Parameters
    ----------
    x1, x2 : Variable
    axes : int or pair of lists of int
        How many: the last of `x1` with the first of `x2`. Or which: of `x1`, and of `x2`.
    **spellings : object
        ``dims``, another name of `axes`.

    Returns
    -------
    Variable
        With the other axes of `x1`, then those of `x2`.

    Raises
    ------
    InvalidArgumentError
        For axes of different sizes.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.tensordot(dygraph.ones(2, 3), dygraph.ones(3, 4), axes=1).shape
    (2, 4)
    """
    if spellings:
        (axes,) = spelled("tensordot", spellings, axes=axes)
    x1, x2 = operands("tensordot", x1, x2)
    if hasattr(axes, "__len__"):
        left, right = (list(i) if hasattr(i, "__len__") else [i] for i in axes)
    else:
        count = check.integer(axes, "tensordot: axes", 0, min(x1.ndim, x2.ndim))
        left, right = list(range(x1.ndim - count, x1.ndim)), list(range(count))
    left = [check.axis(i, x1.ndim, "tensordot: an axis of x1") for i in left]
    right = [check.axis(i, x2.ndim, "tensordot: an axis of x2") for i in right]
    sizes = [[check.known_size(x, i, "tensordot") for i in range(x.ndim)] for x in (x1, x2)]
    if [sizes[0][i] for i in left] != [sizes[1][i] for i in right]:
        raise InvalidArgumentError(
            f"tensordot: the axes {left} of shape {list(x1.shape)} and {right} of shape "
            f"{list(x2.shape)} must have equal sizes"
        )
    rows = [i for i in range(x1.ndim) if i not in left]
    columns = [i for i in range(x2.ndim) if i not in right]
    inner = math.prod(sizes[0][i] for i in left)
    shape = [sizes[0][i] for i in rows] + [sizes[1][i] for i in columns]

    def compute(x, y):
        from dygraph.core.index_arrays import reshaped

        x = reshaped(_ordered(x, rows + left), [math.prod(shape[: len(rows)]), inner])
        y = reshaped(_ordered(y, right + columns), [inner, math.prod(shape[len(rows) :])])
        return reshaped(ops.matmul_v2(x, y), shape)

    return widened(compute, x1, x2)


def _ordered(x, axes):
    return ops.transpose2(x, axis=axes) if axes else x


def vecdot(x1, x2, /, *, axis=-1):
    """The sums of ``x1 * x2`` along an axis; the other axes broadcast.

    Parameters
    ----------
    x1, x2 : Variable
        Their shapes broadcast.
    axis : int
        The axis that the sums take away.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.vecdot(dygraph.asarray([[1, 2], [3, 4]]), dygraph.asarray([1, 10])).tolist()
    [21, 43]
    """
    x1, x2 = operands("vecdot", x1, x2)
    x1 = conj(x1)
    least = min(x1.ndim, x2.ndim)
    axis = check.integer(axis, "vecdot: axis")
    if axis >= 0 and x1.ndim == x2.ndim:
        axis -= least
    check.axis(axis, least, "vecdot: axis")
    rule = f"vecdot: axis {axis} must have one size, got shapes {list(x1.shape)}, {list(x2.shape)}"
    if x1.shape[axis] != x2.shape[axis]:
        raise InvalidArgumentError(rule)
    if any(size_lists.is_open(x) and _core.dims(x)[axis] == -1 for x in (x1, x2)):
        raise check.open_size(rule, "Declare the size of this axis", InvalidArgumentError)
    return widened(
        lambda x, y: ops.reduce_sum(ops.elementwise_mul(x, y), dim=[axis], keep_dim=False), x1, x2
    )
