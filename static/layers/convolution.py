"""Convolutions with their filters and biases."""

import math

from dygraph import _core, initializer
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.static.layers.learnt import biased, known, parameter
from dygraph.static.layers.making import activated, layer, run

__all__ = ["conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose"]


def padded(padding, axes, owner, last):
    """(numbers, algorithm) of Fluid's `padding`: a number, one for each axis or side, or a name."""
    if isinstance(padding, str):
        name = check.choice(padding.upper(), ("SAME", "VALID"), f"{owner}: padding")
        return [0] * axes, name
    if isinstance(padding, (list, tuple)) and padding and isinstance(padding[0], (list, tuple)):
        pairs = [check.integers(pair, 2, f"{owner}: padding", 0) for pair in padding]
        if len(pairs) == axes + 2:  # of all axes of the input
            outer = [pairs[0], pairs[-1]] if last else pairs[:2]
            if any(any(pair) for pair in outer):
                raise InvalidArgumentError(
                    f"{owner}: padding of batch and channels must be 0, got {padding}"
                )
            pairs = pairs[1:-1] if last else pairs[2:]
        padding = [n for pair in pairs for n in pair]
    if isinstance(padding, (list, tuple)) and len(padding) == 2 * axes:
        return check.integers(padding, 2 * axes, f"{owner}: padding", 0), "EXPLICIT"
    return check.integers(padding, axes, f"{owner}: padding", 0), "EXPLICIT"


def _channels(owner, axes, input, count, groups, data_format):
    """(whether channels stand last, channels of the input, filters, groups), checked."""
    check.variable(input, f"{owner}: input")
    first = "NCHW" if axes == 2 else "NCDHW"
    check.choice(data_format, (first, f"N{first[2:]}C"), f"{owner}: data_format")
    if len(input.shape) != axes + 2:
        raise InvalidArgumentError(
            f"{owner}: input must have {axes + 2} axes, {data_format}, got {list(input.shape)}"
        )
    last = data_format != first
    channels = known(input.shape[-1 if last else 1], owner, "the channels", input)
    count = check.integer(count, f"{owner}: num_filters", 1)
    groups = 1 if groups is None else check.integer(groups, f"{owner}: groups", 1)
    if channels % groups or count % groups:
        raise InvalidArgumentError(
            f"{owner}: groups must divide the channels {channels} and num_filters {count}, got "
            f"{groups}"
        )
    return last, channels, count, groups


