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
    """``act(input * W + b)``: windows of images times filters, added up, plus a bias.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``, or with the channels last; float32 or float64.
    num_filters : int
        The channels of the result.
    filter_size : int or list of int
        Height and width of the window.
    stride : int or list of int, default 1
        Steps of the window, down and across.
    padding : int, list of int or str, default 0
        One number, two (height, width), four (top, bottom, left, right), a pair for each axis,
        ``"SAME"`` or ``"VALID"``.
    dilation : int or list of int, default 1
        The distance between the pixels of a window, down and across.
    groups : int, optional
        How many convolutions share channels and filters; None is 1.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the filters, ``[num_filters, channels / groups,
        height, width]``.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias, ``[num_filters]``; False: no bias.
    use_cudnn : bool, default True
        False: if each channel is a group, the operator is ``depthwise_conv2d``.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    name : str, optional
        The name of the result and of the parameters.
    data_format : str, default "NCHW"
        ``"NCHW"`` or ``"NHWC"``.

    Returns
    -------
    Variable
        ``[batch, num_filters, new height, new width]``, or with the channels last.

    Raises
    ------
    InvalidArgumentError
        `input` has not 4 axes or an unknown number of channels, or `groups` divides not channels
        and filters.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     image = static.data("image", [None, 1, 2, 3])
    ...     y = layers.conv2d(image, 1, 2, param_attr=static.initializer.Constant(1.0))
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     feed = {"image": np.arange(6, dtype="float32").reshape(1, 1, 2, 3)}
    ...     exe.run(feed=feed, fetch_list=[y])[0].tolist()
    [[[[8.0, 12.0]]]]
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
    """``act(input * W + b)``: windows of volumes times filters, added up, plus a bias.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, depth, height, width]``, or with the channels last; float32 or float64.
    num_filters : int
        The channels of the result.
    filter_size, stride, dilation : int or list of int
        One number, or one for each of depth, height and width.
    padding : int, list of int or str, default 0
        One number, three, six (before and after each axis), a pair for each axis, ``"SAME"`` or
        ``"VALID"``.
    groups : int, optional
        How many convolutions share channels and filters; None is 1.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the filters, ``[num_filters, channels / groups,
        depth, height, width]``.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias, ``[num_filters]``; False: no bias.
    use_cudnn : bool, default True
        Accepted as in Fluid; not used.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    name : str, optional
        The name of the result and of the parameters.
    data_format : str, default "NCDHW"
        ``"NCDHW"`` or ``"NDHWC"``.

    Returns
    -------
    Variable
        ``[batch, num_filters, new depth, new height, new width]``, or with the channels last.

    Raises
    ------
    InvalidArgumentError
        As of `conv2d`.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     volume = static.data("volume", [None, 1, 2, 2, 2])
    ...     y = layers.conv3d(volume, 1, 2, param_attr=static.initializer.Constant(1.0))
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     feed = {"volume": np.ones((1, 1, 2, 2, 2), "float32")}
    ...     exe.run(feed=feed, fetch_list=[y])[0].tolist()
    [[[[[8.0]]]]]
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

    The new height is ``(height - 1) * stride - paddings + dilation * (window - 1) + 1``, the new
    width likewise.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``, or with the channels last; float32 or float64.
    num_filters : int
        The channels of the result.
    output_size : int or list of int, optional
        The new height and width, where several give the size of `input`; None: the smallest.
    filter_size : int or list of int, optional
        Height and width of the window; None: what `output_size` needs.
    padding : int, list of int or str, default 0
        Pixels cut off: one number, two (height, width), four (top, bottom, left, right), a pair for
        each axis, ``"SAME"`` or ``"VALID"``.
    stride : int or list of int, default 1
        Steps of the window, down and across.
    dilation : int or list of int, default 1
        The distance between the pixels of a window.
    groups : int, optional
        How many convolutions share channels and filters; None is 1.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the filters, ``[channels, num_filters / groups,
        height, width]``.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias, ``[num_filters]``; False: no bias.
    use_cudnn : bool, default True
        False: if each channel is a group, the operator is ``depthwise_conv2d_transpose``.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    name : str, optional
        The name of the result and of the parameters.
    data_format : str, default "NCHW"
        ``"NCHW"`` or ``"NHWC"``.

    Returns
    -------
    Variable
        ``[batch, num_filters, new height, new width]``, or with the channels last.

    Raises
    ------
    InvalidArgumentError
        Neither `output_size` nor `filter_size` is given, or an argument is wrong as of `conv2d`.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     image = static.data("image", [None, 1, 1, 2])
    ...     one = static.initializer.Constant(1.0)
    ...     y = layers.conv2d_transpose(image, 1, filter_size=2, stride=2, param_attr=one)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     feed = {"image": np.array([[[[1.0, 2.0]]]], "float32")}
    ...     exe.run(feed=feed, fetch_list=[y])[0].tolist()
    [[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]]]
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
    """Transposed convolution of volumes, the gradient of `conv3d` as a layer.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, depth, height, width]``, or with the channels last; float32 or float64.
    num_filters : int
        The channels of the result.
    output_size : int or list of int, optional
        The new sizes in space, where several give the size of `input`; None: the smallest.
    filter_size : int or list of int, optional
        The sizes of the window; None: what `output_size` needs.
    padding : int, list of int or str, default 0
        Cells cut off: one number, three, six (before and after each axis), a pair for each axis,
        ``"SAME"`` or ``"VALID"``.
    stride, dilation : int or list of int, default 1
        One number, or one for each of depth, height and width.
    groups : int, optional
        How many convolutions share channels and filters; None is 1.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the filters, ``[channels, num_filters / groups,
        depth, height, width]``.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias, ``[num_filters]``; False: no bias.
    use_cudnn : bool, default True
        Accepted as in Fluid; not used.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    name : str, optional
        The name of the result and of the parameters.
    data_format : str, default "NCDHW"
        ``"NCDHW"`` or ``"NDHWC"``.

    Returns
    -------
    Variable
        ``[batch, num_filters, new depth, new height, new width]``, or with the channels last.

    Raises
    ------
    InvalidArgumentError
        As of `conv2d_transpose`.

    Examples
    --------
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     volume = static.data("volume", [None, 3, 4, 4, 4])
    ...     layers.conv3d_transpose(volume, 4, filter_size=2, stride=2).shape
    (-1, 4, 8, 8, 8)
    """
    return _transposed(
        "conv3d_transpose", 3, input, num_filters, output_size, filter_size, padding, stride,
        dilation, groups, param_attr, bias_attr, False, act, data_format,
    )  # fmt: skip
