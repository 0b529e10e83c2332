"""Elementary functions, element by element."""

from dygraph.static.layers.making import operator


@operator()
def abs(x, name=None):
    """The absolute value ``|x|`` of each element.

    Parameters
    ----------
    x : Variable
        Any shape; float32, float64, int32 or int64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.abs(to_variable([-1.5, 2.0])).tolist()
    [1.5, 2.0]
    """


@operator()
def acos(x, name=None):
    """The arc cosine: the angle in radians, from 0 to pi, whose cosine is `x`.

    NaN where `x` lies outside [-1, 1].

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> [round(v, 4) for v in layers.acos(to_variable([1.0, 0.0, -1.0])).tolist()]
    [0.0, 1.5708, 3.1416]
    """


@operator()
def asin(x, name=None):
    """The arc sine: the angle in radians, from -pi/2 to pi/2, whose sine is `x`.

    NaN where `x` lies outside [-1, 1].

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> [round(v, 4) for v in layers.asin(to_variable([0.0, 1.0, -0.5])).tolist()]
    [0.0, 1.5708, -0.5236]
    """


@operator()
def atan(x, name=None):
    """The arc tangent: the angle in radians, from -pi/2 to pi/2, whose tangent is `x`.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> [round(v, 4) for v in layers.atan(to_variable([0.0, 1.0, -1.0])).tolist()]
    [0.0, 0.7854, -0.7854]
    """


@operator()
def ceil(x, name=None):
    """The smallest whole number that is not below `x`. Its gradient is 0.

    Parameters
    ----------
    x : Variable
        Any shape; float32, float64, int32 or int64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.ceil(to_variable([-1.5, 0.25, 3.0])).tolist()
    [-1.0, 1.0, 3.0]
    """


@operator()
def cos(x, name=None):
    """The cosine of `x`, in radians.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> [round(v, 4) for v in layers.cos(to_variable([0.0, 1.0])).tolist()]
    [1.0, 0.5403]
    """


@operator()
def erf(x):
    """The error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t^2)`` from 0 to `x`.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> [round(v, 4) for v in layers.erf(to_variable([0.0, 1.0, -1.0])).tolist()]
    [0.0, 0.8427, -0.8427]
    """


@operator()
def exp(x, name=None):
    """e to the power of `x`.

    Parameters
    ----------
    x : Variable
        Any shape; float32, float64, int32 or int64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`; float32 for integers.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> [round(v, 4) for v in layers.exp(to_variable([0.0, 1.0])).tolist()]
    [1.0, 2.7183]
    """


@operator()
def floor(x, name=None):
    """The greatest whole number that is not above `x`. Its gradient is 0.

    Parameters
    ----------
    x : Variable
        Any shape; float32, float64, int32 or int64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.floor(to_variable([-1.5, 0.25, 3.0])).tolist()
    [-2.0, 0.0, 3.0]
    """


@operator()
def log(x, name=None):
    """The natural logarithm: -inf at 0, NaN below 0.

    Parameters
    ----------
    x : Variable
        Any shape; float32, float64, int32 or int64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`; float32 for integers.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> [round(v, 4) for v in layers.log(to_variable([1.0, 2.0])).tolist()]
    [0.0, 0.6931]
    """


@operator()
def log1p(x, out=None, name=None):
    """The natural logarithm of ``1 + x``, exact near 0: -inf at -1, NaN below -1.

    Parameters
    ----------
    x : Variable
        Any shape; float32, float64, int32 or int64.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`; float32 for integers.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> [round(v, 4) for v in layers.log1p(to_variable([0.0, 1.0])).tolist()]
    [0.0, 0.6931]
    """


@operator()
def reciprocal(x, name=None):
    """``1 / x``, element by element.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.reciprocal(to_variable([2.0, -4.0])).tolist()
    [0.5, -0.25]
    """


@operator()
def round(x, name=None):
    """The nearest whole number; a half goes to the even one, as in NumPy. Its gradient is 0.

    Fluid rounds halves away from 0.

    Parameters
    ----------
    x : Variable
        Any shape; float32, float64, int32 or int64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.round(to_variable([0.5, 1.5, -1.2])).tolist()
    [0.0, 2.0, -1.0]
    """


@operator()
def rsqrt(x, name=None):
    """``1 / sqrt(x)``: inf at 0, NaN below 0.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.rsqrt(to_variable([4.0, 0.25])).tolist()
    [0.5, 2.0]
    """


@operator()
def sign(x):
    """1 where `x` is positive, -1 where it is negative, else `x` itself, 0 or NaN.

    Parameters
    ----------
    x : Variable
        Any shape; float32, float64 or an integer type.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.sign(to_variable([-3.0, 0.0, 7.0])).tolist()
    [-1.0, 0.0, 1.0]
    """


@operator()
def sin(x, name=None):
    """The sine of `x`, in radians.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> [round(v, 4) for v in layers.sin(to_variable([0.0, 1.0])).tolist()]
    [0.0, 0.8415]
    """


@operator()
def sqrt(x, name=None):
    """The square root; NaN below 0.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.sqrt(to_variable([4.0, 2.25])).tolist()
    [2.0, 1.5]
    """


@operator()
def square(x, name=None):
    """``x * x``, element by element.

    Parameters
    ----------
    x : Variable
        Any shape; float32, float64, int32 or int64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.square(to_variable([-3.0, 0.5])).tolist()
    [9.0, 0.25]
    """


@operator()
def tanh(x, name=None):
    """The hyperbolic tangent, ``(exp(x) - exp(-x)) / (exp(x) + exp(-x))``.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> [round(v, 4) for v in layers.tanh(to_variable([0.0, 1.0])).tolist()]
    [0.0, 0.7616]
    """


@operator()
def pow(x, factor=1.0, name=None):
    """``x`` to the power of `factor`. Powers of integers are rounded towards 0.

    Parameters
    ----------
    x : Variable
        Any shape; float32, float64, int32 or int64.
    factor : float or Variable, default 1.0
        The exponent; a Variable must have one element.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.pow(to_variable([2.0, 3.0]), 2.0).tolist()
    [4.0, 9.0]
    """


__all__ = [
    "abs", "acos", "asin", "atan", "ceil", "cos", "erf", "exp", "floor", "log", "log1p", "pow",
    "reciprocal", "round", "rsqrt", "sign", "sin", "sqrt", "square", "tanh",
]  # fmt: skip
