"""Activations. Those without arguments of their own are the operators themselves."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.nn.functional.spelling import spelled

__all__ = [
    "celu", "elu", "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu",
    "log_sigmoid", "logsigmoid", "mish", "prelu", "relu", "relu6", "rrelu", "selu", "sigmoid",
    "silu", "softplus", "softshrink", "softsign", "swish", "tanh", "tanhshrink", "threshold",
    "thresholded_relu",
]  # fmt: skip

ops = _core.ops

# A Python function around an operator would cost a tenth of a small call.
gelu, relu, sigmoid, silu = ops.gelu, ops.relu, ops.sigmoid, ops.silu
softsign, tanh, tanhshrink = ops.softsign, ops.tanh, ops.tanh_shrink
log_sigmoid = logsigmoid = ops.logsigmoid


def _number(value, what, least=None):
    return check.number(value, what, least)


@spelled
def relu6(x):
    """``min(max(x, 0), 6)``, element by element.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.

    Returns
    -------
    Variable
        Shape and type of `x`.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.relu6(dygraph.to_variable([-1.0, 2.0, 8.0])).tolist()
    [0.0, 2.0, 6.0]
    """
    return ops.relu6(x)


@spelled
def elu(x, alpha=1.0):
    """``x`` where ``x > 0``, else ``alpha * (exp(x) - 1)`` (Clevert et al., 2016).

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    alpha : float

    Returns
    -------
    Variable
        Shape and type of `x`.

    Raises
    ------
    ArgumentTypeError
        (a TypeError) for an `x` that is no Variable, or an `alpha` that is no number.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.elu(dygraph.to_variable([-99.0, 2.0]), alpha=0.5).tolist()
    [-0.5, 2.0]
    """
    return ops.elu(x, _number(alpha, "elu: alpha"))


@spelled
def celu(x, alpha=1.0):
    """``x`` where ``x > 0``, else ``alpha * (exp(x / alpha) - 1)`` (Barron, 2017).

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    alpha : float
        Not 0.

    Returns
    -------
    Variable
        Shape and type of `x`.

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        (a TypeError, a ValueError) for an `alpha` that is no number, or is 0.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.celu(dygraph.to_variable([-99.0, 2.0]), alpha=0.5).tolist()
    [-0.5, 2.0]
    """
    return ops.celu(x, _number(alpha, "celu: alpha"))


@spelled
def rrelu(x, lower=1 / 8, upper=1 / 3, *, training=None):
    """``x`` where ``x >= 0``, else ``x`` times a number from [lower, upper] (Xu et al., 2015).

    Parameters
    ----------
    x : Variable
        float32 or float64.
    lower, upper : float
        In [0, 1].
    training : bool
        True: each number is drawn; False: it is ``(lower + upper) / 2``. Must be given: PyTorch's
        default is False, Paddle's True.

    Returns
    -------
    Variable

    Raises
    ------
    ArgumentTypeError
        (a TypeError) without `training`.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.rrelu(dygraph.to_variable([-1.0, 2.0]), 0.25, 0.75, training=False).tolist()
    [-0.5, 2.0]
    """
    if not isinstance(training, bool):
        raise ArgumentTypeError(
            "rrelu: training must be given as True or False: PyTorch's default is False, Paddle's "
            "True"
        )
    lower, upper = _number(lower, "rrelu: lower"), _number(upper, "rrelu: upper")
    return ops.rrelu(x, is_test=not training, lower=lower, upper=upper)


@spelled
def selu(x, scale=1.0507009873554805, alpha=1.6732632423543772):
    """``scale * elu(x, alpha)``; the defaults keep mean and variance (Klambauer et al., 2017).

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    scale, alpha : float
        Arguments in Paddle; PyTorch has the defaults alone.

    Returns
    -------
    Variable
        Shape and type of `x`.

    Raises
    ------
    ArgumentTypeError
        (a TypeError) for numbers that are none.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.selu(dygraph.to_variable([-99.0, 1.0])).numpy().astype("float64").round(4).tolist()
    [-1.7581, 1.0507]
    """
    return ops.selu(x, _number(scale, "selu: scale"), _number(alpha, "selu: alpha"))


@spelled
def leaky_relu(x, negative_slope=0.01):
    """``x`` where ``x > 0``, else ``negative_slope * x``.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    negative_slope : float
        0.02 by default in Fluid.

    Returns
    -------
    Variable
        Shape and type of `x`.

    Raises
    ------
    ArgumentTypeError
        (a TypeError) for a slope that is no number.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.leaky_relu(dygraph.to_variable([-4.0, 2.0]), 0.25).tolist()
    [-1.0, 2.0]
    """
    return ops.leaky_relu(x, _number(negative_slope, "leaky_relu: negative_slope"))


@spelled
def prelu(x, weight):
    """``x`` where ``x > 0``, else ``weight * x`` (He et al., 2015).

    Parameters
    ----------
    x : Variable
        ``[batch, channels, ...]``, float32 or float64.
    weight : Variable
        One slope ``[1]``, or one for each channel ``[channels]``.

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for a weight of another size.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.prelu(dygraph.to_variable([[-4.0, 2.0]]), dygraph.to_variable([0.25, 0.5])).tolist()
    [[-1.0, 2.0]]
    """
    one = check.variable(weight, "prelu: weight").size == 1
    return ops.prelu(x, weight, mode="all" if one else "channel")


@spelled
def swish(x):
    """``x * sigmoid(x)``: Paddle's other name of `silu`.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.

    Returns
    -------
    Variable
        Shape and type of `x`.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.swish(dygraph.to_variable([0.0, 1.0])).numpy().astype("float64").round(4).tolist()
    [0.0, 0.7311]
    """
    return silu(x)


@spelled
def mish(x):
    """``x * tanh(softplus(x))``, element by element (Misra, 2019).

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.

    Returns
    -------
    Variable
        Shape and type of `x`.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.mish(dygraph.to_variable([0.0, 1.0])).numpy().astype("float64").round(4).tolist()
    [0.0, 0.8651]
    """
    return ops.mish(x)


@spelled
def hardtanh(x, min=-1.0, max=1.0):
    """``min`` below `min`, ``max`` above `max`, else ``x``.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    min, max : float

    Returns
    -------
    Variable
        Shape and type of `x`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for a `min` that is not below `max`.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.hardtanh(dygraph.to_variable([-3.0, 0.5, 3.0])).tolist()
    [-1.0, 0.5, 1.0]
    """
    low, high = _number(min, "hardtanh: min"), _number(max, "hardtanh: max")
    if low >= high:
        raise InvalidArgumentError(f"hardtanh: min must be below max, got {low} and {high}")
    return ops.clip(x, low, high)


@spelled
def hardsigmoid(x):
    """``min(max(x / 6 + 1 / 2, 0), 1)``, element by element (Howard et al., 2019).

    PyTorch's and Paddle 2's slope is 1/6; Fluid's `hard_sigmoid` has 0.2.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.

    Returns
    -------
    Variable
        Shape and type of `x`.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> y = F.hardsigmoid(dygraph.to_variable([-3.0, 0.0, 1.5]))
    >>> y.numpy().astype("float64").round(4).tolist()
    [0.0, 0.5, 0.75]
    """
    return ops.hard_sigmoid(x, slope=1 / 6, offset=0.5)


@spelled
def hardswish(x):
    """``x * min(max(x + 3, 0), 6) / 6``, element by element (Howard et al., 2019).

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.

    Returns
    -------
    Variable
        Shape and type of `x`.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.hardswish(dygraph.to_variable([-1.5, 0.0, 4.0])).tolist()
    [-0.375, 0.0, 4.0]
    """
    return ops.hard_swish(x)


@spelled
def hardshrink(x, threshold=0.5):
    """``x`` where ``|x| > threshold``, else 0.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    threshold : float
        At least 0; PyTorch's `lambd`.

    Returns
    -------
    Variable
        Shape and type of `x`.

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        (a TypeError, a ValueError) for a threshold that is no number, or below 0.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.hardshrink(dygraph.to_variable([-2.0, 0.25])).tolist()
    [-2.0, 0.0]
    """
    return ops.hard_shrink(x, _number(threshold, "hardshrink: threshold", 0))


@spelled
def softshrink(x, threshold=0.5):
    """``x`` moved towards 0 by `threshold`, and 0 within it.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    threshold : float
        At least 0; PyTorch's `lambd`.

    Returns
    -------
    Variable
        Shape and type of `x`.

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        (a TypeError, a ValueError) for a threshold that is no number, or below 0.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.softshrink(dygraph.to_variable([-2.0, 0.25])).tolist()
    [-1.5, 0.0]
    """
    return ops.softshrink(x, _number(threshold, "softshrink: threshold", 0))


@spelled
def softplus(x, beta=1.0, threshold=20.0):
    """``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x > threshold``.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    beta, threshold : float

    Returns
    -------
    Variable
        Shape and type of `x`.

    Raises
    ------
    ArgumentTypeError
        (a TypeError) for numbers that are none.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.softplus(dygraph.to_variable([0.0, 50.0])).numpy().astype("float64").round(4).tolist()
    [0.6931, 50.0]
    """
    return ops.softplus(
        x, _number(beta, "softplus: beta"), _number(threshold, "softplus: threshold")
    )


@spelled
def threshold(x, threshold, value):
    """``x`` where ``x > threshold``, else `value`. Arguments as in PyTorch.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    threshold, value : float

    Returns
    -------
    Variable
        Shape and type of `x`.

    Raises
    ------
    ArgumentTypeError
        (a TypeError) for numbers that are none.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.threshold(dygraph.to_variable([0.5, 2.0]), 1.0, -7.0).tolist()
    [-7.0, 2.0]
    """
    check.variable(x, "threshold: x")
    above = x > _number(threshold, "threshold: threshold")
    return ops.where(above, x, ops.fill_any_like(x, value=_number(value, "threshold: value")))


@spelled
def thresholded_relu(x, threshold=1.0):
    """``x`` where ``x > threshold``, else 0: PyTorch's ``threshold(x, threshold, 0)``.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    threshold : float

    Returns
    -------
    Variable
        Shape and type of `x`.

    Raises
    ------
    ArgumentTypeError
        (a TypeError) for a threshold that is no number.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.thresholded_relu(dygraph.to_variable([0.5, 2.0])).tolist()
    [0.0, 2.0]
    """
    return ops.thresholded_relu(x, _number(threshold, "thresholded_relu: threshold"))
