"""Resizing, windows as columns, the order of pixels, and sampling."""

import numpy as np

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.functions import images
from dygraph.nn.functional.spelling import spelled

__all__ = [
    "affine_grid", "channel_shuffle", "fold", "grid_sample", "interpolate", "pixel_shuffle",
    "pixel_unshuffle", "unfold", "upsample",
]  # fmt: skip

ops = _core.ops


# Pixels -------------------------------------------------------------------------------------------


@spelled
def interpolate(
    x, size=None, scale_factor=None, mode="nearest", align_corners=False, align_mode=0,
    data_format=None, *, recompute_scale_factor=None, antialias=False,
):  # fmt: skip
    """Resize sequences, images or volumes.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, length]`` for 'nearest', 'linear' and 'area', ``[batch, channels,
        height, width]`` for 'nearest', 'bilinear', 'bicubic' and 'area', with a depth for
        'nearest', 'trilinear' and 'area'; float32 or float64.
    size : int or list of int, optional
        Spatial sizes of the result. This or `scale_factor` must be given.
    scale_factor : float or list of float, optional
        Factors on the sizes of `x`, rounded down; one for all axes or one for each. Elements of
        the result lie ``1 / scale_factor`` apart, as in PyTorch and Paddle.
    mode : 'nearest', 'linear', 'bilinear', 'trilinear', 'bicubic' or 'area'
    align_corners : bool
        True: the first and last pixels coincide. False: pixels are cells.
    align_mode : 0 or 1
        Without `align_corners`, 0 aligns the centres of the cells, as PyTorch does, 1 their
        beginnings.
    data_format : str, optional
        Paddle's: 'NWC', 'NHWC' or 'NDHWC' for channels that are last.
    recompute_scale_factor : bool, optional
        PyTorch's: True measures by sizes where `scale_factor` gave them, too.
    antialias : bool
        False.

    Returns
    -------
    Variable

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for another mode and for sizes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x = dygraph.to_variable([[[[1.0, 3.0]]]])
    >>> F.interpolate(x, size=[1, 3], mode="bilinear", align_corners=True).tolist()
    [[[[1.0, 2.0, 3.0]]]]
    """
    if mode in ("nearest", "area") and align_corners:
        raise InvalidArgumentError(
            f"interpolate: align_corners must be False for mode '{mode}', got True"
        )
    if antialias:
        raise InvalidArgumentError(
            "interpolate: antialias must be False. mode='area' gives means of what is made smaller"
        )
    corners = bool(align_corners)
    if recompute_scale_factor and size is None and scale_factor is not None:
        size, scale_factor = images.sizes_by(x, scale_factor, data_format), None
    return images.interpolate(x, size, scale_factor, mode, corners, align_mode, data_format)


upsample = interpolate


@spelled
def pixel_shuffle(x, upscale_factor):
    """Channels become pixels: ``[n, c * r * r, h, w]`` to ``[n, c, h * r, w * r]``.

    Parameters
    ----------
    x : Variable
        float32 or float64.
    upscale_factor : int
        r (Shi et al., 2016).

    Returns
    -------
    Variable

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for channels that are no multiple of ``r * r``.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.pixel_shuffle(dygraph.arange(4.0).reshape(1, 4, 1, 1), 2).tolist()
    [[[[0.0, 1.0], [2.0, 3.0]]]]
    """
    factor = check.integer(upscale_factor, "pixel_shuffle: upscale_factor", 1)
    return ops.pixel_shuffle(x, upscale_factor=factor)


