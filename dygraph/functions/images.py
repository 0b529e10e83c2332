"""Functions of sequences, images and volumes that combine one or two operators.

`dygraph.ops` has them beside the operators themselves. Arrays are ``[batch, channels, ...]``
with one, two or three spatial axes. A sequence is computed as an image of height 1.
"""

from dygraph import _core
from dygraph.core import check
from dygraph.core.faces import face
from dygraph.errors import InvalidArgumentError

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "conv1d", "conv1d_transpose", "interpolate", "local_response_norm", "max_pool1d", "max_pool2d",
    "max_pool3d", "max_unpool2d",
]  # fmt: skip

ops = _core.ops
_SPACE = {1: "length", 2: "height, width", 3: "depth, height, width"}


def require_axes(input, axes, owner):
    """`input` if it is a Variable ``[batch, channels]`` plus `axes` spatial axes."""
    check.variable(input, f"{owner}: input")
    if len(input.shape) != axes + 2:
        raise InvalidArgumentError(
            f"{owner}: input must have {axes + 2} axes, [batch, channels, {_SPACE[axes]}], "
            f"got shape {list(input.shape)}"
        )
    return input


def _flat(input):
    """A sequence as an image of height 1."""
    return ops.unsqueeze2(input, axes=[2])


def _line(image):
    return ops.squeeze2(image, axes=[2])


# Convolution --------------------------------------------------------------------------------------


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Convolution of sequences.

    ``out[n, o, i] = sum over c, k of input[n, c, i * stride + k * dilation - padding] *
    weight[o, c, k] + bias[o]``.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, length]``, float32 or float64.
    weight : Variable
        ``[filters, channels / groups, window]``.
    bias : Variable, optional
        ``[filters]``.
    stride, padding, dilation, groups : int

    Returns
    -------
    Variable
        ``[batch, filters, (length + 2 * padding - dilation * (window - 1) - 1) // stride + 1]``.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x, w = (dygraph.to_variable(np.ones(s, "float32")) for s in ((1, 2, 5), (3, 2, 3)))
    >>> dygraph.ops.conv1d(x, w).shape
    (1, 3, 3)
    """
    require_axes(input, 1, "conv1d")
    out = ops.conv2d(
        _flat(input),
        _flat(_weight(weight, input, "conv1d")),
        bias=bias,
        strides=[1, check.integer(stride, "conv1d: stride", 1)],
        paddings=[0, check.integer(padding, "conv1d: padding", 0)],
        dilations=[1, check.integer(dilation, "conv1d: dilation", 1)],
        groups=check.integer(groups, "conv1d: groups", 1),
    )
    return _line(out)


def conv1d_transpose(
    input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, output_size=None,
    output_padding=0,
):  # fmt: skip
    """The transpose of `conv1d`: its gradient with respect to the input, as a function.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, length]``.
    weight : Variable
        ``[channels, filters / groups, window]``.
    bias : Variable, optional
        ``[filters]``.
    stride, padding, dilation, groups : int
    output_size : int, optional
        Length of the result if a stride allows several. None: the smallest.
    output_padding : int
        The additional length over the smallest, less than `stride`; instead of `output_size`.

    Returns
    -------
    Variable
        ``[batch, filters, (length - 1) * stride - 2 * padding + dilation * (window - 1) + 1]``,
        longer by `output_padding`.

    Examples
    --------
    >>> import dygraph
    >>> x, w = dygraph.to_variable([[[1.0, 2.0]]]), dygraph.to_variable([[[1.0, 10.0]]])
    >>> dygraph.ops.conv1d_transpose(x, w, stride=2).tolist()
    [[[1.0, 10.0, 2.0, 20.0]]]
    """
    require_axes(input, 1, "conv1d_transpose")
    more = {}
    longer = check.integers(output_padding, 1, "conv1d_transpose: output_padding", 0)
    if output_size is not None:
        only_one_size(longer, "conv1d_transpose")
        more["output_size"] = [1, *check.integers(output_size, 1, "conv1d_transpose: output_size")]
    elif any(longer):
        more["output_padding"] = [0, *longer]
    out = ops.conv2d_transpose(
        _flat(input),
        _flat(_weight(weight, input, "conv1d_transpose")),
        bias=bias,
        strides=[1, check.integer(stride, "conv1d_transpose: stride", 1)],
        paddings=[0, check.integer(padding, "conv1d_transpose: padding", 0)],
        dilations=[1, check.integer(dilation, "conv1d_transpose: dilation", 1)],
        groups=check.integer(groups, "conv1d_transpose: groups", 1),
        **more,
    )
    return _line(out)


def only_one_size(output_padding, owner):
    """Raises an error if both `output_size` and an output padding are given."""
    if any(output_padding):
        raise InvalidArgumentError(
            f"{owner}: one of output_size and output_padding may be given, got both"
        )


def _weight(weight, input, owner):
    shape = list(check.variable(weight, f"{owner}: weight").shape)
    if len(shape) != 3:
        raise InvalidArgumentError(f"{owner}: weight must have 3 axes, got shape {shape}")
    return face(weight, input, owner)


# Pooling ------------------------------------------------------------------------------------------


def _windows(axes, owner, size, stride, padding):
    """ksize, strides and paddings of the operators; a stride of None is the window's size."""
    if not _core.holds_symbol(size) or axes != 2:
        size = check.integers(size, axes, f"{owner}: pool_size", 1)
    elif stride is None:
        raise InvalidArgumentError(
            f"{owner}: pool_stride must be given where Variables give pool_size, got None"
        )
    stride = size if stride is None else check.integers(stride, axes, f"{owner}: pool_stride", 1)
    padding = check.integers(padding, axes, f"{owner}: pool_padding", 0)
    flat = axes == 1
    return {
        "ksize": [1, *size] if flat else size,
        "strides": [1, *stride] if flat else stride,
        "paddings": [0, *padding] if flat else padding,
    }


