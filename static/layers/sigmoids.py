"""Activations that bend as the sigmoid does."""

from dygraph.static.layers.making import operator


@operator()
def logsigmoid(x, name=None):
    """``log(1 / (1 + exp(-x)))``, without overflow for any `x`.

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
    >>> [round(v, 4) for v in layers.logsigmoid(to_variable([0.0, -100.0])).tolist()]
    [-0.6931, -100.0]
    """


@operator()
def sigmoid(x, name=None):
    """``1 / (1 + exp(-x))``, element by element.

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
    >>> [round(v, 4) for v in layers.sigmoid(to_variable([0.0, 1.0])).tolist()]
    [0.5, 0.7311]
    """


@operator()
def softplus(x, name=None):
    """``log(1 + exp(x))``, without overflow; `x` itself above 20.

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
    >>> [round(v, 4) for v in layers.softplus(to_variable([0.0, 1.0, 50.0])).tolist()]
    [0.6931, 1.3133, 50.0]
    """


@operator()
def softsign(x, name=None):
    """``x / (1 + |x|)``, element by element.

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
    >>> layers.softsign(to_variable([1.0, -3.0])).tolist()
    [0.5, -0.75]
    """


@operator()
def tanh_shrink(x, name=None):
    """``x - tanh(x)``, element by element.

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
    >>> [round(v, 4) for v in layers.tanh_shrink(to_variable([0.0, 1.0])).tolist()]
    [0.0, 0.2384]
    """


@operator()
def hard_sigmoid(x, slope=0.2, offset=0.5, name=None):
    """``min(max(slope * x + offset, 0), 1)``, element by element.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    slope : float, default 0.2
        The slope between the two bends.
    offset : float, default 0.5
        The result at 0.
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
    >>> [round(v, 4) for v in layers.hard_sigmoid(to_variable([-5.0, 1.0, 5.0])).tolist()]
    [0.0, 0.7, 1.0]
    """


@operator()
def soft_relu(x, threshold=40.0, name=None):
    """``log(1 + exp(x))``, with `x` first moved into [-threshold, threshold].

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    threshold : float, default 40.0
        The greatest size of `x` that counts.
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
    >>> [round(v, 4) for v in layers.soft_relu(to_variable([0.0, 50.0])).tolist()]
    [0.6931, 40.0]
    """


@operator()
def stanh(x, scale_a=0.67, scale_b=1.7159, name=None):
    """``scale_b * tanh(scale_a * x)``, element by element.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    scale_a : float, default 0.67
        The factor of `x`.
    scale_b : float, default 1.7159
        The factor of the result.
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
    >>> [round(v, 4) for v in layers.stanh(to_variable([0.0, 1.0]), 1.0, 2.0).tolist()]
    [0.0, 1.5232]
    """


__all__ = [
    "hard_sigmoid", "logsigmoid", "sigmoid", "soft_relu", "softplus", "softsign", "stanh",
    "tanh_shrink",
]  # fmt: skip
