"""Functions of sequences, images and volumes that combine one or two operators.

`dygraph.ops` has them beside the operators themselves. Arrays are ``[batch, channels, ...]``
with one, two or three spatial axes. A sequence is computed as an image of height 1.
"""

import importlib

from dygraph import _core
from dygraph.core import check
from dygraph.core.faces import face
from dygraph.errors import InvalidArgumentError

__all__ = [
    "conv1d", "conv1d_transpose", "interpolate", "local_response_norm",
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


def as_image(input):
    """A sequence as an image of height 1."""
    return ops.unsqueeze2(input, axes=[2])


def as_line(image):
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
        as_image(input),
        as_image(_weight(weight, input, "conv1d")),
        bias=bias,
        strides=[1, check.integer(stride, "conv1d: stride", 1)],
        paddings=[0, check.integer(padding, "conv1d: padding", 0)],
        dilations=[1, check.integer(dilation, "conv1d: dilation", 1)],
        groups=check.integer(groups, "conv1d: groups", 1),
    )
    return as_line(out)


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
        as_image(input),
        as_image(_weight(weight, input, "conv1d_transpose")),
        bias=bias,
        strides=[1, check.integer(stride, "conv1d_transpose: stride", 1)],
        paddings=[0, check.integer(padding, "conv1d_transpose: padding", 0)],
        dilations=[1, check.integer(dilation, "conv1d_transpose: dilation", 1)],
        groups=check.integer(groups, "conv1d_transpose: groups", 1),
        **more,
    )
    return as_line(out)


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