def _pool(axes, owner, input, attrs):
    require_axes(input, axes, owner)
    if axes == 1:
        return _line(ops.pool2d(_flat(input), **attrs))
    return (ops.pool2d if axes == 2 else ops.pool3d)(input, **attrs)


def _max_pool(axes, input, size, stride, padding, ceil_mode, return_mask):
    owner = f"max_pool{axes}d"
    attrs = _windows(axes, owner, size, stride, padding)
    if not return_mask:
        return _pool(axes, owner, input, {**attrs, "ceil_mode": bool(ceil_mode)})
    if ceil_mode:
        raise InvalidArgumentError(f"{owner}: return_mask must be False with ceil_mode, got True")
    return _with_mask(axes, owner, input, attrs)


def _with_mask(axes, owner, input, attrs):
    require_axes(input, axes, owner)
    if axes == 1:
        out, mask = ops.max_pool2d_with_index(_flat(input), **attrs)
        return _line(out), _line(mask)
    pool = ops.max_pool2d_with_index if axes == 2 else ops.max_pool3d_with_index
    return tuple(pool(input, **attrs))


def _avg_pool(axes, input, size, stride, padding, ceil_mode, exclusive):
    owner = f"avg_pool{axes}d"
    attrs = _windows(axes, owner, size, stride, padding)
    return _pool(
        axes,
        owner,
        input,
        {
            **attrs,
            "pooling_type": "avg",
            "ceil_mode": bool(ceil_mode),
            "exclusive": bool(exclusive),
        },
    )


def _adaptive(axes, input, output_size, kind, return_mask=False):
    owner = f"adaptive_{kind}_pool{axes}d"
    require_axes(input, axes, owner)
    given = output_size if isinstance(output_size, (list, tuple)) else [output_size] * axes
    if len(given) != axes:
        raise InvalidArgumentError(
            f"{owner}: output_size must be an integer or {axes} of them, got {output_size}"
        )
    size = [
        int(input.shape[i + 2]) if s is None else check.integer(s, f"{owner}: output_size", 1)
        for i, s in enumerate(given)
    ]
    attrs = {"ksize": [1, *size] if axes == 1 else size, "adaptive": True}
    if return_mask:
        return _with_mask(axes, owner, input, attrs)
    return _pool(axes, owner, input, {**attrs, "pooling_type": kind})


def max_pool1d(
    input, pool_size, pool_stride=None, pool_padding=0, ceil_mode=False, return_mask=False
):
    """Maxima over windows of sequences ``[batch, channels, length]``; see `max_pool2d`.

    >>> import dygraph
    >>> x = dygraph.to_variable([[[1.0, 5.0, 2.0, 3.0]]])
    >>> dygraph.ops.max_pool1d(x, 2).tolist()
    [[[5.0, 3.0]]]
    """
    return _max_pool(1, input, pool_size, pool_stride, pool_padding, ceil_mode, return_mask)


