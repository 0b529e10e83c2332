"""Images: pooling, resizing, grids, moving pixels between axes.

Examples
--------
>>> import dygraph
>>> from dygraph import static
>>> x = dygraph.to_variable([[[[1.0, 2.0], [3.0, 4.0]]]])
>>> static.layers.pool2d(x, 2, "avg").tolist()
[[[[2.5]]]]
"""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.functions import fluid_images
from dygraph.static.layers.convolution import padded
from dygraph.static.layers.making import layer, operator, run


@operator()
def grid_sampler(x, grid, name=None):
    """The pixels of images at the places of a grid, by weighted means of four pixels.

    A place is ``(x, y)``: -1 is the middle of the first pixel, 1 that of the last. Outside are
    zeros (Jaderberg and others, 2015).

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    grid : Variable
        ``[batch, new height, new width, 2]``, as `affine_grid` makes it.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[batch, channels, new height, new width]``

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, y = to_variable([[[[1.0, 2.0], [3.0, 4.0]]]]), to_variable([[[[0.0, 0.0], [-1.0, 1.0]]]])
    >>> x, grid = x, y
    >>> layers.grid_sampler(x, grid).tolist()
    [[[[2.5, 3.0]]]]
    """


@operator(input="X")
def similarity_focus(input, axis, indexes, name=None):
    """A mask of the strongest elements of matrices, one for each row and column.

    Of a matrix the greatest element is chosen, then the greatest in the rows and columns that are
    left, and so on. The mask is 1 along `axis` wherever one of the matrices has a chosen element
    (He and Lin, 2016).

    Parameters
    ----------
    input : Variable
        ``[batch, a, b, c]``; float32 or float64.
    axis : int
        1, 2 or 3; the other two axes make the matrices.
    indexes : list of int
        Which matrices choose.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        0 and 1 in the shape and type of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[[[0.8, 0.1], [0.2, 0.9]]]])
    >>> layers.similarity_focus(x, axis=1, indexes=[0]).tolist()
    [[[[1.0, 0.0], [0.0, 1.0]]]]
    """


@operator()
def pixel_shuffle(x, upscale_factor):
    """Channels as pixels, so that images grow by `upscale_factor` (Shi and others, 2016).

    ``out[n, c, h * r + i, w * r + j] = x[n, (c * r + i) * r + j, h, w]``, where `r` is the factor.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``, the channels a multiple of ``r * r``; float32,
        float64, int32 or int64.
    upscale_factor : int
        The growth of height and width.

    Returns
    -------
    Variable
        ``[batch, channels / (r * r), height * r, width * r]``

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.pixel_shuffle(to_variable([[[[1]], [[2]], [[3]], [[4]]]]), upscale_factor=2).tolist()
    [[[[1, 2], [3, 4]]]]
    """


@operator()
def shuffle_channel(x, group, name=None):
    """The channels of several groups, dealt out in turn (Zhang and others, ShuffleNet, 2017).

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``; float32, float64, int32 or int64.
    group : int
        The number of groups; it divides the channels.
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
    >>> x = to_variable([[[[1]], [[2]], [[3]], [[4]]]])
    >>> layers.shuffle_channel(x, group=2).reshape([4]).tolist()
    [1, 3, 2, 4]
    """


@operator()
def space_to_depth(x, blocksize, name=None):
    """Blocks of pixels as channels, in the order of Redmon and Farhadi's reorganising layer (2016).

    With ``b`` the block size, the memory of the result is that of an image ``[batch, channels /
    b^2, height * b, width * b]``, whose pixel ``(h * b + i, w * b + j)`` of channel ``c`` is ``x[n,
    (i * b + j) * channels / b^2 + c, h, w]``.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``, the channels a multiple of ``b^2``, height and width
        of ``b``; float32, float64, int32 or int64.
    blocksize : int
        The height and width of a block.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[batch, channels * b^2, height / b, width / b]``

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> x = dygraph.arange(16).reshape([1, 4, 2, 2])
    >>> out = layers.space_to_depth(x, blocksize=2)
    >>> out.shape, out.reshape([4, 4])[:2].tolist()
    ((1, 16, 1, 1), [[0, 4, 1, 5], [8, 12, 9, 13]])
    """


