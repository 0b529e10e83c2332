"""Pooling layers over one, two and three axes: the functions of `dygraph.ops` as layers."""

from dygraph.core import check
from dygraph.functions import pools, unpools
from dygraph.nn.layer import Layer

__all__ = [
    "AdaptiveAvgPool1D",
    "AdaptiveAvgPool2D",
    "AdaptiveAvgPool3D",
    "AdaptiveMaxPool1D",
    "AdaptiveMaxPool2D",
    "AdaptiveMaxPool3D",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "MaxUnPool1D",
    "MaxUnPool2D",
    "MaxUnPool3D",
]


class _Windows(Layer):
    """Size, stride and padding of a window over `_axes` axes."""

    _axes = 2

    def __init__(self, pool_size, pool_stride, pool_padding):
        super().__init__()
        name, axes = type(self).__name__, self._axes
        size = check.integers(pool_size, axes, f"{name}: pool_size", 1)
        stride = size if pool_stride is None else pool_stride
        self._window = (
            size,
            check.integers(stride, axes, f"{name}: pool_stride", 1),
            check.integers(pool_padding, axes, f"{name}: pool_padding", 0),
        )

    def extra_repr(self):
        size, stride, padding = self._window
        parts = [f"{size}", f"pool_stride={stride}", f"pool_padding={padding}"]
        for name, value in getattr(self, "_options", {}).items():
            if value != (name == "exclusive"):
                parts.append(f"{name}={value}")
        return ", ".join(parts)


class MaxPool2D(_Windows):
    """Maxima over windows of images ``[batch, channels, height, width]``.

    Parameters
    ----------
    pool_size, pool_padding : int or (int, int)
    pool_stride : int or (int, int), optional
        None: the window's size.
    ceil_mode : bool
        Round the output's size up.
    return_mask : bool
        Also return the position of each maximum, for `MaxUnPool2D`. Not with `ceil_mode`.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> pool = dygraph.nn.MaxPool2D(2)
    >>> pool(dygraph.to_variable(np.ones((2, 6, 28, 28), "float32"))).shape
    (2, 6, 14, 14)
    """

    _function = staticmethod(pools.max_pool2d)

    def __init__(
        self, pool_size, pool_stride=None, pool_padding=0, *, ceil_mode=False, return_mask=False
    ):
        super().__init__(pool_size, pool_stride, pool_padding)
        self._options = {"ceil_mode": bool(ceil_mode), "return_mask": bool(return_mask)}

    def forward(self, input):
        return self._function(input, *self._window, **self._options)


class MaxPool1D(MaxPool2D):
    """Maxima over windows of sequences ``[batch, channels, length]``.

    Parameters
    ----------
    pool_size, pool_padding : int
        Padding counts as minus infinity.
    pool_stride : int, optional
        None: the window's size.
    ceil_mode : bool
        Round the output's size up.
    return_mask : bool
        Also return the position of each maximum. Not with `ceil_mode`.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[1.0, 5.0, 2.0, 3.0]]])
    >>> dygraph.nn.MaxPool1D(2)(x).tolist()
    [[[5.0, 3.0]]]
    """

    _axes = 1
    _function = staticmethod(pools.max_pool1d)


class MaxPool3D(MaxPool2D):
    """Maxima over windows of volumes ``[batch, channels, depth, height, width]``.

    Parameters
    ----------
    pool_size, pool_padding : int or (int, int, int)
        Padding counts as minus infinity.
    pool_stride : int or (int, int, int), optional
        None: the window's size.
    ceil_mode : bool
        Round the output's size up.
    return_mask : bool
        Also return the position of each maximum. Not with `ceil_mode`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.nn.MaxPool3D((1, 2, 2))(dygraph.arange(8.0).reshape(1, 1, 2, 2, 2)).tolist()
    [[[[[3.0]], [[7.0]]]]]
    """

    _axes = 3
    _function = staticmethod(pools.max_pool3d)


