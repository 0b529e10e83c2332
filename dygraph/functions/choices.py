"""Elements chosen by bounds or by a condition."""

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import same_type
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.functions.arguments import operands
from dygraph.functions.elementwise import maximum, minimum

ops = _core.ops
Variable = _core.Variable


def clip(x, min=None, max=None):
    """`x` where it lies between `min` and `max`, else the bound. Gradients flow inside.

    Parameters
    ----------
    x : Variable
    min, max : Variable, array or number, optional
        None: no bound.

    Returns
    -------
    Variable

    Raises
    ------
    InvalidArgumentError
        For numbers of which `min` is the greater.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.clip(dygraph.asarray([-2.0, 0.5, 3.0]), -1, 1).tolist()
    [-1.0, 0.5, 1.0]
    """
    check.variable(x, "clip: x")
    for bound, what in ((min, "min"), (max, "max")):
        if isinstance(bound, (str, list, tuple)):
            raise ArgumentTypeError(f"clip: {what} must be a number, got {kind_of(bound)}")
    if type(min) in (int, float) and type(max) in (int, float):
        check.number(max, "clip: max", min)
    if min is None and max is None:
        return ops.assign(x)
    x = x if min is None else maximum(x, min)
    return x if max is None else minimum(x, max)


def where(condition, x=None, y=None):
    """`x` where `condition` is True, else `y`, element by element.

    Parameters
    ----------
    condition : Variable
        bool.
    x, y : Variable, array_like or number
        The shapes of all three broadcast.

    Returns
    -------
    Variable
        Of the promoted type of `x` and `y`.

    Raises
    ------
    ArgumentTypeError
        For a `condition` of numbers, and without `x` and `y`.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([-1.0, 2.0])
    >>> dygraph.where(x > 0, x, 0.0).tolist()
    [0.0, 2.0]
    """
    if x is None or y is None:
        raise ArgumentTypeError(
            "where: condition, x and y must be given. The places of the elements that are True are "
            "dygraph.nonzero(condition, as_tuple=True)"
        )
    check.variable(condition, "where: condition")
    if isinstance(x, Variable) or isinstance(y, Variable):
        return ops.where(condition, *operands("where", x, y))
    return ops.where(condition, *same_type([x, y]))