@operator()
def temporal_shift(x, seg_num, shift_ratio=0.25, name=None):
    """Frames of clips with some channels taken from their neighbours (Lin, Gan and Han, 2018).

    The first `shift_ratio` of the channels come from the frame before, as many after them from the
    frame behind, the others from the frame itself; beyond the ends of a clip are zeros.

    Parameters
    ----------
    x : Variable
        ``[clips * seg_num, channels, height, width]``; float32 or float64.
    seg_num : int
        The frames of a clip.
    shift_ratio : float, default 0.25
        The share of the channels moved each way, at most 0.5.
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
    >>> x = to_variable([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]).reshape([2, 4, 1, 1])
    >>> layers.temporal_shift(x, seg_num=2).reshape([2, 4]).tolist()
    [[0.0, 6.0, 3.0, 4.0], [1.0, 0.0, 7.0, 8.0]]
    """


def _pooled(
    owner, axes, input, size, kind, stride, padding, whole, ceil_mode, exclusive, data_format
):
    check.choice(kind, ("max", "avg"), f"{owner}: pool_type")
    first = "NCHW" if axes == 2 else "NCDHW"
    check.choice(data_format, (first, f"N{first[2:]}C"), f"{owner}: data_format")
    is_open = axes == 2 and _core.holds_symbol(size)
    if not is_open and not whole and size == -1:
        raise InvalidArgumentError(
            f"{owner}: pool_size must be given unless global_pooling is True, got -1"
        )
    paddings, algorithm = padded(padding, axes, owner, data_format != first)
    attrs = {
        "ksize": [1] * axes if whole
        else size if is_open
        else check.integers(size, axes, f"{owner}: pool_size", 1),
        "pooling_type": kind, "global_pooling": bool(whole), "paddings": paddings,
        "strides": check.integers(stride, axes, f"{owner}: pool_stride", 1),
        "padding_algorithm": algorithm, "ceil_mode": bool(ceil_mode),
        "exclusive": bool(exclusive), "data_format": data_format,
    }  # fmt: skip
    return run(owner, {"X": input}, attrs)["Out"]


@layer
def pool2d(
    input, pool_size=-1, pool_type="max", pool_stride=1, pool_padding=0, global_pooling=False,
    use_cudnn=True, ceil_mode=False, name=None, exclusive=True, data_format="NCHW",
):  # fmt: skip
    """The maximum or the mean of each window of images.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``, or with the channels last; float32 or float64.
    pool_size : int or list of int, default -1
        Height and width of the window; -1 only with `global_pooling`. Variables may give both.
    pool_type : str, default "max"
        ``"max"`` or ``"avg"``.
    pool_stride : int or list of int, default 1
        Steps of the window, down and across.
    pool_padding : int, list of int or str, default 0
        One number, two (height, width), four (top, bottom, left, right), a pair for each axis,
        ``"SAME"`` or ``"VALID"``.
    global_pooling : bool, default False
        Whether the window is the whole image.
    use_cudnn : bool, default True
        Accepted as in Fluid; not used.
    ceil_mode : bool, default False
        Whether the last window may reach beyond the edge.
    name : str, optional
        The name of the result in a program; an eager call does not use it.
    exclusive : bool, default True
        Whether means leave out the padding.
    data_format : str, default "NCHW"
        ``"NCHW"`` or ``"NHWC"``.

    Returns
    -------
    Variable
        ``[batch, channels, new height, new width]``, or with the channels last.

    Raises
    ------
    InvalidArgumentError
        An argument has another value, or `pool_size` is missing.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[[[1.0, 2.0], [3.0, 6.0]]]])
    >>> layers.pool2d(x, 2).tolist(), layers.pool2d(x, 2, "avg").tolist()
    ([[[[6.0]]]], [[[[3.0]]]])
    >>> layers.pool2d(dygraph.ones([1, 3, 8, 8]), 2, pool_stride=2).shape
    (1, 3, 4, 4)
    """
    return _pooled(
        "pool2d", 2, input, pool_size, pool_type, pool_stride, pool_padding, global_pooling,
        ceil_mode, exclusive, data_format,
    )  # fmt: skip


