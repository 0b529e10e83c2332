"""Dropout of elements and of whole channels, and alpha dropout."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.nn.functional.spelling import spelled

__all__ = [
    "alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
]  # fmt: skip

ops = _core.ops


def _flag(training, owner):
    if not isinstance(training, (bool, int)):
        raise ArgumentTypeError(
            f"{owner}: training must be True or False, got {kind_of(training)}. {owner}(x, p, "
            "training=layer.training)"
        )
    return bool(training)


@spelled
def dropout(x, p=0.5, training=True, *, mode="upscale_in_train"):
    """Zeros at random while `training`; the other elements are divided by ``1 - p``.

    Fluid's function of this name multiplies by ``1 - p`` out of training instead, which `mode`
    ``'downscale_in_infer'`` does.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    p : float
        Share of zeros, 0 to 1.
    training : bool
    mode : 'upscale_in_train' or 'downscale_in_infer'

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        (a TypeError, a ValueError) for a `training` that is no bool, as Paddle's third argument
        `axis`; for a `p` out of bounds.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> set(F.dropout(dygraph.full([9], 3.0), 0.25).tolist()) <= {0.0, 4.0}
    True
    >>> F.dropout(dygraph.full([2], 3.0), training=False).tolist()
    [3.0, 3.0]
    """
    check.choice(
        mode,
        ("upscale_in_train", "downscale_in_infer", "downgrade_in_infer"),
        "dropout: mode",
    )
    upscale = mode == "upscale_in_train"
    return ops.dropout(
        x,
        dropout_prob=check.number(p, "dropout: p", 0, 1),
        is_test=not _flag(training, "dropout"),
        dropout_implementation="upscale_in_train" if upscale else "downgrade_in_infer",
    )


def _channels(x, rank, owner):
    """Ones of shape [N, C, 1, ...]: one for each channel of each sample."""
    if check.variable(x, f"{owner}: input").ndim != rank:
        raise InvalidArgumentError(
            f"{owner}: input must have {rank} axes, batch and channels first, "
            f"got shape {list(x.shape)}"
        )
    axes = list(range(2, rank))
    corner = ops.slice(x, axes=axes, starts=[0] * len(axes), ends=[1] * len(axes))
    return ops.fill_any_like(corner.detach(), value=1.0)


def of_channels(x, p, training, rank, owner):
    """Zeros in whole channels of `x`, which has `rank` axes."""
    p = check.number(p, f"{owner}: p", 0, 1)
    ones = _channels(x, rank, owner)
    if not _flag(training, owner) or p == 0.0:
        return x
    mask = ops.dropout(
        ones, dropout_prob=p, dropout_implementation="upscale_in_train", is_test=False
    )
    return ops.elementwise_mul(x, mask)


@spelled
def dropout2d(x, p=0.5, training=True):
    """Whole channels are zeroed with probability `p` while `training`.

    The others are divided by ``1 - p`` (Tompson et al., 2015).

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``, float32 or float64.
    p : float
    training : bool

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for another number of axes, and for a `p` out of bounds.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> y = F.dropout2d(dygraph.ones(1, 8, 2, 2), 0.75).numpy()
    >>> bool(((y == 0) | (y == 4)).all() and (y.std(axis=(2, 3)) == 0).all())
    True
    """
    return of_channels(x, p, training, 4, "dropout2d")


@spelled
def dropout1d(x, p=0.5, training=True):
    """Whole channels of sequences are zeroed with probability `p` while `training`.

    The others are divided by ``1 - p`` (Tompson et al., 2015).

    Parameters
    ----------
    x : Variable
        ``[batch, channels, length]``, float32 or float64.
    p : float
        0 to 1.
    training : bool

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for another number of axes, and for a `p` out of bounds.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.dropout1d(dygraph.ones(1, 2, 3), 1.0).tolist()
    [[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]
    """
    return of_channels(x, p, training, 3, "dropout1d")


@spelled
def dropout3d(x, p=0.5, training=True):
    """Whole channels of volumes are zeroed with probability `p` while `training`.

    The others are divided by ``1 - p`` (Tompson et al., 2015).

    Parameters
    ----------
    x : Variable
        ``[batch, channels, depth, height, width]``, float32 or float64.
    p : float
        0 to 1.
    training : bool

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for another number of axes, and for a `p` out of bounds.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.dropout3d(dygraph.ones(1, 1, 1, 1, 2), 1.0).tolist()
    [[[[[0.0, 0.0]]]]]
    """
    return of_channels(x, p, training, 5, "dropout3d")


_ALPHA = -1.7580993408473766  # what selu tends to for large negative inputs: -scale * alpha


def of_alpha(x, p, training, by_channel, owner):
    """Alpha dropout of elements, or of whole channels."""
    p = check.number(p, f"{owner}: p", 0, 1)
    check.variable(x, f"{owner}: input")
    if by_channel:
        places = _channels(x, max(x.ndim, 3), owner)
    else:
        places = ops.fill_any_like(x.detach(), value=1.0)
    if not _flag(training, owner) or p == 0.0:
        return x
    if p == 1.0:
        return ops.scale(x, scale=0.0)
    q = 1.0 - p
    scale = (q + _ALPHA * _ALPHA * q * (1.0 - q)) ** -0.5
    shift = -scale * (1.0 - q) * _ALPHA
    # With downgrade_in_infer kept ones are 1 in training.
    mask = ops.dropout(places, dropout_prob=p, is_test=False)
    dropped = ops.scale(mask, scale=-_ALPHA * scale, bias=_ALPHA * scale + shift)
    kept = ops.scale(mask, scale=scale)
    return ops.elementwise_add(ops.elementwise_mul(x, kept), dropped)


@spelled
def alpha_dropout(x, p=0.5, training=None):
    """Dropout for `selu` networks that keeps mean 0 and variance 1.

    While `training` each element is replaced by a = -1.7580993 with probability p, and the result
    scaled and shifted: ``(x * m + a * (1 - m)) * s + t`` with q = 1 - p, s = (q + a^2 q (1 -
    q))^(-1/2), t = -s (1 - q) a (Klambauer et al., 2017).

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    p : float
    training : bool
        Must be given: PyTorch's default is False, Paddle's True.

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        (a TypeError, a ValueError) without `training`; for a `p` out of bounds.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> y = F.alpha_dropout(dygraph.randn([100_000]), 0.5, True).numpy()
    >>> bool(abs(y.mean()) < 0.05 and abs(y.std() - 1) < 0.05)
    True
    """
    return of_alpha(x, p, training, False, "alpha_dropout")


@spelled
def feature_alpha_dropout(x, p=0.5, training=None):
    """`alpha_dropout` of whole channels, each of each sample at once.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, ...]``, float32 or float64.
    p : float
        0 to 1.
    training : bool
        Must be given, as for `alpha_dropout`.

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        (a TypeError, a ValueError) without `training`; for a `p` out of bounds.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> y = F.feature_alpha_dropout(dygraph.ones(1, 8, 3), 0.5, True).numpy()
    >>> bool((y.std(axis=2) == 0).all())
    True
    """
    return of_alpha(x, p, training, True, "feature_alpha_dropout")
