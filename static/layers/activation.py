"""Elementwise functions of one variable.

Each is the operator of its name with Fluid's arguments; ``name`` names the result.

Examples
--------
>>> import dygraph
>>> from dygraph import static
>>> static.layers.relu(dygraph.to_variable([-1.0, 2.0])).tolist()
[0.0, 2.0]
>>> with static.program_guard(static.Program()):
...     static.layers.relu(static.data("x", [None, 3]), name="bent").name
'bent.tmp_0'
"""

from dygraph import ops
from dygraph.static.layers.making import layer, operator, run


@operator()
def relu(x, name=None):
    """``max(x, 0)``, element by element. Its gradient is 0 at 0.

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
    >>> layers.relu(to_variable([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """


@operator()
def brelu(x, t_min=0.0, t_max=24.0, name=None):
    """``min(max(x, t_min), t_max)``, element by element.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    t_min, t_max : float, default 0.0 and 24.0
        The bounds, by default 0 and 24.
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
    >>> layers.brelu(to_variable([-1.0, 5.0, 30.0])).tolist()
    [0.0, 5.0, 24.0]
    """


@operator()
def elu(x, alpha=1.0, name=None):
    """``x`` above 0, else ``alpha * (exp(x) - 1)`` (Clevert and others, 2015).

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    alpha : float, default 1.0
        Minus the limit of the result for small `x`.
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
    >>> [round(v, 4) for v in layers.elu(to_variable([2.0, -1.0])).tolist()]
    [2.0, -0.6321]
    """


@operator()
def gelu(x, approximate=False):
    """``x`` times the standard normal distribution function of ``x`` (Hendrycks and Gimpel, 2016).

    ``0.5 * x * (1 + erf(x / sqrt(2)))``; with `approximate`, ``0.5 * x * (1 + tanh(sqrt(2 / pi) *
    (x + 0.044715 * x^3)))``.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    approximate : bool, default False
        Whether to compute the form with tanh.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([1.0, -1.0])
    >>> [round(v, 4) for v in layers.gelu(x).tolist()]
    [0.8413, -0.1587]
    >>> [round(v, 4) for v in layers.gelu(x, approximate=True).tolist()]
    [0.8412, -0.1588]
    """


@operator()
def hard_shrink(x, threshold=None):
    """``x`` where ``|x| > threshold``, else 0.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    threshold : float, optional
        None is 0.5.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.hard_shrink(to_variable([-2.0, 0.5, 1.0])).tolist()
    [-2.0, 0.0, 1.0]
    """


@operator()
def hard_swish(x, threshold=6.0, scale=6.0, offset=3.0, name=None):
    """``x * min(max(x + offset, 0), threshold) / scale`` (Howard and others, MobileNetV3, 2019).

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    threshold : float, default 6.0
        The greatest value of the factor ``x + offset``.
    scale : float, default 6.0
        The divisor.
    offset : float, default 3.0
        The summand in the factor.
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
    >>> [round(v, 4) for v in layers.hard_swish(to_variable([-1.0, 1.0, 4.0])).tolist()]
    [-0.3333, 0.6667, 4.0]
    """


@operator()
def leaky_relu(x, alpha=0.02, name=None):
    """``x`` above 0, else ``alpha * x``.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    alpha : float, default 0.02
        The slope below 0.
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
    >>> layers.leaky_relu(to_variable([2.0, -4.0]), alpha=0.25).tolist()
    [2.0, -1.0]
    """


@operator()
def mish(x, threshold=20, name=None):
    """``x * tanh(log(1 + exp(x)))`` (Misra, 2019).

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    threshold : float, default 20
        Above it ``log(1 + exp(x))`` counts as `x`.
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
    >>> [round(v, 4) for v in layers.mish(to_variable([0.0, 1.0])).tolist()]
    [0.0, 0.8651]
    """


