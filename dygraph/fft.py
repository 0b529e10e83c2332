"""Discrete Fourier transforms: the extension `fft` of the Python array API standard.

Names, arguments and results are NumPy's. Transforms take any number of axes before and behind, have
gradients of any order, and compute in the precision of their argument: complex64 of float32,
complex128 of float64. Short-time transforms are in `dygraph.signal`.

>>> import dygraph
>>> dygraph.fft.fft(dygraph.asarray([1.0, 2.0, 3.0, 4.0])).tolist()
[(10+0j), (-2+2j), (-2+0j), (-2-2j)]
"""

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import default_float, floating
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, did_you_mean
from dygraph.functions import manipulation
from dygraph.functions.arguments import axes as axes_of
from dygraph.functions.arguments import given_once, on_device, spelled
from dygraph.functions.complex_numbers import as_complex_type, is_complex
from dygraph.functions.creation import arange

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

ops = _core.ops
_NORMS = "backward", "ortho", "forward"


def _norm(norm, owner):
    if norm is not None:
        check.choice(norm, _NORMS, f"{owner}: norm")
    return norm or "backward"


def _real(x, owner):
    if is_complex(check.variable(x, f"{owner}: x")):
        raise ArgumentTypeError(
            f"{owner}: x must be real, got {x.dtype}. fft takes complex numbers"
        )
    x = floating(x)
    return x.astype("float32") if x.dtype.itemsize == 2 else x


def _resized(x, axis, n, owner):
    """`x` cut, or padded with zeros behind, to n elements along an axis; as it is for None."""
    if n is None:
        return x
    n = check.integer(n, f"{owner}: n", 1)
    size = check.known_size(x, axis, f"{owner} with n")
    if n < size:
        return x[(slice(None),) * axis + (slice(0, n),)]
    if n > size:
        return ops.pad(x, paddings=[*[0, 0] * axis, 0, n - size, *[0, 0] * (x.ndim - axis - 1)])
    return x


def _half(n):
    return None if n is None else check.integer(n, "n", 1) // 2 + 1


# The sizes that x must have, the operator and its attributes; `sizes` belong to `axes`.
def _to_complex(x, sizes, axes, norm, forward, owner):
    if is_complex(check.variable(x, f"{owner}: x")):
        run = lambda x: ops.fft_c2c(x, axes=axes, normalization=norm, forward=forward)  # noqa: E731
    else:
        x = _real(x, owner)
        run = lambda x: ops.fft_r2c(  # noqa: E731
            x, axes=axes, normalization=norm, forward=forward, onesided=False
        )
    for axis, n in zip(axes, sizes, strict=True):
        x = _resized(x, axis, n, owner)
    return run(x) if axes else as_complex_type(x)


def _of_real(x, sizes, axes, norm, forward, owner):
    x = _real(x, owner)
    for axis, n in zip(axes, sizes, strict=True):
        x = _resized(x, axis, n, owner)
    return ops.fft_r2c(x, axes=axes, normalization=norm, forward=forward, onesided=True)


def _to_real(x, sizes, axes, norm, forward, owner):
    x = as_complex_type(check.variable(x, f"{owner}: x"))
    last = sizes[-1]
    if last is None:
        size = x.shape[axes[-1]]
        if size == 1:
            raise InvalidArgumentError(
                f"{owner}: n must be given for an axis of 1 element, which stands for 1 number or "
                "none, got None. Pass n=1"
            )
    for axis, n in zip(axes, [*sizes[:-1], _half(last)], strict=True):
        x = _resized(x, axis, n, owner)
    return ops.fft_c2r(x, axes=axes, normalization=norm, forward=forward, last_dim_size=last or 0)


