"""Layers that resize, pad and rearrange images."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.functions import images
from dygraph.nn.layer import Layer

__all__ = [
    "ChannelShuffle",
    "Flatten",
    "Fold",
    "Pad2D",
    "PixelShuffle",
    "PixelUnshuffle",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2D",
    "UpsamplingNearest2D",
]

ops = _core.ops
_FORMATS = ("NCW", "NWC", "NCHW", "NHWC", "NCDHW", "NDHWC")


class Upsample(Layer):
    """Resize sequences, images or volumes; see `dygraph.ops.interpolate`.

    Parameters
    ----------
    size : int or list of int, optional
        Spatial sizes of the result. This or `scale_factor` must be given.
    scale_factor : float or list of float, optional
        Factors on the sizes of the input, rounded down; one for all axes or one for each.
    mode : 'nearest', 'linear', 'bilinear', 'trilinear', 'bicubic' or 'area'
    align_corners : bool
        True: the first and last pixels coincide. False: pixels are cells.
    align_mode : 0 or 1
        Without `align_corners`, 0 aligns the centres of the cells, 1 their beginnings.
    data_format : str, optional
        ``'NWC'``, ``'NHWC'`` or ``'NDHWC'``: the channels are last.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> up = dygraph.nn.Upsample(scale_factor=2, mode="bilinear")
    >>> up(dygraph.to_variable(np.ones((1, 3, 4, 5), "float32"))).shape
    (1, 3, 8, 10)
    """

    def __init__(
        self, size=None, scale_factor=None, mode="nearest", align_corners=False, align_mode=0,
        data_format=None,
    ):  # fmt: skip
        super().__init__()
        name = type(self).__name__
        if (size is None) == (scale_factor is None):
            raise InvalidArgumentError(
                f"{name}: one of size and scale_factor must be given, got "
                + ("neither" if size is None else "both")
            )
        modes = ("nearest", "linear", "bilinear", "trilinear", "bicubic", "area")
        check.choice(mode, modes, f"{name}: mode")
        check.choice(data_format, (None, *_FORMATS), f"{name}: data_format")
        self._arguments = (size, scale_factor, mode, bool(align_corners), align_mode, data_format)

    def forward(self, input):
        return images.interpolate(input, *self._arguments)

    def extra_repr(self):
        size, scale_factor, mode, corners, *_ = self._arguments
        what = f"scale_factor={scale_factor}" if size is None else f"size={size}"
        return f"{what}, mode='{mode}', align_corners={corners}"


class UpsamplingBilinear2D(Upsample):
    """Resize images by weighted means of four pixels, with aligned corners.

    Parameters
    ----------
    size : (int, int), optional
        Height and width of the result. This or `scale_factor` must be given.
    scale_factor : float or (float, float), optional
        Factors on height and width.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[[1.0, 3.0]]]])
    >>> dygraph.nn.UpsamplingBilinear2D(size=[1, 3])(x).tolist()
    [[[[1.0, 2.0, 3.0]]]]
    """

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, "bilinear", align_corners=True)


class UpsamplingNearest2D(Upsample):
    """Resize images by repeating pixels.

    Parameters
    ----------
    size : (int, int), optional
        Height and width of the result. This or `scale_factor` must be given.
    scale_factor : float or (float, float), optional
        Factors on height and width.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[[1.0, 3.0]]]])
    >>> dygraph.nn.UpsamplingNearest2D(scale_factor=2)(x).tolist()
    [[[[1.0, 1.0, 3.0, 3.0], [1.0, 1.0, 3.0, 3.0]]]]
    """

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, "nearest")


class PixelShuffle(Layer):
    """Channels become pixels: ``[n, c * r * r, h, w]`` to ``[n, c, h * r, w * r]``.

    Parameters
    ----------
    upscale_factor : int
        r (Shi et al., 2016).
    data_format : 'NCHW' or 'NHWC'

    Examples
    --------
    >>> import dygraph
    >>> dygraph.nn.PixelShuffle(2)(dygraph.arange(4.0).reshape(1, 4, 1, 1)).tolist()
    [[[[0.0, 1.0], [2.0, 3.0]]]]
    """

    def __init__(self, upscale_factor, data_format="NCHW"):
        super().__init__()
        self._factor = check.integer(upscale_factor, "PixelShuffle: upscale_factor", 1)
        self._format = check.choice(data_format, ("NCHW", "NHWC"), "PixelShuffle: data_format")

    def forward(self, input):
        return ops.pixel_shuffle(input, upscale_factor=self._factor, data_format=self._format)

    def extra_repr(self):
        return f"{self._factor}"


class Unfold(Layer):
    """The windows of images as columns: ``[n, c * height * width, windows]``.

    Parameters
    ----------
    filter_size, stride, dilation : int or (int, int)
        Of the window. PyTorch and Paddle order the arguments after the window differently, so they
        are given by name.
    padding : int, (int, int) or (int, int, int, int)
        Height and width, or top, left, bottom, right.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> unfold = dygraph.nn.Unfold(3, stride=2)
    >>> unfold(dygraph.to_variable(np.ones((1, 2, 7, 5), "float32"))).shape
    (1, 18, 6)
    """

    def __init__(self, filter_size, *, stride=1, padding=0, dilation=1):
        super().__init__()
        self._attrs = images.patches("Unfold", filter_size, stride, padding, dilation)

    def forward(self, input):
        return ops.unfold(input, **self._attrs)

    def extra_repr(self):
        a, names = self._attrs, {"strides": 1, "paddings": 0, "dilations": 1}
        return ", ".join(
            [f"{a['kernel_sizes']}"]
            + [f"{n[:-1]}={a[n]}" for n, usual in names.items() if set(a[n]) != {usual}]
        )


class Fold(Layer):
    """Columns of windows, as `Unfold` gives them, added into images.

    Parameters
    ----------
    output_size : int or (int, int)
        Height and width of the images.
    filter_size, stride, padding, dilation
        As of `Unfold`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.nn.Fold((1, 3), (1, 2))(dygraph.ones(1, 2, 2)).tolist()
    [[[[1.0, 2.0, 1.0]]]]
    """

    def __init__(self, output_size, filter_size, *, stride=1, padding=0, dilation=1):
        super().__init__()
        self._size = check.integers(output_size, 2, "Fold: output_size", 1)
        self._attrs = images.patches("Fold", filter_size, stride, padding, dilation)

    def forward(self, input):
        return ops.fold(input, output_sizes=self._size, **self._attrs)

    def extra_repr(self):
        return f"{self._size}, {Unfold.extra_repr(self)}"


class PixelUnshuffle(Layer):
    """Pixels become channels: ``[n, c, h * r, w * r]`` to ``[n, c * r * r, h, w]``.

    Parameters
    ----------
    downscale_factor : int
        r. The inverse of `PixelShuffle`.
    data_format : 'NCHW' or 'NHWC'

    Examples
    --------
    >>> import dygraph
    >>> dygraph.nn.PixelUnshuffle(2)(dygraph.ones(1, 1, 4, 6)).shape
    (1, 4, 2, 3)
    """

    def __init__(self, downscale_factor, data_format="NCHW"):
        super().__init__()
        self._factor = check.integer(downscale_factor, "PixelUnshuffle: downscale_factor", 1)
        self._format = check.choice(data_format, ("NCHW", "NHWC"), "PixelUnshuffle: data_format")

    def forward(self, input):
        return ops.pixel_unshuffle(input, downscale_factor=self._factor, data_format=self._format)

    def extra_repr(self):
        return f"{self._factor}"


class ChannelShuffle(Layer):
    """Channel ``i * n + j`` goes to ``j * groups + i``, of `groups` groups of n channels.

    Parameters
    ----------
    groups : int
        A divisor of the number of channels (Zhang et al., 2018).
    data_format : 'NCHW' or 'NHWC'

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.arange(4.0).reshape(1, 4, 1, 1)
    >>> dygraph.nn.ChannelShuffle(2)(x).reshape(4).tolist()
    [0.0, 2.0, 1.0, 3.0]
    """

    def __init__(self, groups, data_format="NCHW"):
        super().__init__()
        self._groups = check.integer(groups, "ChannelShuffle: groups", 1)
        self._format = check.choice(data_format, ("NCHW", "NHWC"), "ChannelShuffle: data_format")

    def forward(self, input):
        return ops.channel_shuffle(input, groups=self._groups, data_format=self._format)

    def extra_repr(self):
        return f"{self._groups}"


class Flatten(Layer):
    """Join the axes from `start_axis` to `stop_axis` into one.

    Parameters
    ----------
    start_axis, stop_axis : int
        Both are included; negative ones count from the end.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> dygraph.nn.Flatten()(dygraph.to_variable(np.ones((2, 3, 4)))).shape
    (2, 12)
    """

    def __init__(self, start_axis=1, stop_axis=-1):
        super().__init__()
        self._start = check.integer(start_axis, "Flatten: start_axis")
        self._stop = check.integer(stop_axis, "Flatten: stop_axis")

    def forward(self, input):
        return ops.flatten_contiguous_range(input, start_axis=self._start, stop_axis=self._stop)

    def extra_repr(self):
        return f"start_axis={self._start}, stop_axis={self._stop}"


class Pad2D(Layer):
    """Add a margin around images ``[batch, channels, height, width]``.

    Parameters
    ----------
    padding : int or (int, int, int, int)
        Left, right, top, bottom, as in PyTorch and Paddle 2; Fluid's `pad2d` has the top first.
    mode : 'constant', 'reflect' or 'replicate'
    value : float
        Of a constant margin.
    data_format : 'NCHW' or 'NHWC'

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> pad = dygraph.nn.Pad2D([2, 0, 1, 0])
    >>> pad(dygraph.to_variable(np.ones((1, 1, 3, 3), "float32"))).shape
    (1, 1, 4, 5)
    """

    def __init__(self, padding=0, mode="constant", value=0.0, data_format="NCHW"):
        super().__init__()
        self._padding = check.integers(padding, 4, "Pad2D: padding", 0)
        self._mode = check.choice(mode, ("constant", "reflect", "replicate"), "Pad2D: mode")
        self._attrs = {
            "paddings": self._padding[2:] + self._padding[:2],
            "mode": "edge" if mode == "replicate" else mode,
            "pad_value": check.number(value, "Pad2D: value"),
            "data_format": check.choice(data_format, ("NCHW", "NHWC"), "Pad2D: data_format"),
        }

    def forward(self, input):
        return ops.pad2d(input, **self._attrs)

    def extra_repr(self):
        value = f", value={self._attrs['pad_value']}" if self._attrs["pad_value"] else ""
        return f"{self._padding}, mode='{self._mode}'{value}"
