"""Systems of equations: what `dygraph.linalg` has of solving, inverses, determinants, powers."""

from typing import NamedTuple

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.functions.arguments import operands
from dygraph.functions.decompositions import matrices

ops = _core.ops
Variable = _core.Variable


class LstsqResult(NamedTuple):
    solution: Variable
    residuals: Variable
    rank: Variable
    singular_values: Variable


class SlogdetResult(NamedTuple):
    sign: Variable
    logabsdet: Variable


def _pair(owner, x1, x2):
    x1, x2 = operands(owner, x1, x2)
    return matrices(x1, f"{owner}: x1"), x2 if x2.dtype.is_floating else x2.astype(x1.dtype)


def solve(x1, x2, /):
    """The `x` with ``x1 @ x = x2``.

    Parameters
    ----------
    x1 : Variable
        ``[..., n, n]``
    x2 : Variable
        ``[..., n, k]``, whose leading axes broadcast with those of `x1`; or one vector, ``[n]``.
        Where ``[..., n]`` could be vectors or a matrix, which libraries read in different ways, it
        raises: ``dygraph.unsqueeze(x2, -1)`` says vectors.

    Returns
    -------
    Variable
        ``[..., n, k]``, or ``[..., n]`` for a vector.

    Raises
    ------
    InvalidArgumentError
        A matrix is singular; the message says which.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.asarray([[2.0, 0.0], [0.0, 4.0]])
    >>> dygraph.linalg.solve(x, dygraph.asarray([2.0, 8.0])).tolist()
    [1.0, 2.0]
    """
    x1, x2 = _pair("solve", x1, x2)
    if x2.ndim == 1 and x1.ndim > 2:
        return ops.squeeze2(ops.solve(x1, ops.unsqueeze2(x2, axes=[-1])), axes=[-1])
    return ops.solve(x1, x2)


def solve_triangular(x1, x2, /, *, upper, transpose=False, unitriangular=False):
    """The `x` with ``x1 @ x = x2`` for triangular `x1`, of which only that triangle is read.

    Parameters
    ----------
    x1 : Variable
        ``[..., n, n]``
    x2 : Variable
        ``[..., n, k]``; leading axes broadcast.
    upper : bool
        Whether `x1` is upper triangular; otherwise lower. It has no default, since SciPy's differs
        from Paddle's.
    transpose : bool
        Solve with ``x1.mT``.
    unitriangular : bool
        Take the diagonal to be 1, without reading it.

    Returns
    -------
    Variable
        ``[..., n, k]``

    Raises
    ------
    InvalidArgumentError
        An element of the diagonal is 0.

    Examples
    --------
    >>> import dygraph
    >>> x, y = dygraph.asarray([[2.0, 1.0], [0.0, 4.0]]), dygraph.asarray([[4.0], [8.0]])
    >>> dygraph.linalg.solve_triangular(x, y, upper=True).tolist()
    [[1.0], [2.0]]
    """
    x1, x2 = _pair("solve_triangular", x1, x2)
    return ops.triangular_solve(
        x1,
        x2,
        upper=check.flag(upper, "solve_triangular: upper"),
        transpose=check.flag(transpose, "solve_triangular: transpose"),
        unitriangular=check.flag(unitriangular, "solve_triangular: unitriangular"),
    )


def triangular_solve(x, y, upper=True, transpose=False, unitriangular=False):
    """`solve_triangular` as Paddle writes it.

    >>> import dygraph
    >>> x, y = dygraph.asarray([[2.0, 1.0], [0.0, 4.0]]), dygraph.asarray([[4.0], [8.0]])
    >>> dygraph.linalg.triangular_solve(x, y).tolist()
    [[1.0], [2.0]]
    """
    return solve_triangular(x, y, upper=upper, transpose=transpose, unitriangular=unitriangular)


def cholesky_solve(x, y, upper=False):
    """The `z` with ``y @ y.mT @ z = x``: the system whose Cholesky factor is `y`.

    Parameters
    ----------
    x : Variable
        ``[..., n, k]``
    y : Variable
        ``[..., n, n]``, lower triangular; leading axes broadcast.
    upper : bool
        `y` is upper triangular, and the system's matrix ``y.mT @ y``.

    Returns
    -------
    Variable
        ``[..., n, k]``

    Examples
    --------
    >>> import dygraph
    >>> x, y = dygraph.asarray([[8.0], [14.0]]), dygraph.asarray([[2.0, 0.0], [1.0, 2.0]])
    >>> dygraph.linalg.cholesky_solve(x, y).tolist()
    [[0.75], [2.5]]
    """
    y, x = _pair("cholesky_solve", y, x)
    return ops.cholesky_solve(x, y, upper=check.flag(upper, "cholesky_solve: upper"))