@spelled
def pixel_unshuffle(x, downscale_factor):
    """Pixels become channels: ``[n, c, h * r, w * r]`` to ``[n, c * r * r, h, w]``.

    Parameters
    ----------
    x : Variable
        float32 or float64.
    downscale_factor : int
        r. The inverse of `pixel_shuffle`.

    Returns
    -------
    Variable

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for heights and widths that are no multiples of r.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.pixel_unshuffle(dygraph.arange(4.0).reshape(1, 1, 2, 2), 2).reshape(4).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    factor = check.integer(downscale_factor, "pixel_unshuffle: downscale_factor", 1)
    return ops.pixel_unshuffle(x, downscale_factor=factor)


@spelled
def channel_shuffle(x, groups):
    """Channel ``i * n + j`` goes to ``j * groups + i``, of `groups` groups of n channels.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``, float32 or float64.
    groups : int
        A divisor of the number of channels (Zhang et al., 2018).

    Returns
    -------
    Variable
        The shape of `x`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for channels that are no multiple of `groups`.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.channel_shuffle(dygraph.arange(4.0).reshape(1, 4, 1, 1), 2).reshape(4).tolist()
    [0.0, 2.0, 1.0, 3.0]
    """
    return ops.shuffle_channel(x, group=check.integer(groups, "channel_shuffle: groups", 1))


@spelled
def unfold(x, kernel_size, *, stride=1, padding=0, dilation=1):
    """The windows of images as columns, ``[n, c * height * width, windows]``.

    PyTorch and Paddle order the arguments after the window differently, so they are given by name.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``, float32 or float64.
    kernel_size, stride, dilation : int or (int, int)
    padding : int, (int, int) or (int, int, int, int)
        Height and width, or top, left, bottom, right.

    Returns
    -------
    Variable

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for sizes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.unfold(dygraph.arange(3.0).reshape(1, 1, 1, 3), (1, 2)).tolist()
    [[[0.0, 1.0], [1.0, 2.0]]]
    """
    return ops.unfold(x, **images.patches("unfold", kernel_size, stride, padding, dilation))


@spelled
def fold(x, output_size, kernel_size, *, stride=1, padding=0, dilation=1):
    """Columns of windows, as `unfold` gives them, added into images.

    PyTorch and Paddle order the arguments after the window differently, so they are given by name.

    Parameters
    ----------
    x : Variable
        ``[batch, channels * height * width of the window, windows]``, float32 or float64.
    output_size : int or (int, int)
        Height and width of the images.
    kernel_size, stride, dilation : int or (int, int)
    padding : int, (int, int) or (int, int, int, int)
        Height and width, or top, left, bottom, right.

    Returns
    -------
    Variable
        ``[batch, channels, height, width]``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for sizes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.fold(dygraph.ones(1, 2, 2), (1, 3), (1, 2)).tolist()
    [[[[1.0, 2.0, 1.0]]]]
    """
    sizes = check.integers(output_size, 2, "fold: output_size", 1)
    return ops.fold(
        x, output_sizes=sizes, **images.patches("fold", kernel_size, stride, padding, dilation)
    )


def _corners(align_corners, owner):
    if align_corners is None:
        raise ArgumentTypeError(
            f"{owner}: align_corners must be given: PyTorch's default is False, Paddle's True"
        )
    if not isinstance(align_corners, (bool, np.bool_)):
        raise ArgumentTypeError(
            f"{owner}: align_corners must be True or False, got {kind_of(align_corners)}"
        )
    return bool(align_corners)


@spelled
def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """The pixels of `x` at the places of `grid`, interpolated.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``, float32 or float64.
    grid : Variable
        ``[batch, out height, out width, 2]``: x and y, -1 to 1 from one end to the other.
    mode : 'bilinear' or 'nearest'
    padding_mode : 'zeros', 'border' or 'reflection'
        What lies beyond.
    align_corners : bool
        Must be given: PyTorch's default is False, Paddle's True. True: -1 and 1 are the centres of
        the first and last pixels; False: their outer edges.

    Returns
    -------
    Variable
        ``[batch, channels, out height, out width]``.

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        (a TypeError, a ValueError) without `align_corners`; for shapes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x = dygraph.to_variable([[[[1.0, 3.0]]]])
    >>> F.grid_sample(x, dygraph.zeros([1, 1, 1, 2], x.dtype), align_corners=True).tolist()
    [[[[2.0]]]]
    """
    corners = _corners(align_corners, "grid_sample")
    check.choice(mode, ("bilinear", "nearest"), "grid_sample: mode")
    return ops.grid_sampler(x, grid, mode=mode, padding_mode=padding_mode, align_corners=corners)


@spelled
def affine_grid(theta, size, align_corners=None):
    """The places that `grid_sample` reads for an affine map.

    Parameters
    ----------
    theta : Variable
        ``[batch, 2, 3]``, float32 or float64.
    size : list of int
        ``[batch, channels, height, width]`` of the output.
    align_corners : bool
        Must be given: PyTorch's default is False, Paddle's True; as that of `grid_sample`.

    Returns
    -------
    Variable
        ``[batch, height, width, 2]``.

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        (a TypeError, a ValueError) without `align_corners`; for shapes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> theta = dygraph.to_variable([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> F.affine_grid(theta, [1, 1, 1, 2], align_corners=True).tolist()
    [[[[-1.0, 0.0], [1.0, 0.0]]]]
    """
    corners = _corners(align_corners, "affine_grid")
    sizes = check.integers(size, 4, "affine_grid: size", 1)
    return ops.affine_grid(theta, output_shape=sizes, align_corners=corners)