def _one(name, what, run, forward, takes, gives, of, result):
    def function(x, n=None, axis=-1, norm=None, **spellings):
        if spellings:
            n, axis = spelled(name, spellings, n=n, axis=axis)
        axis = check.axis(axis, check.variable(x, f"{name}: x").ndim, f"{name}: axis")
        return run(x, [n], [axis], _norm(norm, name), forward, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{what} along one axis.

    Parameters
    ----------
    x : Variable
        {takes}.
    n : int, optional
        The number of elements of the axis {"of the result" if run is _to_real else "of `x`"}: it
        is cut, or padded with zeros behind.
    axis : int
    norm : {{'backward', 'ortho', 'forward'}}, optional
        Which direction is divided by n, or both by its root; None: 'backward'.

    Returns
    -------
    Variable
        {gives}.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.fft.{name}(dygraph.asarray({of})).tolist()
    {result}
    """
    return given_once(function)


def _several(name, what, run, forward, default_axes, of, result):
    def function(x, s=None, axes=default_axes, norm=None, **spellings):
        if spellings:
            s, axes = spelled(name, spellings, s=s, axes=axes)
        rank = check.variable(x, f"{name}: x").ndim
        if axes is None:
            count = rank if s is None else len(s)
            axes = list(range(rank - count, rank))
        found = axes_of(axes, rank, f"{name}: axes") if axes else []
        if not found and run is not _to_complex:
            raise InvalidArgumentError(f"{name}: axes must name at least one axis, got none")
        if s is not None and len(s) and s[-1] == -1 and run is _to_real:
            raise InvalidArgumentError(
                f"{name}: the last size in s must be that of the result, got -1, which NumPy reads "
                "as the m elements of x and torch as 2 * (m - 1)"
            )
        sizes = [None] * len(found) if s is None else [None if n == -1 else n for n in s]
        if len(sizes) != len(found):
            raise InvalidArgumentError(
                f"{name}: s must have a size for each of the {len(found)} axes, got {list(s)}"
            )
        return run(x, sizes, found, _norm(norm, name), forward, name)

    function.__name__ = function.__qualname__ = name
    which = "the last two axes" if default_axes else "several axes"
    function.__doc__ = f"""{what} along {which}.

    Parameters
    ----------
    x : Variable
    s : list of int, optional
        The number of elements of each axis: it is cut, or padded with zeros behind. -1: as it
        is.
    axes : list of int, optional
        None: all, or the last ones if `s` is given.{
        " The last one named is the halved one." if run is not _to_complex else ""
    }
    norm : {{'backward', 'ortho', 'forward'}}, optional
        Which direction is divided by the number of elements, or both by its root; None: 'backward'.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.fft.{name}(dygraph.asarray({of})).tolist()
    {result}
    """
    return given_once(function)


_ANY, _COMPLEX = "Real or complex", "The shape of `x`, complex"
fft = _one(
    "fft", "The Fourier transform", _to_complex, True, _ANY, _COMPLEX, "[1.0, 2.0]",
    "[(3+0j), (-1+0j)]",
)  # fmt: skip
ifft = _one(
    "ifft", "The inverse Fourier transform", _to_complex, False, _ANY, _COMPLEX, "[3.0, -1.0]",
    "[(1+0j), (2+0j)]",
)  # fmt: skip
rfft = _one(
    "rfft", "The Fourier transform of real numbers", _of_real, True, "Real",
    "``n // 2 + 1`` complex numbers along the axis: the others are their conjugates",
    "[1.0, 2.0, 3.0, 4.0]", "[(10+0j), (-2+2j), (-2+0j)]",
)  # fmt: skip
irfft = _one(
    "irfft", "The inverse of `rfft`", _to_real, False,
    "Complex; of an axis are the first ``n // 2 + 1`` elements taken",
    "n real numbers along the axis; without `n` twice those of `x`, less 2",
    "[10 + 0j, -2 + 2j, -2 + 0j]", "[1.0, 2.0, 3.0, 4.0]",
)  # fmt: skip
hfft = _one(
    "hfft", "The Fourier transform of numbers whose second half are conjugates", _to_real, True,
    "Complex; of an axis are the first ``n // 2 + 1`` elements taken",
    "n real numbers along the axis; without `n` twice those of `x`, less 2",
    "[1 + 0j, 2 + 0j]", "[3.0, -1.0]",
)  # fmt: skip
ihfft = _one(
    "ihfft", "The inverse of `hfft`", _of_real, False, "Real",
    "``n // 2 + 1`` complex numbers along the axis", "[3.0, -1.0]", "[(1+0j), (2+0j)]",
)  # fmt: skip
_SQUARE, _ONES = "[[1.0, 1.0], [1.0, 1.0]]", "[[4.0, 0.0], [0.0, 0.0]]"
_PEAK, _FLAT = "[[(4+0j), 0j], [0j, 0j]]", "[[(1+0j), (1+0j)], [(1+0j), (1+0j)]]"
_HALF, _BACK = "[[(4+0j), 0j], [0j, 0j]]", "[[1.0, 1.0], [1.0, 1.0]]"
_WHAT = {
    "fft": ("The Fourier transform", _to_complex, True, _SQUARE, _PEAK),
    "ifft": ("The inverse Fourier transform", _to_complex, False, _ONES, _FLAT),
    "rfft": ("The Fourier transform of real numbers", _of_real, True, _SQUARE, _HALF),
    "irfft": ("The inverse of `rfft`", _to_real, False, _ONES, _BACK),
}


def _pair(name):
    what, run, forward, of, result = _WHAT[name]
    return (
        _several(name + "2", what, run, forward, (-2, -1), of, result),
        _several(name + "n", what, run, forward, None, of, result),
    )


fft2, fftn = _pair("fft")
ifft2, ifftn = _pair("ifft")
rfft2, rfftn = _pair("rfft")
irfft2, irfftn = _pair("irfft")


def _frequencies(first, n, d, dtype, device, owner):
    n = check.integer(n, f"{owner}: n", 1)
    dtype = default_float() if dtype is None else _core.dtype_of(dtype)
    if not dtype.is_floating:
        raise ArgumentTypeError(f"{owner}: dtype must be a float type, got {dtype}")
    d = check.number(d, f"{owner}: d")
    steps = arange(first, first + (n if first else n // 2 + 1), dtype="float64")
    return on_device((steps / (n * d)).astype(dtype), device, owner)


def fftfreq(n, d=1.0, dtype=None, *, device=None):
    """The frequencies of the results of `fft`, in cycles per unit of `d`.

    Parameters
    ----------
    n : int
        The number of elements.
    d : float
        The distance between them.
    dtype : dtype, optional
        None: the default type.
    device : Place, optional

    Returns
    -------
    Variable
        ``[n]``: 0, the positive ones, the negative ones.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.fft.fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    n = check.integer(n, "fftfreq: n", 1)
    if n == 1:
        return rfftfreq(1, d, dtype, device=device)
    return ifftshift(_frequencies(-(n // 2), n, d, dtype, device, "fftfreq"))


def rfftfreq(n, d=1.0, dtype=None, *, device=None):
    """The frequencies of the results of `rfft`, in cycles per unit of `d`.

    Parameters
    ----------
    n : int
        The number of elements.
    d : float
        The distance between them.
    dtype : dtype, optional
        None: the default type.
    device : Place, optional

    Returns
    -------
    Variable
        ``[n // 2 + 1]``

    Examples
    --------
    >>> import dygraph
    >>> dygraph.fft.rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    return _frequencies(0, n, d, dtype, device, "rfftfreq")


def _shifted(x, axes, back, owner):
    rank = check.variable(x, f"{owner}: x").ndim
    found = list(range(rank)) if axes is None else axes_of(axes, rank, f"{owner}: axes")
    sizes = [check.known_size(x, axis, owner) for axis in found]
    shifts = [-(n // 2) if back else n // 2 for n in sizes]
    return manipulation.roll(x, shifts, found) if found else ops.assign(x)


@given_once
def fftshift(x, axes=None, **spellings):
    """`x` with the frequency 0 in the middle.

    Parameters
    ----------
    x : Variable
    axes : int or list of int, optional
        None: all.

    Returns
    -------
    Variable
        The shape of `x`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.fft.fftshift(dygraph.fft.fftfreq(4)).tolist()
    [-0.5, -0.25, 0.0, 0.25]
    """
    if spellings:
        (axes,) = spelled("fftshift", spellings, axes=axes)
    return _shifted(x, axes, False, "fftshift")


@given_once
def ifftshift(x, axes=None, **spellings):
    """`x` with the frequency 0 at the front: the inverse of `fftshift`.

    Parameters
    ----------
    x : Variable
    axes : int or list of int, optional
        None: all.

    Returns
    -------
    Variable
        The shape of `x`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.fft.ifftshift(dygraph.asarray([-0.5, -0.25, 0.0, 0.25])).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    if spellings:
        (axes,) = spelled("ifftshift", spellings, axes=axes)
    return _shifted(x, axes, True, "ifftshift")


def __getattr__(name):
    hint = "" if name.startswith("__") else did_you_mean(name, __all__)
    if name in ("stft", "istft"):
        hint = f" dygraph.signal.{name}"
    if name in ("hfft2", "hfftn", "ihfft2", "ihfftn"):
        hint = " hfft and ihfft transform one axis, fftn and ifftn the others"
    raise AttributeError(f"dygraph.fft has no function '{name}'.{hint}")


def __dir__():
    return list(__all__)