@layer
def pool3d(
    input, pool_size=-1, pool_type="max", pool_stride=1, pool_padding=0, global_pooling=False,
    use_cudnn=True, ceil_mode=False, name=None, exclusive=True, data_format="NCDHW",
):  # fmt: skip
    """The maximum or the mean of each window of volumes.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, depth, height, width]``, or with the channels last; float32 or float64.
    pool_size : int or list of int, default -1
        The sizes of the window; -1 only with `global_pooling`.
    pool_type : str, default "max"
        ``"max"`` or ``"avg"``.
    pool_stride : int or list of int, default 1
        Steps of the window along the three axes.
    pool_padding : int, list of int or str, default 0
        One number, three, six (before and after each axis), a pair for each axis, ``"SAME"`` or
        ``"VALID"``.
    global_pooling : bool, default False
        Whether the window is the whole volume.
    use_cudnn : bool, default True
        Accepted as in Fluid; not used.
    ceil_mode : bool, default False
        Whether the last window may reach beyond the edge.
    name : str, optional
        The name of the result in a program; an eager call does not use it.
    exclusive : bool, default True
        Whether means leave out the padding.
    data_format : str, default "NCDHW"
        ``"NCDHW"`` or ``"NDHWC"``.

    Returns
    -------
    Variable
        ``[batch, channels, new depth, new height, new width]``, or with the channels last.

    Raises
    ------
    InvalidArgumentError
        An argument has another value, or `pool_size` is missing.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> layers.pool3d(dygraph.ones([1, 3, 4, 4, 4]), 2, pool_stride=2).shape
    (1, 3, 2, 2, 2)
    >>> x = dygraph.arange(8.0).reshape([1, 1, 2, 2, 2])
    >>> layers.pool3d(x, 2, "avg").item()
    3.5
    """
    return _pooled(
        "pool3d", 3, input, pool_size, pool_type, pool_stride, pool_padding, global_pooling,
        ceil_mode, exclusive, data_format,
    )  # fmt: skip


@layer
def affine_grid(theta, out_shape, name=None):
    """The places at which `grid_sampler` reads images that affine maps turn, move or stretch.

    ``out[n, i, j] = theta[n] (x_j, y_i, 1)``, with ``x`` and ``y`` from -1 to 1 in even steps
    (Jaderberg and others, 2015).

    Parameters
    ----------
    theta : Variable
        The maps, ``[batch, 2, 3]``; float32 or float64.
    out_shape : list of int or Variable
        The shape of the new images, ``[batch, channels, height, width]``.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[batch, height, width, 2]``

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> theta = to_variable([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> layers.affine_grid(theta, [1, 1, 2, 2]).tolist()
    [[[[-1.0, -1.0], [1.0, -1.0]], [[-1.0, 1.0], [1.0, 1.0]]]]
    """
    if isinstance(out_shape, _core.Variable):
        return run("affine_grid", {"Theta": theta, "OutputShape": out_shape})["Output"]
    return run("affine_grid", {"Theta": theta}, {"output_shape": list(out_shape)})["Output"]


@layer
def unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1, name=None):
    """The windows of images as columns.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    kernel_sizes : int or list of int
        Height and width of the window.
    strides : int or list of int, default 1
        Steps of the window, down and across.
    paddings : int or list of int, default 0
        Zeros around the image: one number, two (height, width) or four (top, left, bottom, right).
    dilations : int or list of int, default 1
        The distance between the pixels of a window, down and across.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[batch, channels * window, windows]``

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> x = dygraph.arange(6.0).reshape([1, 1, 2, 3])
    >>> layers.unfold(x, 2).tolist()
    [[[0.0, 1.0], [1.0, 2.0], [3.0, 4.0], [4.0, 5.0]]]
    """
    sides = paddings if isinstance(paddings, (list, tuple)) else [paddings] * 4
    sides = [*sides, *sides] if len(sides) == 2 else list(sides)
    attrs = {
        "kernel_sizes": check.integers(kernel_sizes, 2, "unfold: kernel_sizes", 1),
        "strides": check.integers(strides, 2, "unfold: strides", 1), "paddings": sides,
        "dilations": check.integers(dilations, 2, "unfold: dilations", 1),
    }  # fmt: skip
    return run("unfold", {"X": x}, attrs)["Y"]


