"""Softmax and other activations along an axis."""

from dygraph import _core, nets
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.functions.arguments import softmax_axis
from dygraph.functions.creation import arange
from dygraph.functions.random import rand
from dygraph.nn.functional.spelling import spelled

__all__ = ["glu", "gumbel_softmax", "log_softmax", "maxout", "softmax", "softmin"]

ops = _core.ops
_softmax, _log_softmax = ops.softmax, ops.log_softmax


def _converted(x, dtype, owner):
    if isinstance(dtype, (bool, int)):
        raise ArgumentTypeError(
            f"{owner}: dtype must be an element type such as 'float32', got {kind_of(dtype)}"
        )
    return check.variable(x, f"{owner}: x").astype(dtype)


@spelled
def softmax(x, axis=None, dtype=None):
    """``exp(x) / sum(exp(x))``, the sum along `axis`.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    axis : int
        It may be left out for one axis or two, and is then the last one. ``dim``, PyTorch's name,
        does as well.
    dtype : dtype, optional
        Convert `x` first, from integers for example.

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    OutOfRangeError
        (an IndexError) for an axis that `x` does not have.
    InvalidArgumentError
        (a ValueError) for three axes or more without `axis`, where libraries differ.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.softmax(dygraph.to_variable([[0.0, 0.0]])).tolist()
    [[0.5, 0.5]]
    """
    if dtype is not None:
        x = _converted(x, dtype, "softmax")
    axis = softmax_axis(x, axis, "softmax")
    return _softmax(x) if axis == -1 else _softmax(x, axis)


@spelled
def log_softmax(x, axis=None, dtype=None):
    """``x - log(sum(exp(x)))``, the logarithm of `softmax`, without overflow.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    axis : int
        May be left out for one axis or two, and is then the last one; PyTorch's `dim`.
    dtype : dtype, optional
        Convert `x` first, from integers for example.

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    OutOfRangeError, InvalidArgumentError
        (an IndexError, a ValueError) for an axis that `x` does not have; for three axes or more
        without `axis`.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.log_softmax(dygraph.to_variable([[7.0, -900.0]])).tolist()
    [[0.0, -907.0]]
    """
    if dtype is not None:
        x = _converted(x, dtype, "log_softmax")
    axis = softmax_axis(x, axis, "log_softmax")
    return _log_softmax(x) if axis == -1 else _log_softmax(x, axis)


@spelled
def softmin(x, axis=None, dtype=None):
    """``softmax(-x)``.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    axis : int
        May be left out for one axis or two, and is then the last one; PyTorch's `dim`.
    dtype : dtype, optional
        Convert `x` first.

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    OutOfRangeError, InvalidArgumentError
        (an IndexError, a ValueError) for an axis that `x` does not have; for three axes or more
        without `axis`.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.softmin(dygraph.to_variable([[0.0, 900.0]])).tolist()
    [[1.0, 0.0]]
    """
    axis = softmax_axis(x, axis, "softmin")
    return softmax(-check.variable(x, "softmin: x"), axis, dtype)


@spelled
def gumbel_softmax(x, temperature=1.0, hard=False, *, axis=-1):
    """A sample of the relaxed categorical distribution of some logits (Jang et al., 2017).

    ``softmax((x + g) / temperature)`` with g of Gumbel's distribution.

    Parameters
    ----------
    x : Variable
        Logits, float32 or float64.
    temperature : float
        Positive; the smaller, the nearer to one-hot. PyTorch's name is `tau`.
    hard : bool
        Give the one-hot vector of the largest element, with the gradient of the soft sample.
    axis : int

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for a `temperature` that is not positive.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.gumbel_softmax(dygraph.zeros(4, 3), hard=True).sum(-1).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    temperature = check.number(temperature, "gumbel_softmax: temperature")
    if not temperature > 0:
        raise InvalidArgumentError(
            f"gumbel_softmax: temperature must be positive, got {temperature}"
        )
    x = check.variable(x, "gumbel_softmax: x")
    waiting = -ops.log(1.0 - rand(list(x.shape), dtype=x.dtype))
    soft = softmax((x - ops.log(waiting + 1e-30)) / temperature, axis)
    if not hard:
        return soft
    axis = check.axis(axis, x.ndim, "gumbel_softmax: axis")
    best = ops.arg_max(soft, axis=axis, keepdims=True)
    places = arange(x.shape[axis]).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return (places == best).astype(x.dtype) - soft.detach() + soft


@spelled
def glu(x, axis=-1):
    """``a * sigmoid(b)`` for the halves a and b of `x` along `axis` (Dauphin et al., 2017).

    Parameters
    ----------
    x : Variable
        float32 or float64, an even size along `axis`.
    axis : int

    Returns
    -------
    Variable
        Half as long along `axis`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for an odd size.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.glu(dygraph.to_variable([[2.0, 0.0]])).tolist()
    [[1.0]]
    """
    return nets.glu(x, axis)


@spelled
def maxout(x, groups, axis=1):
    """The largest of each `groups` neighbouring channels (Goodfellow et al., 2013).

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``, float32 or float64.
    groups : int
        A divisor of the number of channels.
    axis : int
        The axis of the channels.

    Returns
    -------
    Variable
        With ``channels / groups`` channels.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for channels that are no multiple of `groups`.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x = dygraph.to_variable([1.0, 4.0, 3.0, 2.0]).reshape(1, 4, 1, 1)
    >>> F.maxout(x, 2).reshape(2).tolist()
    [4.0, 3.0]
    """
    return ops.maxout(x, groups=check.integer(groups, "maxout: groups", 1), axis=axis)
