"""Functions of ``fluid.layers`` on images, with Fluid's arguments."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.functions import images, pools

__all__ = [
    "adaptive_pool2d", "adaptive_pool3d", "fsp_matrix", "image_resize", "image_resize_short",
    "resize_bilinear", "resize_nearest", "resize_trilinear",
]  # fmt: skip

ops = _core.ops


def fsp_matrix(x, y):
    """Products of the channels of two images: ``out[b] = x[b] y[b]^T / (height * width)``.

    Yim and others, "A gift from knowledge distillation", 2017.

    Parameters
    ----------
    x, y : Variable
        ``[batch, channels, height, width]``, of one size except for the channels.

    Returns
    -------
    Variable
        ``[batch, channels of x, channels of y]``.

    Examples
    --------
    >>> import dygraph
    >>> x, y = dygraph.ones([1, 2, 3, 3]), dygraph.full([1, 1, 3, 3], 5.0)
    >>> dygraph.ops.fsp_matrix(x, y).tolist()
    [[[5.0], [5.0]]]
    """
    for name, v in (("x", x), ("y", y)):
        check.variable(v, f"fsp_matrix: {name}")
    return ops.fsp(x, y)


_RESIZE = {
    "nearest": "nearest_interp",
    "bilinear": "bilinear_interp",
    "trilinear": "trilinear_interp",
}


def _resized(input, out_shape, scale, mode, align_corners, align_mode, data_format, owner):
    """By Fluid's operators, which measure by sizes where a scale gave them, too."""
    axes = 3 if mode == "trilinear" else 2
    images.require_axes(input, axes, owner)
    attrs = {
        "align_corners": bool(align_corners),
        "align_mode": check.integer(align_mode, f"{owner}: align_mode", 0),
    }
    formats = (None, "NCDHW", "NDHWC") if axes == 3 else (None, "NCHW", "NHWC")
    if check.choice(data_format, formats, f"{owner}: data_format for {mode}") == formats[2]:
        attrs["data_layout"] = "NHWC"
    if out_shape is not None:  # as in Fluid, sizes override a scale
        sizes = out_shape.tolist() if isinstance(out_shape, _core.Variable) else list(out_shape)
        names = ("out_d", "out_h", "out_w")[-axes:]
        sizes = check.integers(sizes, axes, f"{owner}: out_shape", 1)
        attrs.update(zip(names, sizes, strict=True))
    elif scale is None:
        raise InvalidArgumentError(f"{owner}: out_shape or scale must be given, got neither")
    else:
        scale = scale.item() if isinstance(scale, _core.Variable) else scale
        attrs["scale"] = check.number(scale, f"{owner}: scale", 0)
    return getattr(ops, _RESIZE[mode])(input, **attrs)