@layer
def interpolate(
    input, out_shape=None, scale=None, name=None, resample="BILINEAR", actual_shape=None,
    align_corners=True, align_mode=1, data_format="NCHW",
):  # fmt: skip
    """Images or volumes in another size.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``, or volumes for ``"TRILINEAR"``; float32 or float64.
    out_shape : list of int or Variable, optional
        The new sizes in space; it goes before `scale`.
    scale : float or Variable, optional
        The factor of the sizes; a Variable must have one element.
    name : str, optional
        The name of the result in a program; an eager call does not use it.
    resample : str, default "BILINEAR"
        ``"BILINEAR"``, ``"NEAREST"`` or ``"TRILINEAR"``.
    actual_shape : Variable, optional
        The new sizes, in place of `out_shape`.
    align_corners : bool, default True
        Whether the middles of the outermost pixels stay where they are.
    align_mode : int, default 1
        Without `align_corners`: 0 takes a pixel at its middle, 1 at its corner.
    data_format : str, default "NCHW"
        ``"NCHW"`` or ``"NHWC"``; of volumes ``"NCDHW"`` or ``"NDHWC"``.

    Returns
    -------
    Variable
        The new sizes in the place of the old ones.

    Raises
    ------
    InvalidArgumentError
        Neither sizes nor a scale are given, or `resample` or `data_format` is unknown.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.interpolate(to_variable([[[[1.0, 3.0]]]]), out_shape=[1, 3]).tolist()
    [[[[1.0, 2.0, 3.0]]]]
    """
    return fluid_images.image_resize(
        input, out_shape, scale, name, resample, actual_shape, align_corners, align_mode,
        data_format,
    )  # fmt: skip


@layer
def im2sequence(
    input, filter_size=1, stride=1, padding=0, input_image_size=None, out_stride=1, name=None
):
    """The windows of images as rows, each image as one sequence.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    filter_size : int or list of int, default 1
        Height and width of the window.
    stride : int or list of int, default 1
        Steps of the window, down and across.
    padding : int or list of int, default 0
        Zeros around the image: one number, two (height, width) or four (top, left, bottom, right).
    input_image_size : Variable, optional
        ``[batch, 2]``: the height and width of each image before it was shrunk; windows beyond them
        are left out.
    out_stride : int or list of int, default 1
        How far the images were shrunk, down and across, for `input_image_size`.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[windows of all images, channels * window]`` with LoD, of the type of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> image = to_variable([[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]])
    >>> out = layers.im2sequence(image, filter_size=2)
    >>> out.tolist(), out.lod()
    ([[1.0, 2.0, 4.0, 5.0], [2.0, 3.0, 5.0, 6.0]], [[0, 2]])
    """
    sides = padding if isinstance(padding, (list, tuple)) else [padding] * 4
    sides = [*sides, *sides] if len(sides) == 2 else list(sides)
    attrs = {
        "kernels": check.integers(filter_size, 2, "im2sequence: filter_size", 1),
        "strides": check.integers(stride, 2, "im2sequence: stride", 1), "paddings": sides,
        "out_stride": check.integers(out_stride, 2, "im2sequence: out_stride", 1),
    }  # fmt: skip
    return run("im2sequence", {"X": input, "Y": input_image_size}, attrs)["Out"]


__all__ = [
    "affine_grid", "grid_sampler", "im2sequence", "interpolate", "pixel_shuffle", "pool2d",
    "pool3d", "shuffle_channel", "similarity_focus", "space_to_depth", "temporal_shift", "unfold",
]  # fmt: skip
