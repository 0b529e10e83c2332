"""Complex numbers and their parts.

The gradient of a real loss with respect to a complex ``z`` is ``dL/dRe(z) + 1j * dL/dIm(z)``, as in
PyTorch and Paddle: a step against it lowers the loss.
"""

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import default_float, floating
from dygraph.errors import ArgumentTypeError
from dygraph.functions.arguments import operands

__all__ = ["angle", "as_complex", "as_real", "complex", "is_complex"]

ops = _core.ops
Variable = _core.Variable


def is_complex(x):
    """Whether the elements are complex.

    Parameters
    ----------
    x : Variable

    Returns
    -------
    bool

    Examples
    --------
    >>> import dygraph
    >>> dygraph.is_complex(dygraph.asarray([1j])), dygraph.is_complex(dygraph.asarray([1.0]))
    (True, False)
    """
    dtype = check.variable(x, "is_complex: x").dtype
    return dtype is not None and dtype.is_complex


def real(x, /):
    """The real parts; of real numbers `x` itself.

    Parameters
    ----------
    x : Variable

    Returns
    -------
    Variable
        float32 of complex64, float64 of complex128.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.real(dygraph.asarray([1 + 2j, 3j])).tolist()
    [1.0, 0.0]
    """
    return ops.real(x) if is_complex(x) else x


def imag(x, /):
    """The imaginary parts.

    Parameters
    ----------
    x : Variable
        Complex.

    Returns
    -------
    Variable
        float32 of complex64, float64 of complex128.

    Raises
    ------
    ArgumentTypeError
        For real numbers, whose imaginary parts are ``dygraph.zeros_like(x)``.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.imag(dygraph.asarray([1 + 2j, 3j])).tolist()
    [2.0, 3.0]
    """
    if not is_complex(x):
        raise ArgumentTypeError(
            f"imag: x must be complex, got {x.dtype}. The imaginary parts are dygraph.zeros_like(x)"
        )
    return ops.imag(x)


def conj(x, /):
    """The complex conjugates; of real numbers `x` itself.

    Parameters
    ----------
    x : Variable

    Returns
    -------
    Variable
        Of the type of `x`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.conj(dygraph.asarray([1 + 2j, 3j])).tolist()
    [(1-2j), -3j]
    """
    return ops.conj(x) if is_complex(x) else x


def complex(real, imag):
    """``real + 1j * imag``, element by element.

    Parameters
    ----------
    real, imag : Variable, array or number
        Their shapes broadcast.

    Returns
    -------
    Variable
        complex64, or complex128 of float64.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.complex(dygraph.asarray([1.0, 2.0]), 3.0).tolist()
    [(1+3j), (2+3j)]
    """
    real, imag = operands("complex", real, imag)
    for v in (real, imag):
        if is_complex(v):
            raise ArgumentTypeError(f"complex: real and imag must be real, got {v.dtype}")
    return ops.complex(_single(real), _single(imag))


def _single(x):
    """Real numbers as float32 or float64: there are no complex numbers of halves."""
    x = floating(x)
    return x.astype("float32") if x.dtype.itemsize == 2 else x


def angle(x):
    """The angles in the complex plane, from ``-pi`` to ``pi``; of real numbers 0 or pi.

    Parameters
    ----------
    x : Variable

    Returns
    -------
    Variable
        float32 of complex64, float64 of complex128.

    Examples
    --------
    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.angle(dygraph.asarray([2j, -1 + 0j])).tolist()]
    [1.5708, 3.1416]
    """
    if is_complex(x):
        return ops.angle(x)
    x = floating(x)
    return ops.atan2(ops.fill_any_like(x, value=0.0), x)


def as_real(x):
    """The real and the imaginary parts along a new last axis.

    Parameters
    ----------
    x : Variable
        Complex.

    Returns
    -------
    Variable
        ``[..., 2]``

    Examples
    --------
    >>> import dygraph
    >>> dygraph.as_real(dygraph.asarray([1 + 2j])).tolist()
    [[1.0, 2.0]]
    """
    if not is_complex(x):
        raise ArgumentTypeError(f"as_real: x must be complex, got {x.dtype}")
    return ops.as_real(x)


def as_complex(x):
    """``x[..., 0] + 1j * x[..., 1]``.

    Parameters
    ----------
    x : Variable
        ``[..., 2]``, real.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.as_complex(dygraph.asarray([[1.0, 2.0]])).tolist()
    [(1+2j)]
    """
    if is_complex(x):
        raise ArgumentTypeError(f"as_complex: x must be real, got {x.dtype}")
    return ops.as_complex(_single(x))


def as_complex_type(x):
    """Real numbers as complex ones without imaginary parts; complex ones as they are."""
    if is_complex(x):
        return x
    wide = (x.dtype if x.dtype.is_floating else default_float()).name == "float64"
    return x.astype("complex128" if wide else "complex64")


def exponential(x):
    """``exp`` of complex numbers, by their parts."""
    size, turn = ops.exp(ops.real(x)), ops.imag(x)
    return ops.complex(size * ops.cos(turn), size * ops.sin(turn))