def lstsq(x1, x2, /, rcond=None, *, driver="gelsd"):
    """The `x` of least norm that makes ``norm(x1 @ x - x2)`` least, for each column of `x2`.

    Parameters
    ----------
    x1 : Variable
        ``[..., m, n]``; without NaN and infinity.
    x2 : Variable
        ``[..., m, k]`` with the leading axes of `x1`; or one vector, ``[m]``, beside one matrix.
    rcond : float, optional
        Singular values of at most this times the greatest count as 0; None: the spacing of the type
        times ``max(m, n)``.
    driver : {'gelsd', 'gelsy', 'gelss', 'gels'}
        LAPACK's routine. 'gels' takes `x1` to have full rank.

    Returns
    -------
    LstsqResult
        ``solution`` of ``[..., n, k]``, ``residuals`` of ``[..., k]`` (sums of squares; empty
        unless ``m > n``), ``rank`` and ``singular_values``, which some drivers leave empty.
        Gradients flow through ``solution``.

    Examples
    --------
    >>> import dygraph
    >>> x, y = dygraph.asarray([[1.0], [1.0]]), dygraph.asarray([1.0, 3.0])
    >>> round(dygraph.linalg.lstsq(x, y).solution.item(), 4)
    2.0
    """
    x1, x2 = _pair("lstsq", x1, x2)
    rcond = -1.0 if rcond is None else check.number(rcond, "lstsq: rcond", 0)
    check.choice(driver, ("gelsd", "gelsy", "gelss", "gels"), "lstsq: driver")
    vector = x2.ndim == 1 and x1.ndim == 2
    if vector:
        x2 = ops.unsqueeze2(x2, axes=[-1])
    solution, *others = ops.lstsq(x1, x2, rcond=rcond, driver=driver)
    return LstsqResult(ops.squeeze2(solution, axes=[-1]) if vector else solution, *others)


def inv(x, /):
    """The inverse of square matrices; one that is singular raises, and the message says which.

    >>> import dygraph
    >>> dygraph.linalg.inv(dygraph.asarray([[4.0]])).tolist()
    [[0.25]]
    """
    return ops.inverse(matrices(x, "inv: x"))


def pinv(x, /, rtol=None, hermitian=False, *, rcond=None):
    """The pseudo-inverse of matrices, by their singular values.

    Parameters
    ----------
    x : Variable
        ``[..., m, n]``; without NaN and infinity.
    rtol : float, optional
        Singular values of at most this times the greatest count as 0; None: the spacing of the type
        times ``max(m, n)``.
    hermitian : bool
        `x` is symmetric, and only its lower triangle is read.
    rcond : float, optional
        NumPy's and Paddle's name of `rtol`.

    Returns
    -------
    Variable
        ``[..., n, m]``. The gradient takes the rank as fixed.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.linalg.pinv(dygraph.asarray([[2.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    x = matrices(x, "pinv: x")
    if rcond is not None and rtol is not None:
        raise InvalidArgumentError(
            f"pinv: give rtol or rcond, two names of one number, got {rtol} and {rcond}"
        )
    rtol = rcond if rtol is None else rtol
    if check.flag(hermitian, "pinv: hermitian"):
        lower = ops.tril_triu(x, diagonal=-1)
        x = ops.tril_triu(x) + ops.einsum([lower], equation="...ij->...ji")
    return ops.pinv(x, rcond=-1.0 if rtol is None else check.number(rtol, "pinv: rtol", 0))


def det(x, /):
    """The determinant of square matrices. The gradient of a singular one raises.

    >>> import dygraph
    >>> dygraph.linalg.det(dygraph.asarray([[1.0, 2.0], [3.0, 4.0]])).item()
    -2.0
    """
    return ops.determinant(matrices(x, "det: x"))


def slogdet(x, /):
    """The sign of the determinant, and the logarithm of its absolute value.

    Returns
    -------
    SlogdetResult
        ``sign`` and ``logabsdet``, ``[...]`` each; 0 and -infinity for a singular matrix.

    Examples
    --------
    >>> import dygraph
    >>> [v.item() for v in dygraph.linalg.slogdet(dygraph.asarray([[0.0, 1.0], [1.0, 0.0]]))]
    [-1.0, 0.0]
    """
    both = ops.slogdeterminant(matrices(x, "slogdet: x"))
    return SlogdetResult(both[0], both[1])


def matrix_power(x, n, /):
    """The matrix product of `n` factors `x`; powers of the inverse for a negative `n`.

    >>> import dygraph
    >>> dygraph.linalg.matrix_power(dygraph.asarray([[1.0, 1.0], [0.0, 1.0]]), 3).tolist()
    [[1.0, 3.0], [0.0, 1.0]]
    """
    bounds = -(2**31), 2**31 - 1
    return ops.matrix_power(
        matrices(x, "matrix_power: x"), n=check.integer(n, "matrix_power: n", *bounds)
    )


def matrix_exp(x, /):
    """The exponential of square matrices, ``I + x + x @ x / 2 + ...``.

    >>> import dygraph
    >>> dygraph.linalg.matrix_exp(dygraph.asarray([[0.0, 1.0], [0.0, 0.0]])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return ops.matrix_exp(matrices(x, "matrix_exp: x"))


def multi_dot(arrays, /):
    """The matrix product of several matrices, in the order of least work.

    Parameters
    ----------
    arrays : list of Variable
        Two or more, ``[m, n]``; the first and the last may be vectors.

    Returns
    -------
    Variable
        ``[rows of the first, columns of the last]``

    Examples
    --------
    >>> import dygraph
    >>> x, y = dygraph.asarray([[1.0, 2.0]]), dygraph.asarray([[3.0], [4.0]])
    >>> dygraph.linalg.multi_dot([x, y, x]).tolist()
    [[11.0, 22.0]]
    """
    return ops.multi_dot(list(arrays))
