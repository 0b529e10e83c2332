"""Normalisation over the batch, over channels, over the last axes and along one."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.functions import images, loss_parts, products
from dygraph.functions.arguments import share_of_old
from dygraph.nn.functional.spelling import spelled

__all__ = [
    "batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "normalize",
    "rms_norm",
]  # fmt: skip

ops = _core.ops


@spelled
def batch_norm(
    x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.9,
    epsilon=1e-5,
):  # fmt: skip
    """``(x - mean) / sqrt(variance + epsilon) * weight + bias``, for each channel.

    In training, mean and variance are those of the batch, and the running ones are updated in
    place: ``running = momentum * running + (1 - momentum) * batch``, with the variance divided by
    the number of values. Otherwise the running ones are used (Ioffe and Szegedy, 2015).

    `momentum` is Paddle's, the share of the old value; PyTorch's is that of the new one, so its 0.1
    is 0.9 here, and 0.1 raises. PyTorch's running variance is divided by the number of values less
    one.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, ...]``, float32 or float64.
    running_mean, running_var : Variable
        ``[channels]``, changed in training.
    weight, bias : Variable, optional
        ``[channels]``. None: 1 and 0.
    training : bool
    momentum : float
        At least 0.5.
    epsilon : float

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for sizes that do not fit, and for a momentum below 0.5.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x = dygraph.to_variable([[2.0], [6.0]])
    >>> mean, variance = dygraph.zeros([1], x.dtype), dygraph.ones([1], x.dtype)
    >>> y = F.batch_norm(x, mean, variance, training=True, momentum=0.5)
    >>> y.numpy().astype("float64").round(3).tolist()
    [[-1.0], [1.0]]
    >>> mean.tolist(), variance.tolist()
    ([2.0], [2.5])
    """
    if running_mean is None or running_var is None:
        raise ArgumentTypeError(
            "batch_norm: running_mean and running_var must be Variables, got None. Give zeros and "
            "ones of [channels]; with training=True they do not enter the result"
        )
    check.variable(running_mean, "batch_norm: running_mean")
    if not isinstance(training, (bool, int)):
        raise ArgumentTypeError(
            f"batch_norm: training must be True or False, got {type(training).__name__}"
        )
    y, mean, variance = ops.batch_norm(
        x,
        loss_parts.like(running_mean, 1) if weight is None else weight,
        loss_parts.like(running_mean, 0) if bias is None else bias,
        running_mean,
        running_var,
        momentum=share_of_old(momentum, "batch_norm"),
        epsilon=check.number(epsilon, "batch_norm: epsilon", 0),
        is_test=not training,
    )[:3]
    if training:
        _core.become(running_mean, mean.detach())
        _core.become(running_var, variance.detach())
    return y


@spelled
def layer_norm(x, normalized_shape, weight=None, bias=None, epsilon=1e-5):
    """``(x - mean) / sqrt(variance + epsilon) * weight + bias`` over the last axes.

    Ba, Kiros and Hinton, 2016.

    Parameters
    ----------
    x : Variable
        ``[..., *normalized_shape]``, float32 or float64.
    normalized_shape : int or list of int
        Sizes of the last axes.
    weight, bias : Variable, optional
        Of the shape `normalized_shape`, or flat.
    epsilon : float

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for an `x` or a weight of other sizes.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> y = F.layer_norm(dygraph.to_variable([[2.0, 6.0]]), 2)
    >>> y.numpy().astype("float64").round(3).tolist()
    [[-1.0, 1.0]]
    """
    shape, begin = _last(x, normalized_shape, "layer_norm")
    return ops.layer_norm(
        x,
        scale=_flat(weight, shape, x, "layer_norm: weight"),
        bias=_flat(bias, shape, x, "layer_norm: bias"),
        epsilon=check.number(epsilon, "layer_norm: epsilon", 0),
        begin_norm_axis=begin,
    )


_EPSILON = {"float32": 1.1920928955078125e-07, "float64": 2.220446049250313e-16}


@spelled
def rms_norm(x, normalized_shape, weight=None, epsilon=None):
    """``x / sqrt(mean(x ** 2) + epsilon) * weight``, the mean over the last axes.

    Zhang and Sennrich, 2019. Arguments are PyTorch's; Paddle 2 has no such function.

    Parameters
    ----------
    x : Variable
        ``[..., *normalized_shape]``, float32 or float64.
    normalized_shape : int or list of int
        Sizes of the last axes.
    weight : Variable, optional
        Of the shape `normalized_shape`, or flat.
    epsilon : float, optional
        None: the spacing of the numbers of x's type at 1, 1.19e-7 for float32.

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for an `x` or a weight of other sizes.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.rms_norm(dygraph.to_variable([[1.0, 7.0]]), 2).numpy().astype("float64").round(3).tolist()
    [[0.2, 1.4]]
    """
    shape, begin = _last(x, normalized_shape, "rms_norm")
    if epsilon is None:
        epsilon = _EPSILON.get(x.dtype.name, _EPSILON["float32"])
    if weight is None:
        corner = ops.slice(x, axes=list(range(begin)), starts=[0] * begin, ends=[1] * begin)
        weight = loss_parts.like(corner.detach(), 1)
    return ops.rms_norm(
        x,
        _flat(weight, shape, x, "rms_norm: weight"),
        epsilon=check.number(epsilon, "rms_norm: epsilon", 0),
        begin_norm_axis=begin,
    )


def _last(x, normalized_shape, owner):
    """The sizes normalised over, and their first axis."""
    given = normalized_shape
    shape = check.shape([given] if hasattr(type(given), "__index__") else given, f"{owner}: shape")
    begin = check.variable(x, f"{owner}: x").ndim - len(shape)
    if not shape or begin < 0 or list(x.shape[begin:]) != shape:
        raise InvalidArgumentError(
            f"{owner}: the last axes of x must be normalized_shape, {shape}, got shape "
            f"{list(x.shape)}"
        )
    return shape, begin


def _flat(weight, shape, x, what):
    """A weight of the shape `shape` as the operators take it, in one axis."""
    if weight is None:
        return None
    sizes = list(check.variable(weight, what).shape)
    if len(sizes) == 1 or not all(map(check.may_be_equal, sizes[-len(shape) :], shape)):
        return weight
    return loss_parts.face(weight, x, what).reshape(-1)


def _no_running(owner, **given):
    for name, value in given.items():
        if value is not None:
            raise ArgumentTypeError(
                f"{owner}: {name} must be None: each sample is normalised by its own values. "
                "nn.BatchNorm keeps running ones"
            )


@spelled
def instance_norm(x, running_mean=None, running_var=None, weight=None, bias=None, *, epsilon=1e-5):
    """``(x - mean) / sqrt(variance + epsilon) * weight + bias``, each channel of each sample.

    Ulyanov, Vedaldi and Lempitsky, 2016.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, ...]``, float32 or float64.
    running_mean, running_var : None
        In the place where PyTorch and Paddle have them.
    weight, bias : Variable, optional
        ``[channels]``.
    epsilon : float

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        (a TypeError, a ValueError) for running values; for sizes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> y = F.instance_norm(dygraph.to_variable([[[2.0, 6.0]]]))
    >>> y.numpy().astype("float64").round(3).tolist()
    [[[-1.0, 1.0]]]
    """
    _no_running("instance_norm", running_mean=running_mean, running_var=running_var)
    epsilon = check.number(epsilon, "instance_norm: epsilon", 0)
    return ops.instance_norm(x, scale=weight, bias=bias, epsilon=epsilon)


@spelled
def group_norm(x, num_groups, *, weight=None, bias=None, epsilon=1e-5):
    """``(x - mean) / sqrt(variance + epsilon) * weight + bias`` over groups of channels.

    Wu and He, 2018. PyTorch and Paddle order the last arguments differently, so they are given by
    name.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, ...]``, float32 or float64.
    num_groups : int
        A divisor of the number of channels.
    weight, bias : Variable, optional
        ``[channels]``.
    epsilon : float

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for sizes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x = dygraph.to_variable([2.0, 6.0, 0.0, 1.0]).reshape(1, 4, 1, 1)
    >>> F.group_norm(x, 2).numpy().round(3).ravel().tolist()
    [-1.0, 1.0, -1.0, 1.0]
    """
    return ops.group_norm(
        x,
        scale=weight,
        bias=bias,
        groups=check.integer(num_groups, "group_norm: num_groups", 1),
        epsilon=check.number(epsilon, "group_norm: epsilon", 0),
    )


@spelled
def local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0):
    """Each value divided by a power of the mean square of the channels around it.

    ``x / (k + alpha * mean of the squares of size channels around) ** beta`` (Krizhevsky, Sutskever
    and Hinton, 2012). PyTorch and Paddle 2 take the mean, with 0 beyond the channels; the paper and
    Fluid's `lrn` the sum, which is `size` times as large.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``, float32 or float64.
    size : int
        Odd.
    alpha, beta, k : float

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for another number of axes.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.local_response_norm(dygraph.ones(1, 1, 1, 2), 5, alpha=15.0, beta=0.5).tolist()
    [[[[0.5, 0.5]]]]
    """
    return images.local_response_norm(x, size, alpha, beta, k)


@spelled
def normalize(x, p=2.0, axis=1, epsilon=1e-12):
    """``x / max(norm, epsilon)``, the p-norm along `axis`.

    Parameters
    ----------
    x : Variable
        float32 or float64.
    p : float
    axis : int
    epsilon : float

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    OutOfRangeError
        (an IndexError) for an axis that `x` does not have.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.normalize(dygraph.to_variable([[3.0, 4.0]])).numpy().astype("float64").round(4).tolist()
    [[0.6, 0.8]]
    """
    p = check.number(p, "normalize: p")
    axis = check.axis(axis, check.variable(x, "normalize: x").ndim, "normalize: axis")
    norm = products.norm(x, p, axis, True)
    least = loss_parts.like(norm, check.number(epsilon, "normalize: epsilon", 0))
    return ops.elementwise_div(x, ops.elementwise_max(norm, least))
