"""Conv2D and Pool2D."""

from dygraph import _core, check
from dygraph.errors import InvalidArgumentError
from dygraph.initializer import Normal
from dygraph.nn.activation import activation
from dygraph.nn.layer import Layer

__all__ = ["Conv2D", "Pool2D"]

ops = _core.ops


class Conv2D(Layer):
    """Convolution of images ``[batch, channels, height, width]``.

    ``out = act(conv(input, weight) + bias)``; height and width become
    ``(size + 2 * padding - dilation * (filter_size - 1) - 1) // stride + 1``.

    Parameters
    ----------
    num_channels, num_filters : int
        Channels before and after.
    filter_size, stride, padding, dilation : int or (int, int)
        For height and width.
    groups : int, optional
        Both numbers of channels must be multiples of it. None: 1.
    param_attr, bias_attr : ParamAttr, str, Initializer, None or False
        Weights start as normal draws of deviation ``sqrt(2 / (h * w * num_channels))``.
    use_cudnn : bool
        Accepted for Fluid's sake; kernels are chosen by what is built.
    act : str, optional
    dtype : dtype

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
        dtype="float32",
    ):
        super().__init__(dtype=dtype)
        channels = check.integer(num_channels, "Conv2D: num_channels", 1)
        filters = check.integer(num_filters, "Conv2D: num_filters", 1)
        groups = check.integer(1 if groups is None else groups, "Conv2D: groups", 1)
        if channels % groups or filters % groups:
            raise InvalidArgumentError(
                f"Conv2D: num_channels {channels} and num_filters {filters} must be multiples of "
                f"groups, got {groups}"
            )
        window = check.integers(filter_size, 2, "Conv2D: filter_size", 1)
        self._attrs = {
            "strides": check.integers(stride, 2, "Conv2D: stride", 1),
            "paddings": check.integers(padding, 2, "Conv2D: padding", 0),
            "dilations": check.integers(dilation, 2, "Conv2D: dilation", 1),
            "groups": groups,
        }
        self._act = activation(act, "Conv2D")
        self._act_name = act
        deviation = (2.0 / (window[0] * window[1] * channels)) ** 0.5
        self.weight = self.create_parameter(
            [filters, channels // groups, *window],
            param_attr,
            default_initializer=Normal(0.0, deviation),
        )
        self.bias = self.create_parameter([filters], bias_attr, is_bias=True)

    def forward(self, input):
        out = ops.conv2d(input, self.weight, **self._attrs)
        if self.bias is not None:
            out = ops.elementwise_add(out, self.bias, axis=1)
        return out if self._act is None else self._act(out)

    def extra_repr(self):
        filters, channels, *window = self.weight.shape
        parts = [f"{channels * self._attrs['groups']}, {filters}, filter_size={window}"]
        parts += [f"{name}={value}" for name, value in self._attrs.items() if name != "groups"]
        if self._attrs["groups"] != 1:
            parts.append(f"groups={self._attrs['groups']}")
        if self._act_name:
            parts.append(f"act='{self._act_name}'")
        return ", ".join(parts)


class Pool2D(Layer):
    """Maximum or average over windows of images ``[batch, channels, height, width]``.

    Parameters
    ----------
    pool_size, pool_stride, pool_padding : int or (int, int)
    pool_type : 'max' or 'avg'
    global_pooling : bool
        One window over the whole image; sizes are not looked at.
    use_cudnn : bool
        Accepted for Fluid's sake.
    ceil_mode : bool
        Round the output's size up.
    exclusive : bool
        An average does not count padding.

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
