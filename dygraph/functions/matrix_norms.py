"""Norms of vectors and matrices, ranks, and products with the standard's arguments."""

import math

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import floating
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.functions import products
from dygraph.functions.arguments import operands, spelled, widened
from dygraph.functions.decompositions import matrices, svdvals
from dygraph.functions.linear_systems import inv

ops = _core.ops
inf = math.inf
_MATRIX_ORDS = "fro", "nuc", 1, -1, 2, -2, inf, -inf


def vector_norm(x, /, ord=2, axis=None, keepdims=False, **spellings):
    """``sum(abs(x) ** ord) ** (1 / ord)`` over an axis, several, or all elements.

    Parameters
    ----------
    x : Variable
    ord : float
        0 counts the elements other than 0; ``inf`` is the greatest absolute value, ``-inf`` the
        least.
    axis : int or tuple of int, optional
        None: all elements.
    keepdims : bool
        Whether the axes stay, with size 1.
    **spellings : object
        ``dim`` and ``keepdim``.

    Returns
    -------
    Variable
        The gradient is 0 where the norm is 0.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.linalg.vector_norm(dygraph.asarray([[3.0, 4.0], [0.0, 5.0]]), axis=1).tolist()
    [5.0, 5.0]
    """
    if spellings:
        axis, keepdims = spelled("vector_norm", spellings, axis=axis, keepdims=keepdims)
    x = floating(check.variable(x, "vector_norm: x"))
    axis = list(axis) if isinstance(axis, tuple) else axis
    return products.norm(x, check.number(ord, "vector_norm: ord"), axis, bool(keepdims))


def matrix_norm(x, /, ord="fro", axis=(-2, -1), keepdims=False, **spellings):
    """The norm of matrices.

    Parameters
    ----------
    x : Variable
        At least two axes.
    ord : {'fro', 'nuc', 1, -1, 2, -2, inf, -inf}
        'fro' is the root of the sum of squares, 'nuc' the sum of the singular values, 2 the
        greatest of them and -2 the least, 1 the greatest sum of absolute values of a column and -1
        the least, ``inf`` and ``-inf`` the same of rows.
    axis : pair of int
        The axes of rows and columns.
    keepdims : bool
        Whether the axes stay, with size 1.
    **spellings : object
        ``dim`` and ``keepdim``.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.asarray([[3.0, 0.0], [0.0, 4.0]])
    >>> dygraph.linalg.matrix_norm(x).item(), dygraph.linalg.matrix_norm(x, ord="nuc").item()
    (5.0, 7.0)
    """
    if spellings:
        own = None if axis == (-2, -1) else axis
        axis, keepdims = spelled("matrix_norm", spellings, axis=own, keepdims=keepdims)
        axis = (-2, -1) if axis is None else axis
    x = matrices(x, "matrix_norm: x")
    if not (isinstance(axis, (tuple, list)) and len(axis) == 2):
        raise InvalidArgumentError(f"matrix_norm: axis must be a pair of axes, got {axis}")
    rows, columns = (check.axis(a, x.ndim, "matrix_norm: axis") for a in axis)
    if rows == columns:
        raise InvalidArgumentError(f"matrix_norm: axis must name two axes, got {axis}")
    if ord is None:
        ord = "fro"
    if isinstance(ord, bool) or ord not in _MATRIX_ORDS:
        raise InvalidArgumentError(f"matrix_norm: ord must be one of {_MATRIX_ORDS}, got {ord!r}")
    keepdims = bool(keepdims)
    if ord == "fro":
        return products.norm(x, "fro", [rows, columns], keepdims)
    rest = [a for a in range(x.ndim) if a not in (rows, columns)]
    if [*rest, rows, columns] != list(range(x.ndim)):
        x = ops.transpose2(x, axis=[*rest, rows, columns])
    out = _of_values(x, ord) if ord in ("nuc", 2, -2) else _of_sums(x, ord)
    return ops.unsqueeze2(out, axes=sorted((rows, columns))) if keepdims else out


def _of_values(x, ord):
    values = svdvals(x)
    if ord == "nuc":
        return ops.reduce_sum(values, dim=[-1])
    return (ops.reduce_max if ord == 2 else ops.reduce_min)(values, dim=[-1])


