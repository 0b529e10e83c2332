"""Dropout of elements and of whole channels, and alpha dropout."""

from dygraph import _core
from dygraph.core import check
from dygraph.nn.functional import drop
from dygraph.nn.layer import Layer

__all__ = ["AlphaDropout", "Dropout", "Dropout1D", "Dropout2D", "Dropout3D", "FeatureAlphaDropout"]

ops = _core.ops


class Dropout(Layer):
    """Zeros at random while training, the other elements divided by ``1 - p``.

    As in PyTorch and Paddle 2. Fluid's layer of this name, in `dygraph.fluid.layers`, multiplies by
    ``1 - p`` in eval mode by default.

    Parameters
    ----------
    p : float
        Share of zeros, 0 to 1.
    seed : int, optional
        Fixes the zeros of every call; None: other zeros in each call.
    dropout_implementation : str
        ``'upscale_in_train'``: divide by ``1 - p`` while training, nothing in eval mode.
        ``'downgrade_in_infer'``: multiply by ``1 - p`` in eval mode, nothing else while training.
    is_test : bool
        True: always as in eval mode.

    Examples
    --------
    >>> import dygraph
    >>> drop, x = dygraph.nn.Dropout(0.25), dygraph.full([4], 3.0)
    >>> set(drop(x).tolist()) <= {0.0, 4.0}
    True
    >>> drop.eval()(x).tolist()
    [3.0, 3.0, 3.0, 3.0]
    """

    def __init__(self, p=0.5, seed=None, dropout_implementation="upscale_in_train", is_test=False):
        super().__init__()
        self._p = check.number(p, "Dropout: p", 0, 1)
        self._seed = None if seed is None else check.integer(seed, "Dropout: seed", 0)
        self._implementation = check.choice(
            dropout_implementation,
            ("downgrade_in_infer", "upscale_in_train"),
            "Dropout: dropout_implementation",
        )
        self._is_test = bool(is_test)

    def forward(self, input):
        return ops.dropout(
            input,
            dropout_prob=self._p,
            is_test=self._is_test or not self.training,
            fix_seed=self._seed is not None,
            seed=self._seed or 0,
            dropout_implementation=self._implementation,
        )

    def extra_repr(self):
        if self._implementation == "upscale_in_train":
            return f"p={self._p}"
        return f"p={self._p}, dropout_implementation='{self._implementation}'"


class _ChannelDropout(Layer):
    _rank = 4

    def __init__(self, p=0.5):
        super().__init__()
        self._p = check.number(p, f"{type(self).__name__}: p", 0, 1)

    def forward(self, input):
        return drop.of_channels(input, self._p, self.training, self._rank, type(self).__name__)

    def extra_repr(self):
        return f"p={self._p}"


class Dropout1D(_ChannelDropout):
    """Zero whole channels of sequences ``[batch, channels, length]`` while training.

    Each channel of each sample is zeroed with probability `p`, the others are divided by ``1 - p``
    (Tompson et al., "Efficient Object Localization", 2015).

    Parameters
    ----------
    p : float
        Probability of zeros, 0 to 1.

    Examples
    --------
    >>> import dygraph
    >>> y = dygraph.nn.Dropout1D(0.75)(dygraph.ones([1, 8, 3])).numpy()
    >>> bool(((y == 0) | (y == 4)).all() and (y.std(axis=2) == 0).all())
    True
    """

    _rank = 3


class Dropout2D(_ChannelDropout):
    """Zero whole channels of images ``[batch, channels, height, width]`` while training.

    Each channel of each sample is zeroed with probability `p`, the others are divided by ``1 - p``
    (Tompson et al., "Efficient Object Localization", 2015).

    Parameters
    ----------
    p : float
        Probability of zeros, 0 to 1.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = dygraph.to_variable(np.ones((1, 4, 2, 2), "float32"))
    >>> y = dygraph.nn.Dropout2D(0.5)(x).numpy()
    >>> bool(((y == 0) | (y == 2)).all() and (y.std(axis=(2, 3)) == 0).all())
    True
    """


class Dropout3D(_ChannelDropout):
    """Zero whole channels of volumes while training.

    Volumes are ``[batch, channels, depth, height, width]``. Each channel of each sample is zeroed
    with probability `p`, the others are divided by ``1 - p``.

    Parameters
    ----------
    p : float
        Probability of zeros, 0 to 1.

    Examples
    --------
    >>> import dygraph
    >>> y = dygraph.nn.Dropout3D(0.75)(dygraph.ones([1, 8, 2, 2, 2])).numpy()
    >>> bool(((y == 0) | (y == 4)).all() and (y.std(axis=(2, 3, 4)) == 0).all())
    True
    """

    _rank = 5


class AlphaDropout(Layer):
    """Dropout for `selu` networks that keeps mean 0 and variance 1.

    While training each element is replaced by a = -1.7580993 with probability p, and the result
    scaled and shifted: ``(x * m + a * (1 - m)) * s + t`` with q = 1 - p, s = (q + a^2 q (1 -
    q))^(-1/2), t = -s (1 - q) a (Klambauer et al., "Self-Normalizing Neural Networks", 2017). In
    eval mode it has no effect.

    Parameters
    ----------
    p : float
        Probability of a replacement, 0 to 1.

    Examples
    --------
    >>> import dygraph
    >>> drop = dygraph.nn.AlphaDropout(0.5)
    >>> x = dygraph.randn([100_000])
    >>> y = drop(x).numpy()
    >>> bool(abs(y.mean()) < 0.05 and abs(y.std() - 1) < 0.05)
    True
    >>> drop.eval()(x) is x
    True
    """

    _by_channel = False

    def __init__(self, p=0.5):
        super().__init__()
        self._p = check.number(p, f"{type(self).__name__}: p", 0, 1)

    def forward(self, input):
        return drop.of_alpha(input, self._p, self.training, self._by_channel, type(self).__name__)

    def extra_repr(self):
        return f"p={self._p}"


class FeatureAlphaDropout(AlphaDropout):
    """`AlphaDropout` of whole channels: each channel of each sample of ``[batch, channels, ...]``.

    Parameters
    ----------
    p : float
        Probability of a replacement, 0 to 1.

    Examples
    --------
    >>> import dygraph
    >>> y = dygraph.nn.FeatureAlphaDropout(0.5)(dygraph.ones([1, 8, 3])).numpy()
    >>> bool((y.std(axis=2) == 0).all())
    True
    """

    _by_channel = True