@operator()
def relu6(x, threshold=6.0, name=None):
    """``min(max(x, 0), threshold)``, element by element.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    threshold : float, default 6.0
        The upper bound.
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
    >>> layers.relu6(to_variable([-1.0, 3.0, 8.0])).tolist()
    [0.0, 3.0, 6.0]
    """


@operator()
def selu(x, scale=None, alpha=None, name=None):
    """``scale * x`` above 0, else ``scale * alpha * (exp(x) - 1)`` (Klambauer and others, 2017).

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    scale : float, optional
        None is 1.0507009873554805.
    alpha : float, optional
        None is 1.6732632423543772.
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
    >>> [round(v, 4) for v in layers.selu(to_variable([1.0, -1.0])).tolist()]
    [1.0507, -1.1113]
    """


@operator(alpha="lambda")
def softshrink(x, alpha=None):
    """``x`` moved towards 0 by `alpha`; 0 where ``|x| <= alpha``.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    alpha : float, optional
        None is 0.5.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.softshrink(to_variable([-2.0, 0.25, 1.0])).tolist()
    [-1.5, 0.0, 0.5]
    """


@operator()
def swish(x, beta=1.0, name=None):
    """``x / (1 + exp(-beta * x))`` (Ramachandran and others, 2017).

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    beta : float, default 1.0
        The steepness of the sigmoid.
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
    >>> [round(v, 4) for v in layers.swish(to_variable([0.0, 1.0])).tolist()]
    [0.0, 0.7311]
    """


@operator()
def thresholded_relu(x, threshold=None):
    """``x`` where it is above `threshold`, else 0.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    threshold : float, optional
        None is 1.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.thresholded_relu(to_variable([0.5, 1.0, 2.0])).tolist()
    [0.0, 0.0, 2.0]
    """


@operator()
def maxout(x, groups, name=None, axis=1):
    """The greatest of each `groups` neighbouring channels (Goodfellow and others, 2013).

    Of equal channels the first gets the gradient.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``, or with the channels on `axis`; float32 or float64.
    groups : int
        The number of channels that make one; it divides the number of channels.
    name : str, optional
        The name of the result in a program; an eager call does not use it.
    axis : int, default 1
        The axis of the channels.

    Returns
    -------
    Variable
        ``channels / groups`` channels, otherwise the shape of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[[[1.0]], [[3.0]], [[2.0]], [[0.0]]]])
    >>> layers.maxout(x, groups=2).tolist()
    [[[[3.0]], [[2.0]]]]
    """


@operator(input="X")
def softmax(input, use_cudnn=False, name=None, axis=-1):
    """``exp(input) / sum(exp(input))``, the sum along `axis`.

    Parameters
    ----------
    input : Variable
        Any shape, float32 or float64.
    use_cudnn : bool, default False
        Accepted as in Fluid; not used.
    name : str, optional
        The name of the result in a program; an eager call does not use it.
    axis : int, default -1
        The axis along which the results add up to 1; negative ones count from the end.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> [round(v, 4) for v in layers.softmax(to_variable([0.0, 1.0])).tolist()]
    [0.2689, 0.7311]
    """


@layer
def log_softmax(input, axis=None, dtype=None, name=None):
    """``input - log(sum(exp(input)))``, the sum along `axis`: the logarithm of `softmax`.

    Parameters
    ----------
    input : Variable
        Any shape, float32 or float64.
    axis : int, optional
        None is the last axis.
    dtype : str or dtype, optional
        The type to convert `input` to first.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> [round(v, 4) for v in layers.log_softmax(to_variable([0.0, 1.0])).tolist()]
    [-1.3133, -0.3133]
    """
    if dtype is not None:
        input = ops.cast(input, dtype)
    return run("log_softmax", {"X": input}, {"axis": -1 if axis is None else axis})["Out"]


__all__ = [
    "brelu", "elu", "gelu", "hard_shrink", "hard_swish", "leaky_relu", "log_softmax", "maxout",
    "mish", "relu", "relu6", "selu", "softmax", "softshrink", "swish", "thresholded_relu",
]  # fmt: skip