def max_pool2d(
    input, pool_size, pool_stride=None, pool_padding=0, ceil_mode=False, return_mask=False
):
    """Maxima over windows of images ``[batch, channels, height, width]``.

    Parameters
    ----------
    input : Variable
        float32 or float64.
    pool_size, pool_padding : int or (int, int)
    pool_stride : int or (int, int), optional
        None: the window's size.
    ceil_mode : bool
        Round the output's size up.
    return_mask : bool
        Also return the position of each maximum in its channel, for `max_unpool2d`.

    Returns
    -------
    Variable or (Variable, Variable)
        The maxima; the positions are int32, counted row by row.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = dygraph.to_variable(np.arange(16.0).reshape(1, 1, 4, 4))
    >>> dygraph.ops.max_pool2d(x, 2).numpy().tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """
    return _max_pool(2, input, pool_size, pool_stride, pool_padding, ceil_mode, return_mask)


def max_pool3d(
    input, pool_size, pool_stride=None, pool_padding=0, ceil_mode=False, return_mask=False
):
    """Maxima over windows of volumes; see `max_pool2d`.

    >>> import dygraph
    >>> x = dygraph.arange(8.0).reshape(1, 1, 2, 2, 2)
    >>> dygraph.ops.max_pool3d(x, (1, 2, 2)).tolist()
    [[[[[3.0]], [[7.0]]]]]
    """
    return _max_pool(3, input, pool_size, pool_stride, pool_padding, ceil_mode, return_mask)


def avg_pool1d(input, pool_size, pool_stride=None, pool_padding=0, ceil_mode=False, exclusive=True):
    """Averages over windows of sequences ``[batch, channels, length]``; see `avg_pool2d`.

    >>> import dygraph
    >>> x = dygraph.to_variable([[[1.0, 5.0, 2.0, 3.0]]])
    >>> dygraph.ops.avg_pool1d(x, 2).tolist()
    [[[3.0, 2.5]]]
    """
    return _avg_pool(1, input, pool_size, pool_stride, pool_padding, ceil_mode, exclusive)


def avg_pool2d(input, pool_size, pool_stride=None, pool_padding=0, ceil_mode=False, exclusive=True):
    """Averages over windows of images ``[batch, channels, height, width]``.

    Parameters
    ----------
    input : Variable
        float32 or float64.
    pool_size, pool_padding : int or (int, int)
    pool_stride : int or (int, int), optional
        None: the window's size.
    ceil_mode : bool
        Round the output's size up.
    exclusive : bool
        Do not count padding.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.arange(16.0).reshape(1, 1, 4, 4)
    >>> dygraph.ops.avg_pool2d(x, 2).tolist()
    [[[[2.5, 4.5], [10.5, 12.5]]]]
    """
    return _avg_pool(2, input, pool_size, pool_stride, pool_padding, ceil_mode, exclusive)


def avg_pool3d(input, pool_size, pool_stride=None, pool_padding=0, ceil_mode=False, exclusive=True):
    """Averages over windows of volumes; see `avg_pool2d`.

    >>> import dygraph
    >>> x = dygraph.arange(8.0).reshape(1, 1, 2, 2, 2)
    >>> dygraph.ops.avg_pool3d(x, (1, 2, 2)).tolist()
    [[[[[1.5]], [[5.5]]]]]
    """
    return _avg_pool(3, input, pool_size, pool_stride, pool_padding, ceil_mode, exclusive)


def adaptive_avg_pool1d(input, output_size):
    """Averages over `output_size` even parts of sequences; see `adaptive_avg_pool2d`.

    >>> import dygraph
    >>> x = dygraph.arange(6.0).reshape(1, 1, 6)
    >>> dygraph.ops.adaptive_avg_pool1d(x, 2).tolist()
    [[[1.0, 4.0]]]
    """
    return _adaptive(1, input, output_size, "avg")


