"""Comparisons and logic, element by element."""

from dygraph import ops
from dygraph.core import check
from dygraph.static.layers.making import layer, operator, run


@operator()
def equal(x, y, cond=None):
    """Whether ``x == y``, element by element. NaN equals nothing.

    Parameters
    ----------
    x, y : Variable
        Of one type, any one; of shapes that broadcast.
    cond : Variable, optional
        A bool variable that the result is written to and that is returned.

    Returns
    -------
    Variable
        bool, of the shape that `x` and `y` broadcast to.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.equal(to_variable([1, 2, 3]), to_variable([2, 2, 2])).tolist()
    [False, True, False]
    """


@operator()
def not_equal(x, y, cond=None):
    """Whether ``x != y``, element by element. NaN differs from everything.

    Parameters
    ----------
    x, y : Variable
        Of one type, any one; of shapes that broadcast.
    cond : Variable, optional
        A bool variable that the result is written to and that is returned.

    Returns
    -------
    Variable
        bool, of the shape that `x` and `y` broadcast to.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.not_equal(to_variable([1, 2, 3]), to_variable([2, 2, 2])).tolist()
    [True, False, True]
    """


@operator()
def less_equal(x, y, cond=None):
    """Whether ``x <= y``, element by element. NaN gives False.

    Parameters
    ----------
    x, y : Variable
        Of one type, any one; of shapes that broadcast.
    cond : Variable, optional
        A bool variable that the result is written to and that is returned.

    Returns
    -------
    Variable
        bool, of the shape that `x` and `y` broadcast to.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.less_equal(to_variable([1, 2, 3]), to_variable([2, 2, 2])).tolist()
    [True, True, False]
    """


@operator()
def greater_than(x, y, cond=None):
    """Whether ``x > y``, element by element. NaN gives False.

    Parameters
    ----------
    x, y : Variable
        Of one type, any one; of shapes that broadcast.
    cond : Variable, optional
        A bool variable that the result is written to and that is returned.

    Returns
    -------
    Variable
        bool, of the shape that `x` and `y` broadcast to.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.greater_than(to_variable([1, 2, 3]), to_variable([2, 2, 2])).tolist()
    [False, False, True]
    """


@operator()
def greater_equal(x, y, cond=None):
    """Whether ``x >= y``, element by element. NaN gives False.

    Parameters
    ----------
    x, y : Variable
        Of one type, any one; of shapes that broadcast.
    cond : Variable, optional
        A bool variable that the result is written to and that is returned.

    Returns
    -------
    Variable
        bool, of the shape that `x` and `y` broadcast to.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.greater_equal(to_variable([1, 2, 3]), to_variable([2, 2, 2])).tolist()
    [False, True, True]
    """


@operator()
def less_than(x, y, force_cpu=None, cond=None):
    """Whether ``x < y``, element by element. NaN gives False.

    Parameters
    ----------
    x, y : Variable
        Of one type, any one; of shapes that broadcast.
    force_cpu : bool, optional
        Accepted as in Fluid; not used.
    cond : Variable, optional
        A bool variable that the result is written to and that is returned.

    Returns
    -------
    Variable
        bool, of the shape that `x` and `y` broadcast to.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.less_than(to_variable([1, 2, 3]), to_variable([2, 2, 2])).tolist()
    [True, False, False]
    """


elementwise_equal = layer(ops.elementwise_equal)


@operator()
def logical_and(x, y, out=None, name=None):
    """Whether both `x` and `y` are true, element by element.

    Parameters
    ----------
    x, y : Variable
        Of any type and of shapes that broadcast; numbers are true where they are not 0.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        bool, of the shape that `x` and `y` broadcast to.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, y = to_variable([True, True, False]), to_variable([True, False, False])
    >>> layers.logical_and(x, y).tolist()
    [True, False, False]
    """


@operator()
def logical_or(x, y, out=None, name=None):
    """Whether `x` or `y` or both are true, element by element.

    Parameters
    ----------
    x, y : Variable
        Of any type and of shapes that broadcast; numbers are true where they are not 0.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        bool, of the shape that `x` and `y` broadcast to.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, y = to_variable([True, True, False]), to_variable([True, False, False])
    >>> layers.logical_or(x, y).tolist()
    [True, True, False]
    """


@operator()
def logical_xor(x, y, out=None, name=None):
    """Whether exactly one of `x` and `y` is true, element by element.

    Parameters
    ----------
    x, y : Variable
        Of any type and of shapes that broadcast; numbers are true where they are not 0.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        bool, of the shape that `x` and `y` broadcast to.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, y = to_variable([True, True, False]), to_variable([True, False, False])
    >>> layers.logical_xor(x, y).tolist()
    [False, True, False]
    """


@operator()
def logical_not(x, out=None, name=None):
    """Whether `x` is not true, element by element.

    Parameters
    ----------
    x : Variable
        Any shape and type; numbers are true where they are not 0.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        bool, of the shape of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.logical_not(to_variable([True, False])).tolist()
    [False, True]
    """


@operator()
def is_empty(x, cond=None):
    """Whether `x` has no elements.

    Parameters
    ----------
    x : Variable
        Any shape and type.
    cond : Variable, optional
        A bool variable that the result is written to and that is returned.

    Returns
    -------
    Variable
        One bool, of shape ``()``.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> layers.is_empty(dygraph.zeros([0, 3])).item()
    True
    """


@layer
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False, name=None):
    """Whether ``|input - other| <= atol + rtol * |other|`` everywhere.

    Parameters
    ----------
    input, other : Variable
        Of shapes that broadcast; float32, float64, int32 or int64.
    rtol : float, default 1e-05
        The difference allowed for each unit of `other`.
    atol : float, default 1e-08
        The difference allowed in any case.
    equal_nan : bool, default False
        Whether two NaN count as close.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        One bool, of shape ``()``.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([100.0, 200.0])
    >>> layers.allclose(x, x + 0.5).item(), layers.allclose(x, x + 0.5, rtol=0.01).item()
    (False, True)
    """
    attrs = {
        "rtol": repr(check.number(rtol, "allclose: rtol")),
        "atol": repr(check.number(atol, "allclose: atol")), "equal_nan": bool(equal_nan),
    }  # fmt: skip
    return run("allclose", {"Input": input, "Other": other}, attrs)["Out"]


@operator()
def isfinite(x):
    """Whether every element is finite, neither infinite nor NaN: one answer for all.

    Parameters
    ----------
    x : Variable
        Any shape; a floating point or integer type.

    Returns
    -------
    Variable
        One bool, of shape ``()``.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.isfinite(to_variable([1.0, float("inf")])).item()
    False
    """


__all__ = [
    "allclose", "elementwise_equal", "equal", "greater_equal", "greater_than", "is_empty",
    "isfinite", "less_equal", "less_than", "logical_and", "logical_not", "logical_or",
    "logical_xor", "not_equal",
]  # fmt: skip
