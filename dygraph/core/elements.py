"""Functions of elements whose operands are Variables, arrays or Python numbers.

A number takes the type of the Variables beside it; Variables of two types are promoted, see
docs/promotion.md.
"""

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import same_type
from dygraph.errors import ArgumentTypeError

__all__ = ["maximum", "minimum", "where"]

ops = _core.ops


def maximum(x, y):
    """The greater of `x` and `y`, element by element; a NaN where one of them is NaN.

    Parameters
    ----------
    x, y : Variable, array_like or number
        Their shapes broadcast.

    Returns
    -------
    Variable

    Raises
    ------
    ArgumentTypeError
        For a number that the type of the Variable cannot hold.
    InvalidArgumentError
        For shapes that do not broadcast.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.maximum(dygraph.to_variable([-1.0, 2.0]), 0.0).tolist()
    [0.0, 2.0]
    """
    return ops.elementwise_max(*same_type([x, y]))


def minimum(x, y):
    """The smaller of `x` and `y`, element by element; a NaN where one of them is NaN.

    Arguments, result and errors as those of `maximum`.

    >>> import dygraph
    >>> dygraph.minimum(dygraph.to_variable([-1.0, 2.0]), 0.0).tolist()
    [-1.0, 0.0]
    """
    return ops.elementwise_min(*same_type([x, y]))


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
    return ops.where(condition, *same_type([x, y]))