def _of_sums(x, ord):
    sums = products.norm(x, 1, -2 if abs(ord) == 1 else -1)
    return (ops.reduce_max if ord > 0 else ops.reduce_min)(sums, dim=[-1])


def norm(x, /, *places, ord=None, axis=None, keepdims=False, **spellings):
    """`vector_norm` of one axis or of all elements, `matrix_norm` of two axes.

    Parameters
    ----------
    x : Variable
    ord : float or str, optional
        None: the root of the sum of squares. It may stand second where libraries agree on what it
        means: for one axis, and for 'fro' and 'nuc'. A number for a matrix is given by name;
        Paddle's ``p`` of all elements is `vector_norm`.
    axis : int or pair of int, optional
        None: the axis of a vector, both of a matrix with `ord`, all elements without.
    keepdims : bool
        Whether the axes stay, with size 1.
    **spellings : object
        ``dim`` and ``keepdim``.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.asarray([[3.0, 0.0], [0.0, 4.0]])
    >>> dygraph.linalg.norm(x).item(), dygraph.linalg.norm(x, ord=2).item()
    (5.0, 4.0)
    """
    if spellings:
        if "p" in spellings:
            raise ArgumentTypeError(
                "norm() got Paddle's argument 'p': write ord= of an axis, "
                "dygraph.linalg.vector_norm(x, p) of all elements"
            )
        axis, keepdims = spelled("norm", spellings, axis=axis, keepdims=keepdims)
    x = floating(check.variable(x, "norm: x"))
    if len(places) > 3 or (places and ord is not None):
        raise ArgumentTypeError(
            f"norm() takes x, ord, axis and keepdims, each once, got {len(places) + 1} by position"
            + (f" and ord={ord!r}" if ord is not None else "")
        )
    if places:
        ord = places[0]
        axis = places[1] if len(places) > 1 else axis
        keepdims = places[2] if len(places) > 2 else keepdims
    two = isinstance(axis, (tuple, list)) and len(axis) == 2
    matrix = two or (axis is None and x.ndim == 2)
    if places and matrix and isinstance(ord, (int, float)):
        raise InvalidArgumentError(
            f"norm: of matrices, ord={ord} is a matrix norm in NumPy and PyTorch, a norm of all "
            f"elements in Paddle. Write ord={ord} by name, or dygraph.linalg.vector_norm(x, {ord})"
        )
    if ord is None:
        if isinstance(axis, (tuple, list)) and not two and len(axis) != 1:
            raise InvalidArgumentError(f"norm: axis must be one axis or a pair, got {axis}")
        return vector_norm(x, 2, tuple(axis) if two else axis, keepdims)
    if matrix:
        return matrix_norm(x, ord, tuple(axis) if two else (-2, -1), keepdims)
    if axis is None and x.ndim != 1:
        raise InvalidArgumentError(
            f"norm: ord needs a vector, a matrix or an axis, got shape {list(x.shape)}"
        )
    return vector_norm(x, ord, -1 if axis is None else axis, keepdims)


def cond(x, p=None, /):
    """The condition number: the norm of `x` times that of its inverse.

    Parameters
    ----------
    x : Variable
        ``[..., n, n]``; any matrix for the norms 2 and -2.
    p : {None, 2, -2, 'fro', 'nuc', 1, -1, inf, -inf}
        The norm, see `matrix_norm`; None is 2. A singular matrix raises for others than 2 and -2.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.linalg.cond(dygraph.asarray([[4.0, 0.0], [0.0, 2.0]])).item()
    2.0
    """
    x = matrices(x, "cond: x")
    if p is None or p in (2, -2):
        values = svdvals(x)
        most, least = (f(values, dim=[-1]) for f in (ops.reduce_max, ops.reduce_min))
        return least / most if p == -2 else most / least
    return matrix_norm(x, p) * matrix_norm(inv(x), p)