def adaptive_avg_pool2d(input, output_size):
    """Averages over windows that divide images evenly.

    Along an axis of `size`, output ``o`` averages the elements from ``o * size // out`` to before
    ``ceil((o + 1) * size / out)``.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``.
    output_size : int or (int, int)
        None keeps the size of an axis.

    Returns
    -------
    Variable
        ``[batch, channels, *output_size]``.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.arange(6.0).reshape(1, 1, 2, 3)
    >>> dygraph.ops.adaptive_avg_pool2d(x, [2, 1]).tolist()
    [[[[1.0], [4.0]]]]
    >>> dygraph.ops.adaptive_avg_pool2d(x, 2).tolist()  # the middle column is in both
    [[[[0.5, 1.5], [3.5, 4.5]]]]
    """
    return _adaptive(2, input, output_size, "avg")


def adaptive_avg_pool3d(input, output_size):
    """Averages over even parts of volumes; see `adaptive_avg_pool2d`.

    >>> import dygraph
    >>> x = dygraph.arange(8.0).reshape(1, 1, 2, 2, 2)
    >>> dygraph.ops.adaptive_avg_pool3d(x, 1).tolist()
    [[[[[3.5]]]]]
    """
    return _adaptive(3, input, output_size, "avg")


def adaptive_max_pool1d(input, output_size, return_mask=False):
    """Maxima over even parts of sequences; windows as in `adaptive_avg_pool2d`.

    >>> import dygraph
    >>> x = dygraph.to_variable([[[1.0, 5.0, 2.0, 3.0]]])
    >>> out, where = dygraph.ops.adaptive_max_pool1d(x, 2, return_mask=True)
    >>> out.tolist(), where.tolist()
    ([[[5.0, 3.0]]], [[[1, 3]]])
    """
    return _adaptive(1, input, output_size, "max", return_mask)


def adaptive_max_pool2d(input, output_size, return_mask=False):
    """Maxima over even parts of images; windows as in `adaptive_avg_pool2d`.

    >>> import dygraph
    >>> x = dygraph.arange(6.0).reshape(1, 1, 2, 3)
    >>> dygraph.ops.adaptive_max_pool2d(x, [2, 1]).tolist()
    [[[[2.0], [5.0]]]]
    """
    return _adaptive(2, input, output_size, "max", return_mask)


def adaptive_max_pool3d(input, output_size, return_mask=False):
    """Maxima over even parts of volumes; windows as in `adaptive_avg_pool2d`.

    >>> import dygraph
    >>> x = dygraph.arange(8.0).reshape(1, 1, 2, 2, 2)
    >>> dygraph.ops.adaptive_max_pool3d(x, 1).tolist()
    [[[[[7.0]]]]]
    """
    return _adaptive(3, input, output_size, "max", return_mask)


def max_unpool2d(input, indices, pool_size, pool_stride=None, pool_padding=0, output_size=None):
    """Zeros with `input` at the positions of ``max_pool2d(..., return_mask=True)``.

    Parameters
    ----------
    input, indices : Variable
        The two results of `max_pool2d`; other values may replace the first.
    pool_size, pool_stride, pool_padding
        As of that call.
    output_size : (int, int), optional
        Height and width of the result, if the other arguments leave several.

    Returns
    -------
    Variable
        ``[batch, channels, (height - 1) * stride - 2 * padding + pool_size, ...]``.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[[1.0, 5.0], [3.0, 2.0]]]])
    >>> most, where = dygraph.ops.max_pool2d(x, 2, return_mask=True)
    >>> dygraph.ops.max_unpool2d(most, where, 2).tolist()
    [[[[0.0, 5.0], [0.0, 0.0]]]]
    """
    require_axes(input, 2, "max_unpool2d")
    attrs = _windows(2, "max_unpool2d", pool_size, pool_stride, pool_padding)
    if output_size is not None and _core.holds_symbol(output_size):
        attrs["output_size"] = output_size
    elif output_size is not None:
        wanted = check.integers(output_size, 2, "max_unpool2d: output_size", 1)
        least = [
            (int(size) - 1) * stride - 2 * padding + 1
            for size, stride, padding in zip(
                input.shape[2:], attrs["strides"], attrs["paddings"], strict=True
            )
        ]
        if any(out < low for out, low in zip(wanted, least, strict=True)):
            raise InvalidArgumentError(
                f"max_unpool2d: output_size must be reached by windows of input, got {wanted} for "
                f"input of shape {list(input.shape)}"
            )
        attrs["output_size"] = wanted
    return ops.unpool(input, indices, **attrs)


# Normalisation ------------------------------------------------------------------------------------