class AvgPool2D(_Windows):
    """Averages over windows of images ``[batch, channels, height, width]``.

    Parameters
    ----------
    pool_size, pool_padding : int or (int, int)
    pool_stride : int or (int, int), optional
        None: the window's size.
    ceil_mode : bool
        Round the output's size up.
    exclusive : bool
        Do not count padding, as in Paddle; PyTorch counts it by default.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.nn.AvgPool2D(2)(dygraph.arange(16.0).reshape(1, 1, 4, 4)).tolist()
    [[[[2.5, 4.5], [10.5, 12.5]]]]
    """

    _function = staticmethod(pools.avg_pool2d)

    def __init__(
        self, pool_size, pool_stride=None, pool_padding=0, *, ceil_mode=False, exclusive=True
    ):
        super().__init__(pool_size, pool_stride, pool_padding)
        self._options = {"ceil_mode": bool(ceil_mode), "exclusive": bool(exclusive)}

    def forward(self, input):
        return self._function(input, *self._window, **self._options)


class AvgPool1D(AvgPool2D):
    """Averages over windows of sequences ``[batch, channels, length]``.

    Parameters
    ----------
    pool_size, pool_padding : int
    pool_stride : int, optional
        None: the window's size.
    ceil_mode : bool
        Round the output's size up.
    exclusive : bool
        Do not count padding, as in Paddle; PyTorch counts it by default.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[1.0, 5.0, 2.0, 3.0]]])
    >>> dygraph.nn.AvgPool1D(2)(x).tolist()
    [[[3.0, 2.5]]]
    """

    _axes = 1
    _function = staticmethod(pools.avg_pool1d)


class AvgPool3D(AvgPool2D):
    """Averages over windows of volumes ``[batch, channels, depth, height, width]``.

    Parameters
    ----------
    pool_size, pool_padding : int or (int, int, int)
    pool_stride : int or (int, int, int), optional
        None: the window's size.
    ceil_mode : bool
        Round the output's size up.
    exclusive : bool
        Do not count padding, as in Paddle; PyTorch counts it by default.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.nn.AvgPool3D((1, 2, 2))(dygraph.arange(8.0).reshape(1, 1, 2, 2, 2)).tolist()
    [[[[[1.5]], [[5.5]]]]]
    """

    _axes = 3
    _function = staticmethod(pools.avg_pool3d)


class _Adaptive(Layer):
    """Windows that divide the input evenly."""

    _axes = 2

    def __init__(self, output_size, **options):
        super().__init__()
        given = output_size if isinstance(output_size, (list, tuple)) else [output_size]
        what = f"{type(self).__name__}: output_size"
        if isinstance(output_size, (list, tuple)):
            check.integers([1 if s is None else s for s in given], self._axes, what, 1)
        elif output_size is not None:
            check.integer(output_size, what, 1)
        self._size, self._options = output_size, options

    def forward(self, input):
        return self._function(input, self._size, **self._options)

    def extra_repr(self):
        return f"{self._size}"


class AdaptiveAvgPool2D(_Adaptive):
    """Averages over even parts of images of any size.

    Parameters
    ----------
    output_size : int or (int, int)
        None in its place keeps an axis' size.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> pool = dygraph.nn.AdaptiveAvgPool2D(1)
    >>> pool(dygraph.to_variable(np.ones((2, 6, 9, 7), "float32"))).shape
    (2, 6, 1, 1)
    """

    _function = staticmethod(pools.adaptive_avg_pool2d)

    def __init__(self, output_size):
        super().__init__(output_size)


class AdaptiveAvgPool1D(AdaptiveAvgPool2D):
    """Averages over even parts of sequences ``[batch, channels, length]`` of any length.

    Parameters
    ----------
    output_size : int
        None keeps the length.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.nn.AdaptiveAvgPool1D(2)(dygraph.arange(6.0).reshape(1, 1, 6)).tolist()
    [[[1.0, 4.0]]]
    """

    _axes = 1
    _function = staticmethod(pools.adaptive_avg_pool1d)


class AdaptiveAvgPool3D(AdaptiveAvgPool2D):
    """Averages over even parts of volumes of any size.

    Volumes are ``[batch, channels, depth, height, width]``.

    Parameters
    ----------
    output_size : int or (int, int, int)
        None in its place keeps an axis' size.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.nn.AdaptiveAvgPool3D(1)(dygraph.arange(8.0).reshape(1, 1, 2, 2, 2)).tolist()
    [[[[[3.5]]]]]
    """

    _axes = 3
    _function = staticmethod(pools.adaptive_avg_pool3d)