def image_resize(
    input,
    out_shape=None,
    scale=None,
    name=None,
    resample="BILINEAR",
    actual_shape=None,
    align_corners=True,
    align_mode=1,
    data_format="NCHW",
):
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
        The new sizes in the place of the old ones, the type of `input`.

    Raises
    ------
    InvalidArgumentError
        Neither sizes nor a scale are given, or `resample` or `data_format` is unknown.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> x = to_variable([[[[1.0, 3.0]]]])
    >>> dygraph.ops.image_resize(x, out_shape=[1, 3]).tolist()
    [[[[1.0, 2.0, 3.0]]]]
    """
    names = {"BILINEAR": "bilinear", "NEAREST": "nearest", "TRILINEAR": "trilinear"}
    mode = names[check.choice(resample, tuple(names), "image_resize: resample")]
    formats = ("NCDHW", "NDHWC") if mode == "trilinear" else ("NCHW", "NHWC")
    check.choice(data_format, formats, f"image_resize: data_format for {resample}")
    sizes = out_shape if actual_shape is None else actual_shape
    return _resized(
        input, sizes, scale, mode, align_corners, align_mode, data_format, "image_resize"
    )


def resize_bilinear(
    input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True,
    align_mode=1, data_format="NCHW",
):  # fmt: skip
    """Images in another size, by weighted means of four pixels; `image_resize` with ``"BILINEAR"``.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``, or with the channels last; float32 or float64.
    out_shape : list of int or Variable, optional
        The new height and width; it goes before `scale`.
    scale : float or Variable, optional
        The factor of the sizes; a Variable must have one element.
    name : str, optional
        The name of the result in a program; an eager call does not use it.
    actual_shape : Variable, optional
        The new sizes, in place of `out_shape`.
    align_corners : bool, default True
        Whether the middles of the outermost pixels stay where they are.
    align_mode : int, default 1
        Without `align_corners`: 0 takes a pixel at its middle, 1 at its corner.
    data_format : str, default "NCHW"
        ``"NCHW"`` or ``"NHWC"``.

    Returns
    -------
    Variable
        The new sizes in the place of the old ones, the type of `input`.

    Raises
    ------
    InvalidArgumentError
        Neither sizes nor a scale are given, or `data_format` is unknown.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> x = to_variable([[[[1.0, 3.0]]]])
    >>> dygraph.ops.resize_bilinear(x, out_shape=[1, 3]).tolist()
    [[[[1.0, 2.0, 3.0]]]]
    """
    return image_resize(
        input, out_shape, scale, name, "BILINEAR", actual_shape, align_corners, align_mode,
        data_format,
    )  # fmt: skip


def resize_nearest(
    input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True,
    data_format="NCHW",
):  # fmt: skip
    """Images in another size, by the nearest pixel; `image_resize` with ``"NEAREST"``.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``, or with the channels last; float32 or float64.
    out_shape : list of int or Variable, optional
        The new height and width; it goes before `scale`.
    scale : float or Variable, optional
        The factor of the sizes; a Variable must have one element.
    name : str, optional
        The name of the result in a program; an eager call does not use it.
    actual_shape : Variable, optional
        The new sizes, in place of `out_shape`.
    align_corners : bool, default True
        Whether the middles of the outermost pixels stay where they are.
    data_format : str, default "NCHW"
        ``"NCHW"`` or ``"NHWC"``.

    Returns
    -------
    Variable
        The new sizes in the place of the old ones, the type of `input`.

    Raises
    ------
    InvalidArgumentError
        Neither sizes nor a scale are given, or `data_format` is unknown.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> x = to_variable([[[[1.0, 3.0]]]])
    >>> dygraph.ops.resize_nearest(x, out_shape=[1, 4]).tolist()
    [[[[1.0, 1.0, 3.0, 3.0]]]]
    """
    return image_resize(
        input, out_shape, scale, name, "NEAREST", actual_shape, align_corners, 1, data_format
    )


def resize_trilinear(
    input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True,
    align_mode=1, data_format="NCDHW",
):  # fmt: skip
    """Volumes in another size, by weighted means of eight cells.

    It is `image_resize` with ``"TRILINEAR"``.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, depth, height, width]``, or with the channels last; float32 or float64.
    out_shape : list of int or Variable, optional
        The new depth, height and width; it goes before `scale`.
    scale : float or Variable, optional
        The factor of the sizes; a Variable must have one element.
    name : str, optional
        The name of the result in a program; an eager call does not use it.
    actual_shape : Variable, optional
        The new sizes, in place of `out_shape`.
    align_corners : bool, default True
        Whether the middles of the outermost cells stay where they are.
    align_mode : int, default 1
        Without `align_corners`: 0 takes a cell at its middle, 1 at its corner.
    data_format : str, default "NCDHW"
        ``"NCDHW"`` or ``"NDHWC"``.

    Returns
    -------
    Variable
        The new sizes in the place of the old ones, the type of `input`.

    Raises
    ------
    InvalidArgumentError
        Neither sizes nor a scale are given, or `data_format` is unknown.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> x = to_variable([[[[[1.0]], [[3.0]]]]])
    >>> dygraph.ops.resize_trilinear(x, out_shape=[3, 1, 1]).tolist()
    [[[[[1.0]], [[2.0]], [[3.0]]]]]
    """
    return image_resize(
        input, out_shape, scale, name, "TRILINEAR", actual_shape, align_corners, align_mode,
        data_format,
    )  # fmt: skip


def image_resize_short(input, out_short_len, resample="BILINEAR"):
    """Images whose shorter side becomes `out_short_len`; height and width keep their proportion.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]`` of known sizes; float32 or float64.
    out_short_len : int
        The new length of the shorter side.
    resample : str, default "BILINEAR"
        ``"BILINEAR"`` or ``"NEAREST"``.

    Returns
    -------
    Variable
        ``[batch, channels, new height, new width]``

    Raises
    ------
    InvalidArgumentError
        `input` has no pixels or has not 4 axes.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.ops.image_resize_short(dygraph.ones([1, 1, 4, 6]), 8).shape
    (1, 1, 8, 12)
    """
    images.require_axes(input, 2, "image_resize_short")
    short = check.integer(out_short_len, "image_resize_short: out_short_len", 1)
    sizes = [check.known_size(input, axis, "image_resize_short") for axis in (2, 3)]
    least = min(sizes)
    if least < 1:
        raise InvalidArgumentError(
            f"image_resize_short: input must have pixels, got shape {list(input.shape)}"
        )
    return image_resize(
        input, [int(n * (short / least) + 0.5) for n in sizes], None, None, resample
    )


def _adaptive(axes, input, pool_size, pool_type, require_index, owner):
    check.choice(pool_type, ("max", "avg"), f"{owner}: pool_type")
    if pool_type == "max":
        pool = pools.adaptive_max_pool2d if axes == 2 else pools.adaptive_max_pool3d
        return pool(input, pool_size, bool(require_index))
    if require_index:
        raise InvalidArgumentError(f"{owner}: require_index must be False for 'avg', got True")
    pool = pools.adaptive_avg_pool2d if axes == 2 else pools.adaptive_avg_pool3d
    return pool(input, pool_size)


def adaptive_pool2d(input, pool_size, pool_type="max", require_index=False, name=None):
    """Images of any size, pooled to `pool_size`: windows share them out evenly.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    pool_size : int or list of int
        The height and width of the result.
    pool_type : str, default "max"
        ``"max"`` or ``"avg"``.
    require_index : bool, default False
        Whether to return the places of the maxima as well.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable, or tuple of two
        ``[batch, channels, *pool_size]``; with `require_index` that and the places in the image,
        counted row by row.

    Raises
    ------
    InvalidArgumentError
        `pool_type` is unknown, or an average is to have places.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.arange(6.0).reshape(1, 1, 2, 3)
    >>> dygraph.ops.adaptive_pool2d(x, [2, 1], "avg").tolist()
    [[[[1.0], [4.0]]]]
    """
    return _adaptive(2, input, pool_size, pool_type, require_index, "adaptive_pool2d")


def adaptive_pool3d(input, pool_size, pool_type="max", require_index=False, name=None):
    """Volumes of any size, pooled to `pool_size`: windows share them out evenly.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, depth, height, width]``; float32 or float64.
    pool_size : int or list of int
        The depth, height and width of the result.
    pool_type : str, default "max"
        ``"max"`` or ``"avg"``.
    require_index : bool, default False
        Whether to return the places of the maxima as well.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable, or tuple of two
        ``[batch, channels, *pool_size]``; with `require_index` that and the places in the volume.

    Raises
    ------
    InvalidArgumentError
        `pool_type` is unknown, or an average is to have places.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.arange(8.0).reshape(1, 1, 2, 2, 2)
    >>> dygraph.ops.adaptive_pool3d(x, 1).tolist()
    [[[[[7.0]]]]]
    """
    return _adaptive(3, input, pool_size, pool_type, require_index, "adaptive_pool3d")