def _convolved(
    owner, axes, input, count, size, stride, padding, dilation, groups, param_attr, bias_attr,
    depthwise, act, data_format,
):  # fmt: skip
    last, channels, count, groups = _channels(owner, axes, input, count, groups, data_format)
    window = check.integers(size, axes, f"{owner}: filter_size", 1)
    paddings, algorithm = padded(padding, axes, owner, last)
    deviation = math.sqrt(2.0 / (math.prod(window) * channels))
    weight = parameter(
        [count, channels // groups, *window], input.dtype, param_attr,
        start=initializer.Normal(0.0, deviation),
    )  # fmt: skip
    attrs = {
        "strides": check.integers(stride, axes, f"{owner}: stride", 1), "paddings": paddings,
        "dilations": check.integers(dilation, axes, f"{owner}: dilation", 1), "groups": groups,
        "padding_algorithm": algorithm, "data_format": data_format,
    }  # fmt: skip
    depthwise = depthwise and groups == channels and count % channels == 0
    op = "depthwise_conv2d" if depthwise else owner
    out = run(op, {"Input": input, "Filter": weight}, attrs)["Output"]
    out = biased(out, count, bias_attr, axes + 1 if last else 1)
    return activated(out, act, owner)


@layer(parameters=True)
def conv2d(
    input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None,
    param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, data_format="NCHW",
):  # fmt: skip
    """Convolution of images ``[batch, channels, height, width]``.

    Parameters
    ----------
    input : Variable
    num_filters : int
        Channels of the result.
    filter_size, stride, dilation : int or list of int
        One number for both axes, or height and width.
    padding : int, list of int or str
        One number, two, four (top, bottom, left, right), pairs for each axis, ``'SAME'`` or
        ``'VALID'``.
    groups : int, optional
        The number of convolutions among which channels and filters are divided.
    param_attr, bias_attr : ParamAttr, str or Initializer, optional
        ``bias_attr=False``: no bias.
    use_cudnn : bool
        False: if each channel is a group, the operator is ``depthwise_conv2d``.
    act : str, optional
    name : str, optional
    data_format : 'NCHW' or 'NHWC'

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     image = static.data("image", [None, 3, 32, 32])
    ...     static.layers.conv2d(image, num_filters=4, filter_size=3, padding=1).shape
    (-1, 4, 32, 32)
    """
    return _convolved(
        "conv2d", 2, input, num_filters, filter_size, stride, padding, dilation, groups,
        param_attr, bias_attr, not use_cudnn, act, data_format,
    )  # fmt: skip


@layer(parameters=True)
def conv3d(
    input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None,
    param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, data_format="NCDHW",
):  # fmt: skip
    """Convolution of volumes ``[batch, channels, depth, height, width]``; see `conv2d`.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     volume = static.data("volume", [None, 3, 8, 8, 8])
    ...     static.layers.conv3d(volume, num_filters=4, filter_size=3).shape
    (-1, 4, 6, 6, 6)
    """
    return _convolved(
        "conv3d", 3, input, num_filters, filter_size, stride, padding, dilation, groups,
        param_attr, bias_attr, False, act, data_format,
    )  # fmt: skip


def _transposed(
    owner, axes, input, count, output_size, size, padding, stride, dilation, groups, param_attr,
    bias_attr, depthwise, act, data_format,
):  # fmt: skip
    last, channels, count, groups = _channels(owner, axes, input, count, groups, data_format)
    strides = check.integers(stride, axes, f"{owner}: stride", 1)
    dilations = check.integers(dilation, axes, f"{owner}: dilation", 1)
    paddings, algorithm = padded(padding, axes, owner, last)
    is_open = axes == 2 and _core.holds_symbol(output_size)
    sizes = (
        [] if output_size is None
        else output_size if is_open
        else check.integers(output_size, axes, f"{owner}: output_size")
    )  # fmt: skip
    if size is None:
        if is_open:
            raise InvalidArgumentError(
                f"{owner}: filter_size must be given where Variables give output_size, got None"
            )
        if not sizes:
            raise InvalidArgumentError(f"{owner}: output_size or filter_size must be given")
        space = input.shape[1:-1] if last else input.shape[2:]
        sides = paddings if len(paddings) == 2 * axes else [n for n in paddings for _ in (0, 1)]
        size = [
            (sizes[i] - (known(space[i], owner, "the sizes in space", input) - 1) * strides[i]
             + sides[2 * i] + sides[2 * i + 1] - 1) // dilations[i] + 1
            for i in range(axes)
        ]  # fmt: skip
    window = check.integers(size, axes, f"{owner}: filter_size", 1)
    weight = parameter([channels, count // groups, *window], input.dtype, param_attr)
    attrs = {
        "strides": strides, "paddings": paddings, "dilations": dilations, "groups": groups,
        "padding_algorithm": algorithm, "data_format": data_format, "output_size": sizes,
    }  # fmt: skip
    depthwise = depthwise and groups == channels == count
    op = "depthwise_conv2d_transpose" if depthwise else owner
    out = run(op, {"Input": input, "Filter": weight}, attrs)["Output"]
    return activated(biased(out, count, bias_attr, axes + 1 if last else 1), act, owner)


@layer(parameters=True)
def conv2d_transpose(
    input, num_filters, output_size=None, filter_size=None, padding=0, stride=1, dilation=1,
    groups=None, param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None,
    data_format="NCHW",
):  # fmt: skip
    """Transposed convolution, the gradient of `conv2d` as a layer: images grow.

    `filter_size` may be left out if `output_size` is given.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     image = static.data("image", [None, 3, 8, 8])
    ...     static.layers.conv2d_transpose(image, 4, filter_size=2, stride=2).shape
    (-1, 4, 16, 16)
    """
    return _transposed(
        "conv2d_transpose", 2, input, num_filters, output_size, filter_size, padding, stride,
        dilation, groups, param_attr, bias_attr, not use_cudnn, act, data_format,
    )  # fmt: skip


@layer(parameters=True)
def conv3d_transpose(
    input, num_filters, output_size=None, filter_size=None, padding=0, stride=1, dilation=1,
    groups=None, param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None,
    data_format="NCDHW",
):  # fmt: skip
    """The gradient of `conv3d` as a layer; see `conv2d_transpose`.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     volume = static.data("volume", [None, 3, 4, 4, 4])
    ...     static.layers.conv3d_transpose(volume, 4, filter_size=2, stride=2).shape
    (-1, 4, 8, 8, 8)
    """
    return _transposed(
        "conv3d_transpose", 3, input, num_filters, output_size, filter_size, padding, stride,
        dilation, groups, param_attr, bias_attr, False, act, data_format,
    )  # fmt: skip