class AdaptiveMaxPool2D(_Adaptive):
    """Maxima over even parts of images of any size.

    Parameters
    ----------
    output_size : int or (int, int)
        None in its place keeps an axis' size.
    return_mask : bool
        Also return the position of each maximum.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.nn.AdaptiveMaxPool2D([2, 1])(dygraph.arange(6.0).reshape(1, 1, 2, 3)).tolist()
    [[[[2.0], [5.0]]]]
    """

    _function = staticmethod(pools.adaptive_max_pool2d)

    def __init__(self, output_size, return_mask=False):
        super().__init__(output_size, return_mask=bool(return_mask))


class AdaptiveMaxPool1D(AdaptiveMaxPool2D):
    """Maxima over even parts of sequences ``[batch, channels, length]`` of any length.

    Parameters
    ----------
    output_size : int
        None keeps the length.
    return_mask : bool
        Also return the position of each maximum.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.nn.AdaptiveMaxPool1D(2)(dygraph.arange(6.0).reshape(1, 1, 6)).tolist()
    [[[2.0, 5.0]]]
    """

    _axes = 1
    _function = staticmethod(pools.adaptive_max_pool1d)


class AdaptiveMaxPool3D(AdaptiveMaxPool2D):
    """Maxima over even parts of volumes of any size.

    Volumes are ``[batch, channels, depth, height, width]``.

    Parameters
    ----------
    output_size : int or (int, int, int)
        None in its place keeps an axis' size.
    return_mask : bool
        Also return the position of each maximum.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.nn.AdaptiveMaxPool3D(1)(dygraph.arange(8.0).reshape(1, 1, 2, 2, 2)).tolist()
    [[[[[7.0]]]]]
    """

    _axes = 3
    _function = staticmethod(pools.adaptive_max_pool3d)


class MaxUnPool2D(_Windows):
    """Zeros with maxima at the positions of `MaxPool2D`.

    Parameters
    ----------
    pool_size, pool_stride, pool_padding
        As of that layer.
    output_size : (int, int), optional
        Height and width of the result, if the other arguments leave several.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[[1.0, 5.0], [3.0, 2.0]]]])
    >>> most, where = dygraph.nn.MaxPool2D(2, return_mask=True)(x)
    >>> dygraph.nn.MaxUnPool2D(2)(most, where).tolist()
    [[[[0.0, 5.0], [0.0, 0.0]]]]
    """

    def __init__(self, pool_size, pool_stride=None, pool_padding=0, output_size=None):
        super().__init__(pool_size, pool_stride, pool_padding)
        if output_size is not None:
            name = f"{type(self).__name__}: output_size"
            output_size = check.integers(output_size, self._axes, name, 1)
        self._size = output_size

    def forward(self, input, indices):
        unpool = getattr(unpools, f"max_unpool{self._axes}d")
        return unpool(input, indices, *self._window, self._size)


class MaxUnPool1D(MaxUnPool2D):
    """Zeros with maxima at the positions of `MaxPool1D`.

    Parameters
    ----------
    pool_size, pool_stride, pool_padding
        As of `MaxPool1D`.
    output_size : int, optional
        The length of the result, if the other arguments leave several.

    Examples
    --------
    >>> import dygraph
    >>> most, where = dygraph.nn.MaxPool1D(2, return_mask=True)(dygraph.to_variable([[[1.0, 5.0]]]))
    >>> dygraph.nn.MaxUnPool1D(2)(most, where).tolist()
    [[[0.0, 5.0]]]
    """

    _axes = 1


class MaxUnPool3D(MaxUnPool2D):
    """Zeros with maxima at the positions of `MaxPool3D`.

    Parameters
    ----------
    pool_size, pool_stride, pool_padding
        As of `MaxPool3D`.
    output_size : (int, int, int), optional
        Depth, height and width of the result, if the other arguments leave several.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[[[1.0, 5.0]]]]])
    >>> most, where = dygraph.nn.MaxPool3D((1, 1, 2), return_mask=True)(x)
    >>> dygraph.nn.MaxUnPool3D((1, 1, 2))(most, where).tolist()
    [[[[[0.0, 5.0]]]]]
    """

    _axes = 3
