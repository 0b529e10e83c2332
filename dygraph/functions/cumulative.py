"""Products, extremes and sums of exponentials of the elements so far, along an axis."""

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import floating
from dygraph.functions.arguments import spelled, widened

__all__ = ["cummax", "cummin", "cumprod", "logcumsumexp"]

ops = _core.ops


def _laid_out(x, axis, dtype, owner):
    """`x` in `dtype` and the axis; without one the elements lie flat."""
    check.variable(x, f"{owner}: x")
    if dtype is not None:
        x = x.astype(dtype)
    if axis is None:
        return (x if x.ndim == 1 else ops.reshape2(x, shape=[-1])), 0
    return x, check.axis(axis, max(x.ndim, 1), f"{owner}: axis")


def cumprod(x, axis=None, dtype=None, **spellings):
    """Cumulative products along an axis, or of the flattened elements without one.

    Integers give int64, as those of `cumsum` do in NumPy and PyTorch.

    Parameters
    ----------
    x : Variable
        Any shape.
    axis : int, optional
        None: over the elements laid flat.
    dtype : str, optional
        The type that `x` is converted to first.

    Returns
    -------
    Variable
        The shape of `x`, or one axis without `axis`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.ops.cumprod(dygraph.to_variable([2.0, 3.0, 4.0]), 0).tolist()
    [2.0, 6.0, 24.0]
    """
    if spellings:
        (axis,) = spelled("cumprod", spellings, axis=axis)
    x, axis = _laid_out(x, axis, dtype, "cumprod")
    if dtype is None and not x.dtype.is_inexact:
        x = x.astype("int64")
    return widened(lambda x: ops.cumprod(x, dim=axis), x)


def _extreme(name, example):
    run = getattr(ops, name)
    most = "greatest" if name == "cummax" else "least"

    def function(x, axis=None, dtype="int64", **spellings):
        if spellings:
            (axis,) = spelled(name, spellings, axis=axis)
        x, axis = _laid_out(x, axis, None, name)
        return run(x, axis=axis, dtype=dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The {most} of the elements so far along an axis, and their places.

    Parameters
    ----------
    x : Variable
        float32, float64, int32 or int64.
    axis : int, optional
        None: of the elements laid flat.
    dtype : {{'int64', 'int32'}}
        The type of the places.

    Returns
    -------
    (values, indices) : (Variable, Variable)
        Of equal elements the last; a NaN, once met, stays. Gradients go where the values stand.

    Examples
    --------
    >>> import dygraph
    >>> values, indices = dygraph.ops.{name}(dygraph.to_variable([2.0, 3.0, 1.0]))
    >>> values.tolist(), indices.tolist()
    {example}
    """
    return function


cummax = _extreme("cummax", "([2.0, 3.0, 3.0], [0, 1, 1])")
cummin = _extreme("cummin", "([2.0, 2.0, 1.0], [0, 0, 2])")


def logcumsumexp(x, axis=None, dtype=None, **spellings):
    """``log(cumsum(exp(x)))`` without overflow on the way, along an axis or of the flat elements.

    Integers give float32.

    Parameters
    ----------
    x : Variable
        Any shape.
    axis : int, optional
        None: over the elements laid flat.
    dtype : str, optional
        The type that `x` is converted to first.

    Returns
    -------
    Variable
        The shape of `x`, or one axis without `axis`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.ops.logcumsumexp(dygraph.to_variable([1000.0, -1000.0])).tolist()
    [1000.0, 1000.0]
    """
    if spellings:
        (axis,) = spelled("logcumsumexp", spellings, axis=axis)
    x, axis = _laid_out(x, axis, dtype, "logcumsumexp")
    return widened(lambda x: ops.logcumsumexp(x, axis=axis), floating(x))
