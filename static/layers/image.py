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
from dygraph.functions import fluid_functions
from dygraph.static.layers.convolution import padded
from dygraph.static.layers.making import layer, operator, run


@operator()
def grid_sampler(x, grid, name=None):
    """The pixels at the positions of a grid in [-1, 1]."""


@operator(input="X")
def similarity_focus(input, axis, indexes, name=None):
    """1 at the maxima of selected matrices, one for each row and column; else 0."""


@operator()
def pixel_shuffle(x, upscale_factor):
    """Channels as pixels: images grow by the factor."""


@operator()
def shuffle_channel(x, group, name=None):
    """The channels of the groups, interleaved."""


@operator()
def space_to_depth(x, blocksize, name=None):
    """Blocks of pixels rearranged as channels."""


@operator()
def temporal_shift(x, seg_num, shift_ratio=0.25, name=None):
    """A share of the channels shifted one step back, and another one forward."""


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
    pool_size, pool_stride : int or list of int
        One number for both axes, or height and width. Of `pool_size` Variables may give both.
    pool_type : 'max' or 'avg'
    pool_padding : int, list of int or str
        As of `conv2d`.
    global_pooling : bool
        The window is the whole image.
    use_cudnn : bool
        Fluid's; not used.
    ceil_mode : bool
        The last window may extend over the edge.
    name : str, optional
    exclusive : bool
        Means exclude the padding.
    data_format : 'NCHW' or 'NHWC'

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.pool2d(dygraph.ones([1, 3, 8, 8]), 2, pool_stride=2).shape
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
    """The maximum or the mean of each window of volumes; see `pool2d`.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.pool3d(dygraph.ones([1, 3, 4, 4, 4]), 2, pool_stride=2).shape
    (1, 3, 2, 2, 2)
    """
    return _pooled(
        "pool3d", 3, input, pool_size, pool_type, pool_stride, pool_padding, global_pooling,
        ceil_mode, exclusive, data_format,
    )  # fmt: skip


@layer
def affine_grid(theta, out_shape, name=None):
    """The grid for `grid_sampler` of affine maps ``[batch, 2, 3]`` of images.

    `out_shape` is the shape of the result's images, a list or a Variable.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.affine_grid(dygraph.ones([1, 2, 3]), [1, 1, 4, 5]).shape
    (1, 4, 5, 2)
    """
    if isinstance(out_shape, _core.Variable):
        return run("affine_grid", {"Theta": theta, "OutputShape": out_shape})["Output"]
    return run("affine_grid", {"Theta": theta}, {"output_shape": list(out_shape)})["Output"]


@layer
def unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1, name=None):
    """The windows of images as columns, ``[batch, channels * window, windows]``.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.unfold(dygraph.ones([1, 3, 4, 4]), 2).shape
    (1, 12, 9)
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
    """Resize images or volumes, as ``image_resize``.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.interpolate(dygraph.ones([1, 3, 4, 5]), out_shape=[8, 6]).shape
    (1, 3, 8, 6)
    """
    return fluid_functions.image_resize(
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
        ``[batch, 2]``: the height and width of the part of each image to cover.
    out_stride : int or list of int, default 1
        The factors by which `input_image_size` exceeds the windows' image.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[batch * windows, channels * window]`` with LoD, of the type of `input`.

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