_AXES = {
    "nearest": (1, 2, 3), "linear": (1,), "bilinear": (2,), "bicubic": (2,), "trilinear": (3,),
    "area": (1, 2, 3),
}  # fmt: skip
_FORMATS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def interpolate(
    input, size=None, scale_factor=None, mode="nearest", align_corners=False, align_mode=0,
    data_format=None,
):  # fmt: skip
    """Resize sequences, images or volumes.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, length]``, ``[batch, channels, height, width]``, or with a depth in
        front of these; float32, float64 or, for images and volumes, uint8, whose means are
        truncated to integers.
    size : int or list of int, optional
        Spatial sizes of the result. This or `scale_factor` must be given.
    scale_factor : float or list of float, optional
        Factors on the sizes of `input`, rounded down; one for all axes or one for each. Elements
        of the result lie ``1 / scale_factor`` apart.
    mode : 'nearest', 'linear', 'bilinear', 'trilinear', 'bicubic' or 'area'
        'linear' is for sequences, 'bilinear' and 'bicubic' for images, 'trilinear' for volumes.
        'area' gives means, as `adaptive_avg_pool2d`.
    align_corners : bool
        True: the first and last pixels coincide. False: pixels are cells.
    align_mode : 0 or 1
        Without `align_corners`, 0 aligns the centres of the cells, 1 their beginnings.
        ``'nearest'`` aligns beginnings.
    data_format : str, optional
        ``'NWC'``, ``'NHWC'`` or ``'NDHWC'``: the channels of `input` and of the result are last.
        None, or ``'NCW'``, ``'NCHW'`` or ``'NCDHW'``: second.

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
    check.choice(mode, tuple(_AXES), "interpolate: mode")
    axes = check.variable(input, "interpolate: input").ndim - 2
    if axes not in _AXES[mode]:
        if len(_AXES[mode]) == 1:
            require_axes(input, _AXES[mode][0], f"interpolate with mode '{mode}'")
        raise InvalidArgumentError(
            f"interpolate: input must have 3 to 5 axes, [batch, channels] and those in space, got "
            f"shape {list(input.shape)}"
        )
    if (size is None) == (scale_factor is None):
        raise InvalidArgumentError(
            "interpolate: one of size and scale_factor must be given, got "
            + ("neither" if size is None else "both")
        )
    formats = (None, *_FORMATS[axes])
    last = check.choice(data_format, formats, f"interpolate: data_format for {mode}") == formats[2]
    if size is not None:
        size = check.integers(size, axes, "interpolate: size", 1)
    else:
        scale_factor = _factors(scale_factor, axes)
    if mode == "area":
        return _areas(input, size, scale_factor, axes, last)
    attrs = {
        "align_corners": bool(align_corners),
        "align_mode": check.integer(align_mode, "interpolate: align_mode", 0),
    }
    if mode == "nearest" and axes != 2:
        return _nearest(input, size, scale_factor, axes, last, attrs)
    return _resize(mode, axes, input, size, scale_factor, last, attrs)


def _factors(scale_factor, axes):
    if not isinstance(scale_factor, (list, tuple)):
        scale_factor = [scale_factor] * axes
    factors = [check.number(f, "interpolate: scale_factor") for f in scale_factor]
    if len(factors) != axes or min(factors) <= 0:
        raise InvalidArgumentError(
            f"interpolate: scale_factor must be a positive number, or one for each of the {axes} "
            f"spatial axes, got {factors}"
        )
    return factors


def _resize(mode, axes, input, size, factors, last, attrs):
    if last:
        attrs = {**attrs, "data_layout": "NHWC"}
    if size is None:
        attrs["scale"] = factors
    else:
        attrs.update(zip(("out_d", "out_h", "out_w")[-axes:], size, strict=True))
    return getattr(ops, f"{mode}_interp_v2")(input, **attrs)


def _nearest(input, size, factors, axes, last, attrs):
    """Sequences as images of height 1; volumes by the two inner axes, then by the outer one."""
    if axes == 1:
        line = 1 if last else 2
        size, factors = size and [1, *size], factors and [1.0, *factors]
        image = ops.unsqueeze2(input, axes=[line])
        return ops.squeeze2(_resize("nearest", 2, image, size, factors, last, attrs), axes=[line])
    if last:
        x = _nearest(ops.transpose2(input, axis=[0, 4, 1, 2, 3]), size, factors, 3, False, attrs)
        return ops.transpose2(x, axis=[0, 2, 3, 4, 1])
    channels, depth, height, width = (
        check.known_size(input, i, "interpolate") for i in range(1, 5)
    )
    x = ops.reshape2(input, shape=[-1, channels * depth, height, width])
    x = _resize("nearest", 2, x, size and size[1:], factors and factors[1:], False, attrs)
    height, width = (check.known_size(x, i, "interpolate") for i in (2, 3))
    x = ops.reshape2(x, shape=[-1, channels, depth, height * width])
    outer = (size and [size[0], height * width], factors and [factors[0], 1.0])
    x = _resize("nearest", 2, x, *outer, False, attrs)
    return ops.reshape2(x, shape=[-1, channels, x.shape[2], height, width])


def _areas(input, size, factors, axes, last):
    if size is None:
        size = sizes_by(input, factors, _FORMATS[axes][last])
    channels_last = [0, *range(2, axes + 2), 1]
    x = ops.transpose2(input, axis=[0, axes + 1, *range(1, axes + 1)]) if last else input
    pools = importlib.import_module("dygraph.functions.pools")
    x = getattr(pools, f"adaptive_avg_pool{axes}d")(x, size)
    return ops.transpose2(x, axis=channels_last) if last else x


def patches(owner, window, stride, padding, dilation):
    """The attributes of `unfold` and `fold`; the padding may have two numbers or four."""
    four = isinstance(padding, (list, tuple)) and len(padding) == 4
    padding = check.integers(padding, 4 if four else 2, f"{owner}: padding", 0)
    return {
        "kernel_sizes": check.integers(window, 2, f"{owner}: kernel_size", 1),
        "strides": check.integers(stride, 2, f"{owner}: stride", 1),
        "paddings": padding if four else padding * 2,
        "dilations": check.integers(dilation, 2, f"{owner}: dilation", 1),
    }


def sizes_by(input, scale_factor, data_format=None):
    """The sizes that a scale factor gives."""
    axes = check.variable(input, "interpolate: input").ndim - 2
    first = 1 if data_format in ("NWC", "NHWC", "NDHWC") else 2
    space = [check.known_size(input, first + i, "interpolate") for i in range(axes)]
    return _scaled(space, _factors(scale_factor, axes))


def _scaled(space, factors):
    """Spatial sizes times a factor each, rounded down."""
    sizes = [int(n * f) for n, f in zip(space, factors, strict=False)]
    if len(factors) != len(space) or min(sizes) < 1:
        raise InvalidArgumentError(
            f"interpolate: scale_factor must be a number, or one for each of the {len(space)} "
            f"spatial axes, whose sizes are known and stay at least 1, got {factors} for "
            f"{list(space)}"
        )
    return sizes
