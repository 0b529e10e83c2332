"""Convolutions of sequences, images and volumes, and their transposes."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.functions import images
from dygraph.nn.functional.spelling import spelled

__all__ = [
    "conv1d", "conv1d_transpose", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
]  # fmt: skip

ops = _core.ops


def _paddings(padding, stride, dilation, weight, axes, owner):
    """Rows before and after alike, or of each side for 'same'."""
    if not isinstance(padding, str):
        return check.integers(padding, axes, f"{owner}: padding", 0)
    kind = check.choice(padding.lower(), ("same", "valid"), f"{owner}: padding as text")
    if kind == "valid":
        return [0] * axes
    if any(s != 1 for s in stride):
        raise InvalidArgumentError(
            f"{owner}: stride must be 1 with padding='same', got {stride}. Give padding in numbers"
        )
    total = [d * (size - 1) for d, size in zip(dilation, weight.shape[2:], strict=True)]
    if any(n % 2 for n in total):
        raise InvalidArgumentError(
            f"{owner}: padding='same' must be even in all, got {total} for the windows "
            f"{list(weight.shape[2:])}. Pad the input with pad() and write padding=0"
        )
    return [n // 2 for n in total]


def _convolution(axes, x, weight, bias, stride, padding, dilation, groups):
    owner = f"conv{axes}d"
    images.require_axes(x, axes, owner)
    if check.variable(weight, f"{owner}: weight").ndim != axes + 2:
        raise InvalidArgumentError(
            f"{owner}: weight must have {axes + 2} axes, [filters, channels / groups, "
            f"{images._SPACE[axes]}], got shape {list(weight.shape)}"
        )
    stride = check.integers(stride, axes, f"{owner}: stride", 1)
    dilation = check.integers(dilation, axes, f"{owner}: dilation", 1)
    padding = _paddings(padding, stride, dilation, weight, axes, owner)
    groups = check.integer(groups, f"{owner}: groups", 1)
    if axes == 1:
        return images.conv1d(x, weight, bias, stride[0], padding[0], dilation[0], groups)
    attrs = {"strides": stride, "paddings": padding, "dilations": dilation, "groups": groups}
    if axes == 2:
        return ops.conv2d(x, weight, bias=bias, **attrs)
    return _biased(ops.conv3d(x, weight, **attrs), bias, owner)


def _biased(out, bias, owner):
    if bias is None:
        return out
    return ops.elementwise_add(out, check.variable(bias, f"{owner}: bias"), axis=1)


@spelled
def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Convolution of images: the cross-correlation, as everywhere.

    ``out[n, o, i, j] = bias[o] + sum over c, k, l of weight[o, c, k, l] * x[n, c, i * stride + k *
    dilation - padding, ...]``.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``, float32 or float64.
    weight : Variable
        ``[filters, channels / groups, window height, window width]``.
    bias : Variable, optional
        ``[filters]``.
    stride, dilation : int or (int, int)
    padding : int, (int, int), 'same' or 'valid'
        Rows and columns of zeros on each side. 'same': the output has the size of `x`; with a
        stride of 1, as PyTorch has it. 'valid': none.
    groups : int
        Both numbers of channels are multiples of it.

    Returns
    -------
    Variable
        ``[batch, filters, ...]``; a size becomes ``(size + 2 * padding - dilation * (window - 1) -
        1) // stride + 1``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x, w = dygraph.ones(1, 2, 5, 5), dygraph.ones(3, 2, 3, 3)
    >>> F.conv2d(x, w, padding=1).shape, F.conv2d(x, w).tolist()[0][0][0]
    ((1, 3, 5, 5), [18.0, 18.0, 18.0])
    """
    return _convolution(2, x, weight, bias, stride, padding, dilation, groups)


