"""Reductions: methods of Variable, functions of `dygraph`, and Fluid's ``reduce_sum`` and the like.

Each spelling checks its axes in its own words; `reduced` and `reduced_in_run` are the bodies.
"""

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import floating
from dygraph.errors import InvalidArgumentError

__all__ = ["all", "any", "max", "mean", "min", "prod", "sum"]

ops = _core.ops
Variable = _core.Variable


def reduced(operator, x, axes, keep):
    """`x` reduced over a list of axes from 0; over all for None."""
    op = getattr(ops, operator)
    if operator == "reduce_mean":
        x = floating(x)
    if axes is None or len(axes) == x.ndim:
        return op(x, dim=[0], keep_dim=keep, reduce_all=True)
    return op(x, dim=axes, keep_dim=keep, reduce_all=False)


def reduced_in_run(operator, x, axes, keep):
    """`x` reduced over the axes that variables of a program hold."""
    slots = operator in ("reduce_all", "reduce_any")
    named = check.axis_tensors("axis", axes, "axis") if slots else {"dim": axes}
    x = floating(x) if operator == "reduce_mean" else x
    return getattr(ops, operator)(x, **named, keep_dim=keep)


def _reduction(name, what, example):
    operator, owner = f"reduce_{name}", f"{name}: axis"

    def function(x, axis=None, keepdim=False):
        if not isinstance(x, Variable):
            check.variable(x, f"{name}: x")
        keep = bool(keepdim)
        if type(axis) is int:
            return reduced(operator, x, [check.axis(axis, x.ndim, owner)], keep)
        if axis is None:
            return reduced(operator, x, None, keep)
        if _core.holds_symbol(axis):
            return reduced_in_run(operator, x, axis, keep)
        axes = [check.axis(a, x.ndim, owner) for a in check.axes(axis)]
        if not axes:
            raise InvalidArgumentError(f"{owner} must name at least one axis, got {axis}")
        if len(set(axes)) != len(axes):
            raise InvalidArgumentError(f"{owner} must name each axis once, got {axis}")
        return reduced(operator, x, axes, keep)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The {what} over `axis`.

    Parameters
    ----------
    x : Variable
    axis : int, list of int or Variable, optional
        None: all axes, which gives shape ``()``.
    keepdim : bool
        True: the axes stay in the shape with size 1.

    Returns
    -------
    Variable

    Raises
    ------
    OutOfRangeError
        For an axis that `x` does not have.
    InvalidArgumentError
        For an axis named twice, and for no axis at all.

    Examples
    --------
    >>> import dygraph
    {example}
    """
    return function


def _example(name, axis, result, x="x", whole="x"):
    text = "[[1.0, 2.0], [3.0, 4.0]]"
    return f""">>> x = dygraph.to_variable({text})
    >>> dygraph.{name}({x}, axis={axis}).tolist(), {whole}.{name}().item()
    {result}"""


all = _reduction(
    "all", "logical and", _example("all", 1, "([False, True], False)", "x > 1", "(x > 1)")
)
any = _reduction(
    "any", "logical or", _example("any", 1, "([False, True], True)", "x > 3", "(x > 3)")
)
max = _reduction("max", "greatest element", _example("max", 1, "([2.0, 4.0], 4.0)"))
mean = _reduction("mean", "mean", _example("mean", 0, "([2.0, 3.0], 2.5)"))
min = _reduction("min", "least element", _example("min", 1, "([1.0, 3.0], 1.0)"))
prod = _reduction("prod", "product", _example("prod", 0, "([3.0, 8.0], 24.0)"))
sum = _reduction("sum", "sum", _example("sum", 0, "([4.0, 6.0], 10.0)"))
