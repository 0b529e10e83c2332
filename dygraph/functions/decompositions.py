"""Factors of matrices: what `dygraph.linalg` has of svd, qr, eigenvalues, Cholesky and LU."""

from typing import NamedTuple

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import floating
from dygraph.errors import InvalidArgumentError

ops = _core.ops
Variable = _core.Variable


class EigResult(NamedTuple):
    eigenvalues: Variable
    eigenvectors: Variable


class EighResult(NamedTuple):
    eigenvalues: Variable
    eigenvectors: Variable


class LUResult(NamedTuple):
    P: Variable
    L: Variable
    U: Variable


class LUFactorResult(NamedTuple):
    LU: Variable
    pivots: Variable


class QRResult(NamedTuple):
    Q: Variable
    R: Variable


class SVDResult(NamedTuple):
    U: Variable
    S: Variable
    Vh: Variable


def matrices(x, what):
    """`x` in a float type; InvalidArgumentError where it has fewer than two axes."""
    if check.variable(x, what).ndim < 2:
        raise InvalidArgumentError(
            f"{what} must be a matrix or a stack of matrices, [..., m, n], got shape "
            f"{list(x.shape)}"
        )
    return floating(x)


def cholesky(x, /, upper=False):
    """The lower triangular `L` with positive diagonal and ``x = L @ L.mT``.

    Parameters
    ----------
    x : Variable
        ``[..., n, n]``, symmetric and positive definite. Only the lower triangle is read, or the
        upper one with `upper`; the gradient is symmetric.
    upper : bool
        Give the upper triangular `U` with ``x = U.mT @ U``.

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    InvalidArgumentError
        A matrix is not positive definite; the message says which.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.linalg.cholesky(dygraph.asarray([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    return ops.cholesky(matrices(x, "cholesky: x"), upper=check.flag(upper, "cholesky: upper"))


def _triangle(UPLO, owner):
    check.choice(UPLO, ("L", "U", "l", "u"), f"{owner}: UPLO")
    return UPLO.upper()


def eigh(x, /, UPLO="L"):
    """Ascending eigenvalues and the eigenvectors of symmetric matrices: ``x @ V = V * w``.

    A sign is free for each vector, and gradients are right for results that do not depend on it.
    Where eigenvalues are equal, the gradient of the vectors is infinite or NaN, as in PyTorch.

    Parameters
    ----------
    x : Variable
        ``[..., n, n]``; without NaN and infinity.
    UPLO : {'L', 'U'}
        The triangle that is read, lower or upper.

    Returns
    -------
    EighResult
        ``eigenvalues`` of ``[..., n]``, and ``eigenvectors``, the columns of ``[..., n, n]``.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.linalg.eigh(dygraph.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
    [1.0, 2.0]
    """
    return EighResult(*ops.eigh(matrices(x, "eigh: x"), UPLO=_triangle(UPLO, "eigh")))


def eigvalsh(x, /, UPLO="L"):
    """The eigenvalues of symmetric matrices, ascending; see `eigh`. Equal ones have gradients.

    >>> import dygraph
    >>> dygraph.linalg.eigvalsh(dygraph.asarray([[2.0, 0.0], [0.0, 1.0]])).tolist()
    [1.0, 2.0]
    """
    return ops.eigvalsh(matrices(x, "eigvalsh: x"), UPLO=_triangle(UPLO, "eigvalsh"))


def eig(x, /):
    """Eigenvalues and eigenvectors of any square matrices: ``x @ V = V * w``, complex.

    The order is LAPACK's. A factor of absolute value 1 is free for each vector, and gradients are
    right for results that do not depend on it. Where eigenvalues are equal, the gradient of the
    vectors is infinite or NaN, as in PyTorch. For symmetric matrices `eigh` is faster, and real.

    Parameters
    ----------
    x : Variable
        ``[..., n, n]``, real; without NaN and infinity.

    Returns
    -------
    EigResult
        ``eigenvalues`` of ``[..., n]``, and ``eigenvectors`` of length 1, the columns of
        ``[..., n, n]``.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.linalg.eig(dygraph.asarray([[0.0, -1.0], [1.0, 0.0]])).eigenvalues.tolist()
    [1j, -1j]
    """
    return EigResult(*ops.eig(matrices(x, "eig: x")))


def eigvals(x, /):
    """The eigenvalues of any square matrices, complex; see `eig`.

    >>> import dygraph
    >>> dygraph.linalg.eigvals(dygraph.asarray([[0.0, -1.0], [1.0, 0.0]])).tolist()
    [1j, -1j]
    """
    return ops.eigvals(matrices(x, "eigvals: x"))


def lu(x, /, *, pivot=True):
    """``x = P @ L @ U``: a permutation, a lower triangle with ones on its diagonal, an upper one.

    Paddle's ``lu`` gives the packed form: `lu_factor`.

    Parameters
    ----------
    x : Variable
        ``[..., m, n]``
    pivot : bool
        Exchange rows; it must be True.

    Returns
    -------
    LUResult
        ``P`` of ``[..., m, m]``, ``L`` of ``[..., m, k]`` and ``U`` of ``[..., k, n]`` with
        ``k = min(m, n)``.

    Examples
    --------
    >>> import dygraph
    >>> p, l, u = dygraph.linalg.lu(dygraph.asarray([[1.0, 2.0], [2.0, 6.0]]))
    >>> l.tolist(), u.tolist()
    ([[1.0, 0.0], [0.5, 1.0]], [[2.0, 6.0], [0.0, -1.0]])
    """
    packed, pivots, _ = ops.lu(matrices(x, "lu: x"), pivots=check.flag(pivot, "lu: pivot"))
    return LUResult(*ops.lu_unpack(packed, pivots))


def lu_factor(x, /, *, pivot=True):
    """`lu` in one matrix: `U` on and above the diagonal, `L` below it, and the rows' exchanges.

    Returns
    -------
    LUFactorResult
        ``LU`` of the shape of `x`, and ``pivots`` of ``[..., min(m, n)]``, int32: row i was
        exchanged with row ``pivots[i] - 1``, one after the other.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.linalg.lu_factor(dygraph.asarray([[1.0, 2.0], [2.0, 6.0]])).pivots.tolist()
    [2, 2]
    """
    packed, pivots, _ = ops.lu(
        matrices(x, "lu_factor: x"), pivots=check.flag(pivot, "lu_factor: pivot")
    )
    return LUFactorResult(packed, pivots)


def lu_unpack(LU, pivots, /):
    """`P`, `L` and `U` of what `lu_factor` gave.

    >>> import dygraph
    >>> packed = dygraph.linalg.lu_factor(dygraph.asarray([[1.0, 2.0], [2.0, 6.0]]))
    >>> dygraph.linalg.lu_unpack(*packed).U.tolist()
    [[2.0, 6.0], [0.0, -1.0]]
    """
    return LUResult(*ops.lu_unpack(matrices(LU, "lu_unpack: LU"), pivots))


def qr(x, /, mode="reduced"):
    """``x = Q @ R``: orthonormal columns, and an upper triangle. A sign is free for each row of R.

    Parameters
    ----------
    x : Variable
        ``[..., m, n]``
    mode : {'reduced', 'complete'}
        Whether `Q` has ``min(m, n)`` columns or `m`. Gradients are made for 'reduced'.

    Returns
    -------
    QRResult
        ``Q`` and ``R``.

    Examples
    --------
    >>> import dygraph
    >>> q, r = dygraph.linalg.qr(dygraph.ones(3, 2))
    >>> q.shape, r.shape
    ((3, 2), (2, 2))
    """
    if mode == "r":
        raise InvalidArgumentError(
            "qr: mode 'r' gives R in NumPy and Paddle, a pair in PyTorch. Write "
            "dygraph.linalg.qr(x).R, or dygraph.ops.qr(x, mode='r')[1], which makes R alone"
        )
    check.choice(mode, ("reduced", "complete"), "qr: mode")
    return QRResult(*ops.qr(matrices(x, "qr: x"), mode=mode))


def svd(x, /, full_matrices=True):
    """The singular value decomposition ``x = U @ diag(S) @ Vh``, with `S` descending.

    A sign is free for each pair of vectors, and gradients are right for results that do not depend
    on it. They are made for ``full_matrices=False``, of `S` for both. Where singular values are
    equal, the gradients of `U` and `Vh` are infinite or NaN, as in PyTorch; `S` has gradients.

    Parameters
    ----------
    x : Variable
        ``[..., m, n]``; without NaN and infinity.
    full_matrices : bool
        Complete `U` and `Vh` to square matrices. Paddle's default is False.

    Returns
    -------
    SVDResult
        ``U`` of ``[..., m, k]``, ``S`` of ``[..., k]`` and ``Vh`` of ``[..., k, n]`` with
        ``k = min(m, n)``; ``[..., m, m]`` and ``[..., n, n]`` with `full_matrices`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.linalg.svd(dygraph.asarray([[0.0, 2.0], [3.0, 0.0]])).S.tolist()
    [3.0, 2.0]
    """
    full = check.flag(full_matrices, "svd: full_matrices")
    return SVDResult(*ops.svd(matrices(x, "svd: x"), full_matrices=full))


def svdvals(x, /):
    """The singular values of matrices, descending. Equal ones have gradients.

    >>> import dygraph
    >>> dygraph.linalg.svdvals(dygraph.asarray([[0.0, 2.0], [3.0, 0.0]])).tolist()
    [3.0, 2.0]
    """
    return ops.svdvals(matrices(x, "svdvals: x"))