@spelled
def conv1d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Convolution of sequences: the cross-correlation, as everywhere.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, length]``, float32 or float64.
    weight : Variable
        ``[filters, channels / groups, window]``.
    bias : Variable, optional
        ``[filters]``.
    stride, dilation : int
    padding : int, 'same' or 'valid'
        Zeros on each side. 'same': the output has the length of `x`; with a stride of 1. 'valid':
        none.
    groups : int
        Both numbers of channels are multiples of it.

    Returns
    -------
    Variable
        ``[batch, filters, (length + 2 * padding - dilation * (window - 1) - 1) // stride + 1]``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.conv1d(dygraph.ones(1, 2, 5), dygraph.ones(3, 2, 3)).shape
    (1, 3, 3)
    """
    return _convolution(1, x, weight, bias, stride, padding, dilation, groups)


@spelled
def conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Convolution of volumes: the cross-correlation, as everywhere.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, depth, height, width]``, float32 or float64.
    weight : Variable
        ``[filters, channels / groups, window depth, window height, window width]``.
    bias : Variable, optional
        ``[filters]``.
    stride, dilation : int or (int, int, int)
    padding : int, (int, int, int), 'same' or 'valid'
        Zeros on each side. 'same': the output has the size of `x`; with a stride of 1. 'valid':
        none.
    groups : int
        Both numbers of channels are multiples of it.

    Returns
    -------
    Variable
        ``[batch, filters, ...]``; a size becomes ``(size + 2 * padding - dilation * (window - 1) -
        1) // stride + 1``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.conv3d(dygraph.ones(1, 2, 3, 3, 3), dygraph.ones(4, 2, 2, 2, 2)).shape
    (1, 4, 2, 2, 2)
    """
    return _convolution(3, x, weight, bias, stride, padding, dilation, groups)


def _transposed(
    axes, x, weight, bias, stride, padding, output_padding, groups, dilation, output_size
):
    owner = f"conv{axes}d_transpose"
    images.require_axes(x, axes, owner)
    if check.variable(weight, f"{owner}: weight").ndim != axes + 2:
        raise InvalidArgumentError(
            f"{owner}: weight must have {axes + 2} axes, [channels, filters / groups, "
            f"{images._SPACE[axes]}], got shape {list(weight.shape)}"
        )
    attrs = {
        "strides": check.integers(stride, axes, f"{owner}: stride", 1),
        "paddings": check.integers(padding, axes, f"{owner}: padding", 0),
        "dilations": check.integers(dilation, axes, f"{owner}: dilation", 1),
        "groups": check.integer(groups, f"{owner}: groups", 1),
    }
    more = check.integers(output_padding, axes, f"{owner}: output_padding", 0)
    if output_size is not None:
        images.only_one_size(more, owner)
        attrs["output_size"] = check.integers(output_size, axes, f"{owner}: output_size", 1)
    elif any(more):
        attrs["output_padding"] = more
    if axes == 1:
        return images.conv1d_transpose(
            x, weight, bias, *(attrs[n][0] for n in ("strides", "paddings", "dilations")),
            attrs["groups"], attrs.get("output_size"), attrs.get("output_padding", 0),
        )  # fmt: skip
    if axes == 2:
        return ops.conv2d_transpose(x, weight, bias=bias, **attrs)
    return _biased(ops.conv3d_transpose(x, weight, **attrs), bias, owner)


@spelled
def conv2d_transpose(
    x, weight, bias=None, stride=1, padding=0, output_padding=0, *, groups=1, dilation=1,
    output_size=None,
):  # fmt: skip
    """The transpose of `conv2d`: its gradient with respect to the input, as a function.

    PyTorch's name is `conv_transpose2d`. PyTorch and Paddle order the last arguments differently,
    so they are given by name.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``, float32 or float64.
    weight : Variable
        ``[channels, filters / groups, window height, window width]``.
    bias : Variable, optional
        ``[filters]``.
    stride, padding, dilation : int or (int, int)
    output_padding : int or (int, int)
        Additional rows and columns over the smallest output, less than `stride`.
    groups : int
    output_size : int or (int, int), optional
        In place of `output_padding`: height and width of the output.

    Returns
    -------
    Variable
        ``[batch, filters, ...]``; a size becomes ``(size - 1) * stride - 2 * padding + dilation *
        (window - 1) + 1 + output_padding``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x, w = dygraph.to_variable([[[[1.0, 2.0]]]]), dygraph.to_variable([[[[1.0, 10.0]]]])
    >>> F.conv2d_transpose(x, w, stride=(1, 2)).tolist()
    [[[[1.0, 10.0, 2.0, 20.0]]]]
    """
    return _transposed(
        2, x, weight, bias, stride, padding, output_padding, groups, dilation, output_size
    )


@spelled
def conv1d_transpose(
    x, weight, bias=None, stride=1, padding=0, output_padding=0, *, groups=1, dilation=1,
    output_size=None,
):  # fmt: skip
    """The transpose of `conv1d`: its gradient with respect to the input, as a function.

    PyTorch's name is `conv_transpose1d`. PyTorch and Paddle order the last arguments differently,
    so they are given by name.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, length]``, float32 or float64.
    weight : Variable
        ``[channels, filters / groups, window]``.
    bias : Variable, optional
        ``[filters]``.
    stride, padding, dilation : int
    output_padding : int
        Additional steps over the smallest output, less than `stride`.
    groups : int
    output_size : int, optional
        In place of `output_padding`: the length of the output.

    Returns
    -------
    Variable
        ``[batch, filters, length]``; the length becomes ``(length - 1) * stride - 2 * padding +
        dilation * (window - 1) + 1 + output_padding``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x, w = dygraph.to_variable([[[1.0, 2.0]]]), dygraph.to_variable([[[1.0, 10.0]]])
    >>> F.conv1d_transpose(x, w, stride=2).tolist()
    [[[1.0, 10.0, 2.0, 20.0]]]
    """
    return _transposed(
        1, x, weight, bias, stride, padding, output_padding, groups, dilation, output_size
    )


@spelled
def conv3d_transpose(
    x, weight, bias=None, stride=1, padding=0, output_padding=0, *, groups=1, dilation=1,
    output_size=None,
):  # fmt: skip
    """The transpose of `conv3d`: its gradient with respect to the input, as a function.

    PyTorch's name is `conv_transpose3d`. PyTorch and Paddle order the last arguments differently,
    so they are given by name.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, depth, height, width]``, float32 or float64.
    weight : Variable
        ``[channels, filters / groups, window depth, window height, window width]``.
    bias : Variable, optional
        ``[filters]``.
    stride, padding, dilation : int or (int, int, int)
    output_padding : int or (int, int, int)
        Additional planes, rows and columns over the smallest output, less than `stride`.
    groups : int
    output_size : int or (int, int, int), optional
        In place of `output_padding`: the sizes of the output.

    Returns
    -------
    Variable
        ``[batch, filters, ...]``; a size becomes ``(size - 1) * stride - 2 * padding + dilation *
        (window - 1) + 1 + output_padding``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.conv3d_transpose(dygraph.ones(1, 2, 3, 3, 3), dygraph.ones(2, 4, 2, 2, 2)).shape
    (1, 4, 4, 4, 4)
    """
    return _transposed(
        3, x, weight, bias, stride, padding, output_padding, groups, dilation, output_size
    )


conv_transpose1d = conv1d_transpose
conv_transpose2d = conv2d_transpose
conv_transpose3d = conv3d_transpose