def local_response_norm(input, size=5, alpha=1e-4, beta=0.75, k=1.0):
    """Each value divided by a power of the mean square of the channels around it.

    ``input / (k + alpha * mean of the squares of size channels around) ** beta``, with 0 beyond the
    channels. The paper (Krizhevsky, Sutskever and Hinton, 2012) and Fluid's `lrn` take the sum.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``.
    size : int
        Odd.
    alpha, beta, k : float

    Returns
    -------
    Variable
        Shape of `input`.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.ones([1, 1, 1, 2])  # 1 / sqrt(1 + 15 / 5)
    >>> dygraph.ops.local_response_norm(x, alpha=15.0, beta=0.5).tolist()
    [[[[0.5, 0.5]]]]
    """
    require_axes(input, 2, "local_response_norm")
    size = check.integer(size, "local_response_norm: size", 1)
    alpha = check.number(alpha, "local_response_norm: alpha") / size
    return ops.lrn(input, n=size, k=k, alpha=alpha, beta=beta)[0]


# Resizing -----------------------------------------------------------------------------------------

_RESIZE = {
    ("nearest", 2): "nearest_interp",
    ("bilinear", 2): "bilinear_interp",
    ("trilinear", 3): "trilinear_interp",
}


def interpolate(
    input, size=None, scale_factor=None, mode="nearest", align_corners=False, align_mode=0,
    data_format=None,
):  # fmt: skip
    """Resize images or volumes.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``, or with a depth for ``'trilinear'``; float32, float64
        or uint8, whose means are truncated to integers.
    size : list of int, optional
        Spatial sizes of the result. This or `scale_factor` must be given.
    scale_factor : float or list of float, optional
        Factors on the sizes of `input`, rounded down; one for all axes or one for each.
    mode : 'nearest', 'bilinear' or 'trilinear'
    align_corners : bool
        True: the first and last pixels coincide. False: pixels are cells.
    align_mode : 0 or 1
        Without `align_corners`, 0 aligns the centres of the cells, 1 their beginnings.
        ``'nearest'`` aligns beginnings.
    data_format : str, optional
        ``'NHWC'`` or ``'NDHWC'``: the channels of `input` and of the result are last. None, or
        ``'NCHW'`` or ``'NCDHW'``: second.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = dygraph.to_variable(np.array([[[[1.0, 2.0]]]]))
    >>> dygraph.ops.interpolate(x, scale_factor=[1, 2]).numpy().tolist()
    [[[[1.0, 1.0, 2.0, 2.0]]]]
    """
    check.choice(mode, ("nearest", "bilinear", "trilinear"), "interpolate: mode")
    axes = 3 if mode == "trilinear" else 2
    require_axes(input, axes, "interpolate")
    if (size is None) == (scale_factor is None):
        raise InvalidArgumentError(
            "interpolate: one of size and scale_factor must be given, got "
            + ("neither" if size is None else "both")
        )
    attrs = {
        "align_corners": bool(align_corners),
        "align_mode": check.integer(align_mode, "interpolate: align_mode", 0),
    }
    formats = (None, "NCDHW", "NDHWC") if axes == 3 else (None, "NCHW", "NHWC")
    if check.choice(data_format, formats, f"interpolate: data_format for {mode}") == formats[2]:
        attrs["data_layout"] = "NHWC"
    if isinstance(scale_factor, (list, tuple)):
        first = 1 if "data_layout" in attrs else 2
        space = [check.known_size(input, first + i, "interpolate") for i in range(axes)]
        size = _scaled(space, scale_factor)
    if size is None:
        attrs["scale"] = check.number(scale_factor, "interpolate: scale_factor", 0)
    else:
        names = ("out_d", "out_h", "out_w")[-axes:]
        sizes = check.integers(size, axes, "interpolate: size", 1)
        attrs.update(zip(names, sizes, strict=True))
    return getattr(ops, _RESIZE[mode, axes])(input, **attrs)


def _scaled(space, factors):
    """Spatial sizes times a factor each, rounded down."""
    factors = [check.number(f, "interpolate: scale_factor", 0) for f in factors]
    sizes = [int(n * f) for n, f in zip(space, factors, strict=False)]
    if len(factors) != len(space) or min(sizes) < 1:
        raise InvalidArgumentError(
            f"interpolate: scale_factor must be a number, or one for each of the {len(space)} "
            f"spatial axes, whose sizes are known and stay at least 1, got {factors} for "
            f"{list(space)}"
        )
    return sizes