def matrix_rank(x, /, tol=None, hermitian=False, *, rtol=None):
    """How many singular values of each matrix are not 0.

    Parameters
    ----------
    x : Variable
        ``[..., m, n]``
    tol : float or Variable, optional
        Values of at most this count as 0; a Variable broadcasts with ``[...]``.
    hermitian : bool
        `x` is symmetric, and only its lower triangle is read.
    rtol : float or Variable, optional
        The same relative to the greatest value; by default the spacing of the type times
        ``max(m, n)``.

    Returns
    -------
    Variable
        ``[...]``, int64.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.linalg.matrix_rank(dygraph.asarray([[1.0, 2.0], [2.0, 4.0]])).item()
    1
    """
    x = matrices(x, "matrix_rank: x")
    hermitian = check.flag(hermitian, "matrix_rank: hermitian")
    if tol is not None and rtol is not None:
        raise InvalidArgumentError("matrix_rank: give tol or rtol, got both")
    if tol is None and rtol is None:
        return ops.matrix_rank(x, hermitian=hermitian).astype("int64")
    if rtol is not None:
        values = ops.abs(ops.eigvalsh(x)) if hermitian else svdvals(x)
        if not isinstance(rtol, _core.Variable):
            rtol = check.number(rtol, "matrix_rank: rtol", 0)
        tol = ops.reduce_max(values, dim=[-1]) * rtol
    elif not isinstance(tol, _core.Variable):
        tol = check.number(tol, "matrix_rank: tol", 0)
        out = ops.matrix_rank(x, hermitian=hermitian, tol=tol, use_default_tol=False)
        return out.astype("int64")
    out = ops.matrix_rank(
        x, hermitian=hermitian, use_default_tol=False, tol_tensor=tol.astype(x.dtype)
    )
    return out.astype("int64")


def cross(x1, x2, /, *, axis=-1):
    """The vector product along an axis of three elements.

    >>> import dygraph
    >>> x, y = dygraph.asarray([1.0, 0.0, 0.0]), dygraph.asarray([0.0, 1.0, 0.0])
    >>> dygraph.linalg.cross(x, y).tolist()
    [0.0, 0.0, 1.0]
    """
    x1, x2 = operands("cross", x1, x2)
    at = check.axis(axis, min(x1.ndim, x2.ndim), "cross: axis")
    if x1.ndim == x2.ndim and list(x1.shape) == list(x2.shape):
        return widened(lambda x, y: ops.cross(x, y, dim=at), x1, x2)
    from dygraph.functions.extent import broadcast_arrays

    x1, x2 = broadcast_arrays(x1, x2)
    at = check.axis(axis, x1.ndim, "cross: axis")
    return widened(lambda x, y: ops.cross(x, y, dim=at), x1, x2)


def outer(x1, x2, /):
    """``out[i, j] = x1[i] * x2[j]`` of two vectors.

    >>> import dygraph
    >>> dygraph.linalg.outer(dygraph.asarray([1, 2]), dygraph.asarray([1, 10])).tolist()
    [[1, 10], [2, 20]]
    """
    x1, x2 = operands("outer", x1, x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise InvalidArgumentError(
            f"outer: x1 and x2 must be vectors, got shapes {list(x1.shape)} and {list(x2.shape)}. "
            "dygraph.outer flattens them"
        )
    return products.outer(x1, x2)


def diagonal(x, /, *, offset=0):
    """The diagonals of matrices, with gradients.

    Parameters
    ----------
    x : Variable
        ``[..., m, n]``
    offset : int
        Which diagonal; above the main one positive.

    Returns
    -------
    Variable
        ``[..., elements of the diagonal]``

    Examples
    --------
    >>> import dygraph
    >>> dygraph.linalg.diagonal(dygraph.asarray([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    if check.variable(x, "diagonal: x").ndim < 2:
        raise InvalidArgumentError(f"diagonal: x must have two axes, got shape {list(x.shape)}")
    offset = check.integer(offset, "diagonal: offset")
    return ops.diagonal(x, offset=offset, axis1=-2, axis2=-1)


def trace(x, /, *, offset=0, dtype=None):
    """The sum of a diagonal of each matrix.

    >>> import dygraph
    >>> dygraph.linalg.trace(dygraph.asarray([[1, 2], [3, 4]])).item()
    5
    """
    from dygraph.functions import reductions

    return reductions.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)
