"""Special functions, with the names of ``scipy.special`` and ``torch.special``.

Each takes a Variable and gives one of its type; integers give float32. Gradients of any order flow
through them. csrc/kernels/special.h and special_vector.h have the formulas and their sources.

>>> import dygraph
>>> round(dygraph.special.gammaln(dygraph.to_variable([5.0])).item(), 4)  # log(4!)
3.1781
"""

import math

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import floating
from dygraph.errors import did_you_mean
from dygraph.functions import elementwise
from dygraph.functions.arguments import operands, widened

__all__ = [
    "digamma", "entr", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammaln", "i0", "i0e",
    "i1", "i1e", "log1p", "logit", "ndtr", "polygamma", "psi", "sinc", "xlog1py", "xlogy",
]  # fmt: skip

ops = _core.ops


def _function(name, what, of, result, op=None):
    run = getattr(ops, op or name)

    def function(x):
        return widened(run, floating(check.variable(x, f"{name}: x")))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{what}, element by element.

    Parameters
    ----------
    x : Variable
        Any shape.

    Returns
    -------
    Variable
        Of the type of `x`; integers give float32.

    Examples
    --------
    >>> import dygraph
    >>> round(dygraph.special.{name}(dygraph.to_variable([{of}])).item(), 4)
    {result}
    """
    return function


digamma = _function("digamma", "The derivative of `gammaln`", 1.0, -0.5772)
psi = _function("psi", "The derivative of `gammaln`: `digamma`", 1.0, -0.5772, "digamma")
gammaln = _function("gammaln", "``log(abs(gamma(x)))``", 4.0, 1.7918, "lgamma")
erf = _function("erf", "The error function", 1.0, 0.8427)
erfc = _function("erfc", "``1 - erf(x)`` with all digits where `x` is large", 1.0, 0.1573)
erfinv = _function("erfinv", "The number whose `erf` is `x`", 0.5, 0.4769)
expit = _function("expit", "The logistic function ``1 / (1 + exp(-x))``", 0.0, 0.5, "sigmoid")
i0 = _function("i0", "The modified Bessel function of order 0", 1.0, 1.2661)
i0e = _function("i0e", "``exp(-abs(x)) * i0(x)``", 1.0, 0.4658)
i1 = _function("i1", "The modified Bessel function of order 1", 1.0, 0.5652)
i1e = _function("i1e", "``exp(-abs(x)) * i1(x)``", 1.0, 0.2079)
log1p, expm1 = elementwise.log1p, elementwise.expm1


def polygamma(n, x):
    """The derivative of `digamma` of order `n`, from 0 to 100.

    Parameters
    ----------
    n : int
        The order.
    x : Variable
        Any shape.

    Returns
    -------
    Variable
        Of the type of `x`; integers give float32.

    Examples
    --------
    >>> import dygraph
    >>> round(dygraph.special.polygamma(1, dygraph.to_variable([1.0])).item(), 4)
    1.6449
    """
    if isinstance(n, _core.Variable) and n.ndim == 0 and n.stop_gradient:
        n = n.item()
    n = check.integer(n, "polygamma: n", 0)
    x = floating(check.variable(x, "polygamma: x"))
    return widened(lambda x: ops.polygamma(x, n=n), x)


def logit(x, eps=None):
    """``log(x / (1 - x))``, the inverse of `expit`.

    Parameters
    ----------
    x : Variable
    eps : float, optional
        Clips `x` to ``[eps, 1 - eps]``. None: numbers outside [0, 1] give NaN.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.special.logit(dygraph.to_variable([0.0, 0.5, 1.0])).tolist()
    [-inf, 0.0, inf]
    """
    eps = 0.0 if eps is None else check.number(eps, "logit: eps", 0)
    x = floating(check.variable(x, "logit: x"))
    return widened(lambda x: ops.logit(x, eps=eps), x)


def exp2(x):
    """``2 ** x``.

    Parameters
    ----------
    x : Variable
        Any shape.

    Returns
    -------
    Variable
        Of the type of `x`; integers give float32.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.special.exp2(dygraph.to_variable([3.0])).tolist()
    [8.0]
    """
    return 2.0 ** floating(check.variable(x, "exp2: x"))


def ndtr(x):
    """The part of the standard normal distribution below `x`.

    Parameters
    ----------
    x : Variable
        Any shape.

    Returns
    -------
    Variable
        Of the type of `x`; integers give float32.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.special.ndtr(dygraph.to_variable([0.0])).tolist()
    [0.5]
    """
    x = floating(check.variable(x, "ndtr: x"))
    return widened(lambda x: ops.erfc(x * -math.sqrt(0.5)) * 0.5, x)


def _times_log(owner, log, shift, x, y):
    """``x * log(y)``, 0 where x is 0 and y is a number."""

    def compute(x, y):
        nothing = ops.logical_and(x == 0.0, ops.logical_not(ops.isnan_v2(y)))
        harmless = ops.fill_any_like(y + x * 0.0, value=shift)
        return x * log(ops.where(nothing, harmless, y))

    return widened(compute, *map(floating, operands(owner, x, y)))


def xlogy(x, y):
    """``x * log(y)``, and 0 where `x` is 0, whatever number `y` is.

    Parameters
    ----------
    x, y : Variable, array or number
        Their shapes broadcast.

    Returns
    -------
    Variable
        Of the promoted type; integers give float32.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.special.xlogy(dygraph.to_variable([0.0, 2.0]), 1.0).tolist()
    [0.0, 0.0]
    """
    return _times_log("xlogy", ops.log, 1.0, x, y)


def xlog1py(x, y):
    """``x * log1p(y)``, and 0 where `x` is 0, whatever number `y` is.

    Parameters
    ----------
    x, y : Variable, array or number
        Their shapes broadcast.

    Returns
    -------
    Variable
        Of the promoted type; integers give float32.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.special.xlog1py(dygraph.to_variable([0.0]), -1.0).tolist()
    [0.0]
    """
    return _times_log("xlog1py", ops.log1p, 0.0, x, y)


def entr(x):
    """``-x * log(x)`` where ``x > 0``, 0 at 0 and -inf below: the terms of an entropy.

    Parameters
    ----------
    x : Variable
        Any shape.

    Returns
    -------
    Variable
        Of the type of `x`; integers give float32.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([0.0, 0.25, -1.0], dtype="float64")
    >>> dygraph.special.entr(x).numpy().round(4)
    array([0.    , 0.3466,   -inf])
    """

    def compute(x):
        below = ops.fill_any_like(x, str_value="-inf")
        terms = ops.where(x < 0.0, below, -_times_log("entr", ops.log, 1.0, x, x))
        return ops.where(x == 0.0, ops.fill_any_like(x, value=0.0), terms)

    return widened(compute, floating(check.variable(x, "entr: x")))


def sinc(x):
    """``sin(pi * x) / (pi * x)``, and 1 at 0.

    Parameters
    ----------
    x : Variable
        Any shape.

    Returns
    -------
    Variable
        Of the type of `x`; integers give float32.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.special.sinc(dygraph.to_variable([0.0])).tolist()
    [1.0]
    """

    def compute(x):
        at_zero, one = x == 0.0, ops.fill_any_like(x, value=1.0)
        angle = ops.where(at_zero, one, x) * math.pi
        return ops.where(at_zero, one, ops.sin(angle) / angle)

    return widened(compute, floating(check.variable(x, "sinc: x")))


def __getattr__(name):
    hint = "" if name.startswith("__") else did_you_mean(name, __all__)
    raise AttributeError(
        f"dygraph.special has no function '{name}'.{hint} scipy.special takes x.numpy()"
    )


def __dir__():
    return list(__all__)
