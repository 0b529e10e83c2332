"""Convolutions over one, two and three axes, their transposes, and Pool2D."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.functions import images
from dygraph.initializer import Normal
from dygraph.nn import misfit
from dygraph.nn.activation import activation
from dygraph.nn.layer import Layer

__all__ = [
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "Pool2D",
]

ops = _core.ops


# The constructors' names of the operators' attributes, with their defaults.
_ARGUMENTS = {
    "strides": ("stride", 1),
    "paddings": ("padding", 0),
    "dilations": ("dilation", 1),
    "groups": ("groups", 1),
}


def _by_name(padding, name, window, strides, dilations):
    """The numbers for padding 'valid' and 'same', which keeps the sizes."""
    check.choice(padding.lower(), ("same", "valid"), f"{name}: padding")
    if padding.lower() == "valid":
        return 0
    both = [d * (size - 1) for d, size in zip(dilations, window, strict=True)]
    if any(n != 1 for n in strides) or any(n % 2 for n in both):
        raise InvalidArgumentError(
            f"{name}: padding='same' needs stride 1 and windows of odd sizes, got stride "
            f"{strides} and filter_size {window}. Write the numbers, or "
            "nn.functional.pad in front of the layer"
        )
    return [n // 2 for n in both]


class _Conv(Layer):
    """Base of the convolutions: arguments, parameters, bias and activation."""

    _axes = 2
    _transposed = False

    def __init__(
        self,
        num_channels,
        num_filters,
        filter_size,
        stride,
        padding,
        dilation,
        groups,
        param_attr,
        bias_attr,
        act,
        dtype,
        output_size=None,
        output_padding=0,
    ):
        super().__init__(dtype=dtype)
        name, axes = type(self).__name__, self._axes
        channels = check.integer(num_channels, f"{name}: num_channels", 1)
        filters = check.integer(num_filters, f"{name}: num_filters", 1)
        groups = check.integer(1 if groups is None else groups, f"{name}: groups", 1)
        if channels % groups or filters % groups:
            raise InvalidArgumentError(
                f"{name}: num_channels {channels} and num_filters {filters} must be multiples of "
                f"groups, got {groups}"
            )
        window = check.integers(filter_size, axes, f"{name}: filter_size", 1)
        strides = check.integers(stride, axes, f"{name}: stride", 1)
        dilations = check.integers(dilation, axes, f"{name}: dilation", 1)
        if isinstance(padding, str) and not self._transposed:
            padding = _by_name(padding, name, window, strides, dilations)
        self._attrs = {
            "strides": strides,
            "paddings": check.integers(padding, axes, f"{name}: padding", 0),
            "dilations": dilations,
            "groups": groups,
        }
        more = check.integers(output_padding, axes, f"{name}: output_padding", 0)
        if output_size is not None:
            images.only_one_size(more, name)
            size = check.integers(output_size, axes, f"{name}: output_size", 1)
            self._attrs["output_size"] = size
        elif any(more):
            self._attrs["output_padding"] = more
        self._channels, self._filters = channels, filters
        self._act = activation(act, name)
        self._act_name = act
        if self._transposed:
            shape, initializer = [channels, filters // groups, *window], None
        else:
            fan_in = channels
            for size in window:
                fan_in *= size
            shape = [filters, channels // groups, *window]
            initializer = Normal(0.0, (2.0 / fan_in) ** 0.5)
        param_attr = check.weight_attr(param_attr, name)
        self.weight = self.create_parameter(shape, param_attr, default_initializer=initializer)
        self.bias = self.create_parameter([filters], bias_attr, is_bias=True)

    def forward(self, input):
        try:
            out = self._convolve(input)
        except (TypeError, ValueError):
            name = type(self).__name__
            misfit.of_convolution(name, input, self.weight, self._channels, self._axes)
            raise
        return self._finish(out)

    def _finish(self, out):
        if self.bias is not None:
            out = ops.elementwise_add(out, self.bias, axis=1)
        return out if self._act is None else self._act(out)

    def extra_repr(self):
        parts = [f"{self._channels}, {self._filters}, filter_size={list(self.weight.shape[2:])}"]
        for name, value in self._attrs.items():
            given, usual = _ARGUMENTS.get(name, (name, None))
            if value not in (usual, [usual] * self._axes):
                parts.append(f"{given}={value}")
        if self.bias is None:
            parts.append("bias_attr=False")
        if self._act_name:
            parts.append(f"act='{self._act_name}'")
        return ", ".join(parts)


class Conv2D(_Conv):
    """Convolution of images ``[batch, channels, height, width]``.

    ``out = act(conv(input, weight) + bias)``; height and width become
    ``(size + 2 * padding - dilation * (filter_size - 1) - 1) // stride + 1``.

    Parameters
    ----------
    num_channels, num_filters : int
        Channels before and after.
    filter_size, stride, dilation : int or (int, int)
        For height and width.
    padding : int, (int, int), 'same' or 'valid'
        'valid' is none, and 'same' keeps the sizes; it needs stride 1 and windows of odd sizes.
    groups : int, optional
        Both numbers of channels must be multiples of it. None: 1.
    param_attr, bias_attr : ParamAttr, str, Initializer, None or False
        Weights are initialised from the normal distribution with deviation
        ``sqrt(2 / (h * w * num_channels))``.
    use_cudnn : bool
        Fluid's; not used.
    act : str, optional
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Attributes
    ----------
    weight : Parameter
        ``[num_filters, num_channels / groups, height, width]``.
    bias : Parameter or None
        ``[num_filters]``.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> conv = dygraph.nn.Conv2D(1, 6, 5, padding=2)
    >>> conv(dygraph.to_variable(np.ones((2, 1, 28, 28), "float32"))).shape
    (2, 6, 28, 28)
    """

    def __init__(
        self,
        num_channels,
        num_filters,
        filter_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=None,
        param_attr=None,
        bias_attr=None,
        use_cudnn=True,
        act=None,
        dtype=None,
    ):
        super().__init__(
            num_channels, num_filters, filter_size, stride, padding, dilation, groups,
            param_attr, bias_attr, act, dtype,
        )  # fmt: skip

    def _convolve(self, input):
        return ops.conv2d(input, self.weight, **self._attrs)


class Conv1D(_Conv):
    """Convolution of sequences ``[batch, channels, length]``.

    ``out = act(conv(input, weight) + bias)``; the length becomes
    ``(length + 2 * padding - dilation * (filter_size - 1) - 1) // stride + 1``.

    Parameters
    ----------
    num_channels, num_filters : int
    filter_size, stride, dilation : int or (int,)
    padding : int, (int,), 'same' or 'valid'
    groups : int, optional
    param_attr, bias_attr, act, dtype
        As of `Conv2D`.

    Attributes
    ----------
    weight : Parameter
        ``[num_filters, num_channels / groups, filter_size]``.
    bias : Parameter or None
        ``[num_filters]``.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> conv = dygraph.nn.Conv1D(4, 8, 3, padding=1)
    >>> conv(dygraph.to_variable(np.ones((2, 4, 20), "float32"))).shape
    (2, 8, 20)
    """

    _axes = 1

    def __init__(
        self,
        num_channels,
        num_filters,
        filter_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=None,
        param_attr=None,
        bias_attr=None,
        act=None,
        dtype=None,
    ):
        super().__init__(
            num_channels, num_filters, filter_size, stride, padding, dilation, groups,
            param_attr, bias_attr, act, dtype,
        )  # fmt: skip

    def _convolve(self, input):
        a = self._attrs
        return images.conv1d(
            input,
            self.weight,
            None,
            a["strides"][0],
            a["paddings"][0],
            a["dilations"][0],
            a["groups"],
        )


class Conv3D(_Conv):
    """Convolution of volumes ``[batch, channels, depth, height, width]``.

    Sizes become ``(size + 2 * padding - dilation * (filter_size - 1) - 1) // stride + 1``.

    Parameters
    ----------
    num_channels, num_filters : int
    filter_size, stride, dilation : int or (int, int, int)
        For depth, height and width.
    padding : int, (int, int, int), 'same' or 'valid'
    groups, param_attr, bias_attr, use_cudnn, act, dtype
        As of `Conv2D`.

    Attributes
    ----------
    weight : Parameter
        ``[num_filters, num_channels / groups, depth, height, width]``.
    bias : Parameter or None
        ``[num_filters]``.

    Examples
    --------
    >>> import dygraph
    >>> conv = dygraph.nn.Conv3D(1, 1, 2, param_attr=dygraph.initializer.Constant(1.0))
    >>> conv(dygraph.ones([1, 1, 2, 2, 3])).tolist()  # eight cells in a window
    [[[[[8.0, 8.0]]]]]
    """

    _axes = 3

    def __init__(
        self,
        num_channels,
        num_filters,
        filter_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=None,
        param_attr=None,
        bias_attr=None,
        use_cudnn=True,
        act=None,
        dtype=None,
    ):
        super().__init__(
            num_channels, num_filters, filter_size, stride, padding, dilation, groups,
            param_attr, bias_attr, act, dtype,
        )  # fmt: skip

    def _convolve(self, input):
        return ops.conv3d(input, self.weight, **self._attrs)


class Conv2DTranspose(_Conv):
    """The transpose of a convolution of images, from the size of its output to that of its input.

    Height and width become ``(size - 1) * stride - 2 * padding + dilation * (filter_size - 1) + 1``
    or `output_size`, which may be up to ``stride - 1`` more.

    Parameters
    ----------
    num_channels, num_filters : int
    filter_size, stride, padding : int or (int, int)
    output_padding : int or (int, int)
        Additional pixels over the smallest output, less than `stride`; alternative to
        `output_size`.
    dilation : int or (int, int)
        From here on by name: PyTorch and Paddle order these arguments differently. Fluid's order is
        that of `dygraph.fluid.layers`.
    groups : int, optional
    output_size : int or (int, int), optional
    param_attr, bias_attr, use_cudnn, act, dtype
        As of `Conv2D`. Weights are initialised by `Xavier`.

    Attributes
    ----------
    weight : Parameter
        ``[num_channels, num_filters / groups, height, width]``.
    bias : Parameter or None
        ``[num_filters]``.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> up = dygraph.nn.Conv2DTranspose(8, 4, 4, stride=2, padding=1)
    >>> up(dygraph.to_variable(np.ones((2, 8, 7, 7), "float32"))).shape
    (2, 4, 14, 14)
    """

    _transposed = True

    def __init__(
        self,
        num_channels,
        num_filters,
        filter_size,
        stride=1,
        padding=0,
        output_padding=0,
        *,
        dilation=1,
        groups=None,
        output_size=None,
        param_attr=None,
        bias_attr=None,
        use_cudnn=True,
        act=None,
        dtype=None,
    ):
        super().__init__(
            num_channels, num_filters, filter_size, stride, padding, dilation, groups,
            param_attr, bias_attr, act, dtype, output_size, output_padding,
        )  # fmt: skip

    def _convolve(self, input):
        return ops.conv2d_transpose(input, self.weight, **self._attrs)


class Conv1DTranspose(_Conv):
    """The transpose of a convolution of sequences; see `Conv2DTranspose`.

    Parameters
    ----------
    num_channels, num_filters : int
    filter_size, stride, padding, output_padding, dilation : int or (int,)
    groups, output_size, param_attr, bias_attr, act, dtype
        As of `Conv2DTranspose`.

    Attributes
    ----------
    weight : Parameter
        ``[num_channels, num_filters / groups, filter_size]``.
    bias : Parameter or None
        ``[num_filters]``.

    Examples
    --------
    >>> import dygraph
    >>> one = dygraph.initializer.Constant(1.0)
    >>> up = dygraph.nn.Conv1DTranspose(1, 1, 2, stride=2, param_attr=one)
    >>> up(dygraph.to_variable([[[3.0, 5.0]]], dtype="float32")).tolist()
    [[[3.0, 3.0, 5.0, 5.0]]]
    """

    _axes = 1
    _transposed = True

    def __init__(
        self,
        num_channels,
        num_filters,
        filter_size,
        stride=1,
        padding=0,
        output_padding=0,
        *,
        dilation=1,
        groups=None,
        output_size=None,
        param_attr=None,
        bias_attr=None,
        act=None,
        dtype=None,
    ):
        super().__init__(
            num_channels, num_filters, filter_size, stride, padding, dilation, groups,
            param_attr, bias_attr, act, dtype, output_size, output_padding,
        )  # fmt: skip

    def _convolve(self, input):
        a = self._attrs
        return images.conv1d_transpose(
            input,
            self.weight,
            None,
            a["strides"][0],
            a["paddings"][0],
            a["dilations"][0],
            a["groups"],
            a.get("output_size"),
            a.get("output_padding", 0),
        )


class Conv3DTranspose(_Conv):
    """The transpose of a convolution of volumes; see `Conv2DTranspose`.

    Parameters
    ----------
    num_channels, num_filters : int
    filter_size, stride, padding, output_padding, dilation : int or (int, int, int)
    groups, output_size, param_attr, bias_attr, use_cudnn, act, dtype
        As of `Conv2DTranspose`.

    Attributes
    ----------
    weight : Parameter
        ``[num_channels, num_filters / groups, depth, height, width]``.
    bias : Parameter or None
        ``[num_filters]``.

    Examples
    --------
    >>> import dygraph
    >>> up = dygraph.nn.Conv3DTranspose(8, 4, 4, stride=2, padding=1)
    >>> up(dygraph.ones([2, 8, 3, 3, 3])).shape
    (2, 4, 6, 6, 6)
    """

    _axes = 3
    _transposed = True

    def __init__(
        self,
        num_channels,
        num_filters,
        filter_size,
        stride=1,
        padding=0,
        output_padding=0,
        *,
        dilation=1,
        groups=None,
        output_size=None,
        param_attr=None,
        bias_attr=None,
        use_cudnn=True,
        act=None,
        dtype=None,
    ):
        super().__init__(
            num_channels, num_filters, filter_size, stride, padding, dilation, groups,
            param_attr, bias_attr, act, dtype, output_size, output_padding,
        )  # fmt: skip

    def _convolve(self, input):
        return ops.conv3d_transpose(input, self.weight, **self._attrs)


class Pool2D(Layer):
    """Maximum or average over windows of images ``[batch, channels, height, width]``.

    Parameters
    ----------
    pool_size, pool_stride, pool_padding : int or (int, int)
    pool_type : 'max' or 'avg'
    global_pooling : bool
        One window over the whole image; sizes are ignored.
    use_cudnn : bool
        Fluid's; not used.
    ceil_mode : bool
        Round the output's size up.
    exclusive : bool
        Averages exclude padding.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> pool = dygraph.nn.Pool2D(2, "max", 2)
    >>> pool(dygraph.to_variable(np.ones((2, 6, 28, 28), "float32"))).shape
    (2, 6, 14, 14)
    """

    def __init__(
        self,
        pool_size=-1,
        pool_type="max",
        pool_stride=1,
        pool_padding=0,
        global_pooling=False,
        use_cudnn=True,
        ceil_mode=False,
        exclusive=True,
    ):
        super().__init__()
        check.choice(pool_type, ("max", "avg"), "Pool2D: pool_type")
        global_pooling = bool(global_pooling)
        if pool_size == -1 and not global_pooling:
            raise InvalidArgumentError(
                "Pool2D: pool_size must be given unless global_pooling is True, got -1"
            )
        least = None if global_pooling else 1
        self._attrs = {
            "pooling_type": pool_type,
            "ksize": check.integers(pool_size, 2, "Pool2D: pool_size", least),
            "strides": check.integers(pool_stride, 2, "Pool2D: pool_stride", 1),
            "paddings": check.integers(pool_padding, 2, "Pool2D: pool_padding", 0),
            "global_pooling": global_pooling,
            "ceil_mode": bool(ceil_mode),
            "exclusive": bool(exclusive),
        }

    def forward(self, input):
        return ops.pool2d(input, **self._attrs)

    def extra_repr(self):
        a = self._attrs
        if a["global_pooling"]:
            return f"'{a['pooling_type']}', global_pooling=True"
        return f"{a['ksize']}, '{a['pooling_type']}', {a['strides']}, {a['paddings']}"
