"""Functions of elements that NumPy, PyTorch and Paddle have beside the array API standard's."""

import math

import numpy as np

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import floating
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.functions.arguments import operands, through_numpy, widened

__all__ = [
    "deg2rad", "fmax", "fmin", "frac", "gcd", "heaviside", "isclose", "lcm", "nan_to_num",
    "rad2deg",
]  # fmt: skip

ops = _core.ops


def _pair(name, run, x1, x2):
    return widened(run, *operands(name, x1, x2))


def fmax(x1, x2):
    """The larger of two elements; of a NaN and a number the number.

    Parameters
    ----------
    x1, x2 : Variable, array or number
        Their shapes broadcast.

    Returns
    -------
    Variable
        Of the promoted type.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.fmax(dygraph.asarray([1.0, float("nan")]), 3.0).tolist()
    [3.0, 3.0]
    """
    return _pair("fmax", ops.elementwise_fmax, x1, x2)


def fmin(x1, x2):
    """The smaller of two elements; of a NaN and a number the number.

    Parameters
    ----------
    x1, x2 : Variable, array or number
        Their shapes broadcast.

    Returns
    -------
    Variable
        Of the promoted type.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.fmin(dygraph.asarray([1.0, float("nan")]), 3.0).tolist()
    [1.0, 3.0]
    """
    return _pair("fmin", ops.elementwise_fmin, x1, x2)


def heaviside(x1, x2):
    """0 where ``x1 < 0``, `x2` where ``x1 == 0``, 1 where ``x1 > 0``; NaN where `x1` is, as NumPy.

    Parameters
    ----------
    x1, x2 : Variable, array or number
        Their shapes broadcast.

    Returns
    -------
    Variable
        Of the promoted type.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.heaviside(dygraph.asarray([-1.0, 0.0, 2.0]), 0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    return _pair("heaviside", ops.elementwise_heaviside, x1, x2)


def isclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether ``|x - y| <= atol + rtol * |y|``, element by element.

    Parameters
    ----------
    x, y : Variable
        Their shapes broadcast; one of them may be a number.
    rtol, atol : float
        At least 0.
    equal_nan : bool
        Whether a NaN equals a NaN.

    Returns
    -------
    Variable
        bool.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.isclose(dygraph.to_variable([1.0, 2.0]), dygraph.to_variable([1.0, 2.1])).tolist()
    [True, False]
    """
    texts = {
        name: value if isinstance(value, str) else repr(check.number(value, f"isclose: {name}", 0))
        for name, value in (("rtol", rtol), ("atol", atol))
    }
    x, y = operands("isclose", x, y)
    if x.dtype.name == "bool":
        x, y = x.astype("int32"), y.astype("int32")
    return widened(lambda a, b: ops.isclose(a, b, equal_nan=bool(equal_nan), **texts), x, y)


def frac(x):
    """``x - trunc(x)``: the fraction, with the sign of `x`.

    Parameters
    ----------
    x : Variable
        Any shape.

    Returns
    -------
    Variable
        Of the type of `x`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.frac(dygraph.asarray([-1.5, 2.25])).tolist()
    [-0.5, 0.25]
    """
    return widened(lambda x: x - ops.trunc(x), check.variable(x, "frac: x"))


def deg2rad(x):
    """Degrees as radians: ``x * pi / 180``. Integers give float32.

    Parameters
    ----------
    x : Variable
        Any shape.

    Returns
    -------
    Variable
        Of the type of `x`.

    Examples
    --------
    >>> import dygraph
    >>> round(dygraph.deg2rad(dygraph.asarray([180.0])).item(), 4)
    3.1416
    """
    return floating(check.variable(x, "deg2rad: x")) * (math.pi / 180)


def rad2deg(x):
    """Radians as degrees: ``x * 180 / pi``. Integers give float32.

    Parameters
    ----------
    x : Variable
        Any shape.

    Returns
    -------
    Variable
        Of the type of `x`.

    Examples
    --------
    >>> import dygraph
    >>> round(dygraph.rad2deg(dygraph.asarray([3.1415927])).item(), 4)
    180.0
    """
    return floating(check.variable(x, "rad2deg: x")) * (180 / math.pi)


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    """`x` with numbers in place of what is not finite.

    Parameters
    ----------
    x : Variable
        Integers stay.
    nan : float
        For NaN.
    posinf, neginf : float, optional
        For the infinities. None: the greatest and the least number of the type of `x`.

    Returns
    -------
    Variable
        Its gradient is 0 where a number was put.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.asarray([1.0, float("nan"), float("inf")])
    >>> dygraph.nan_to_num(x, posinf=9.0).tolist()
    [1.0, 0.0, 9.0]
    """
    if not isinstance(nan, (int, float)) or isinstance(nan, bool):
        raise InvalidArgumentError(
            f"nan_to_num: nan must be a number, got {nan!r}. NumPy's copy= is always True here"
        )
    if check.variable(x, "nan_to_num: x").dtype.is_complex:
        raise ArgumentTypeError(
            f"nan_to_num: x must be real, got {x.dtype}. Replace in x.real and x.imag, and join "
            "them with dygraph.complex"
        )
    if not x.dtype.is_floating:
        return ops.assign(x)
    most = {"float16": 65504.0, "float32": float(np.finfo("float32").max)}.get(
        x.dtype.name, float(np.finfo("float64").max)
    )
    if x.dtype.name == "bfloat16":
        most = 3.3895313892515355e38
    high = most if posinf is None else check.number(posinf, "nan_to_num: posinf")
    low = -most if neginf is None else check.number(neginf, "nan_to_num: neginf")

    def replaced(x):
        def filled(value):
            return ops.fill_any_like(x, str_value=repr(float(value)))

        x = ops.where(x == math.inf, filled(high), x)
        x = ops.where(x == -math.inf, filled(low), x)
        return ops.where(ops.isnan_v2(x), filled(nan), x)

    return widened(replaced, x)


def gcd(x1, x2):
    """The greatest common divisor of integers, at least 0.

    Parameters
    ----------
    x1, x2 : Variable, array or number
        Of integers; their shapes broadcast.

    Returns
    -------
    Variable
        Of integers, without a gradient.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.gcd(dygraph.asarray([12, -8]), 18).tolist()
    [6, 2]
    """
    return through_numpy(np.gcd, "gcd", *operands("gcd", x1, x2))


def lcm(x1, x2):
    """The least common multiple of integers, at least 0.

    Parameters
    ----------
    x1, x2 : Variable, array or number
        Of integers; their shapes broadcast.

    Returns
    -------
    Variable
        Of integers, without a gradient.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.lcm(dygraph.asarray([4, -6]), 10).tolist()
    [20, 30]
    """
    return through_numpy(np.lcm, "lcm", *operands("lcm", x1, x2))
