"""Functions of sequences, images and volumes that combine one or two operators.

`dygraph.ops` has them beside the operators themselves. Arrays are ``[batch, channels, ...]``
with one, two or three spatial axes. A sequence is computed as an image of height 1.
"""

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
