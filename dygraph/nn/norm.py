"""Normalisation layers without running values; `BatchNorm` is in `batch_norm`."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.functions import images
from dygraph.initializer import Constant
from dygraph.nn.activation import activation
from dygraph.nn.layer import Layer
from dygraph.nn.param_attr import ParamAttr

__all__ = [
    "GroupNorm",
    "InstanceNorm",
    "InstanceNorm1D",
    "InstanceNorm2D",
    "InstanceNorm3D",
    "LayerNorm",
    "LocalResponseNorm",
    "RMSNorm",
]

ops = _core.ops


def require_rank(input, axes, owner, layout="NCHW"):
    if layout == "NCHW":
        images.require_axes(input, axes, owner)
    elif len(check.variable(input, f"{owner}: input").shape) != axes + 2:
        raise InvalidArgumentError(
            f"{owner}: input must have {axes + 2} axes, the channels last, "
            f"got shape {list(input.shape)}"
        )


class _Affine(Layer):
    """A layer with an optional scale, initially ones, and shift, initially zeros."""

    def _create(self, size, param_attr, bias_attr):
        self.weight = self.create_parameter([size], param_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([size], bias_attr, is_bias=True)


class LayerNorm(_Affine):
    """Normalise each sample over its last axes.

    ``act((x - mean) / sqrt(variance + epsilon) * weight + bias)``, mean and variance over the axes
    of `normalized_shape` (Ba, Kiros and Hinton, 2016). The same while training and in eval mode.

    Parameters
    ----------
    normalized_shape : int or list of int
        Sizes of the last axes.
    scale, shift : bool
        False: no weight or no bias.
    epsilon : float
    param_attr, bias_attr : ParamAttr, str, Initializer, None or False
    act : str, optional
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Attributes
    ----------
    weight, bias : Parameter or None
        ``[product of normalized_shape]``.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> norm = dygraph.nn.LayerNorm(4)
    >>> norm(dygraph.to_variable(np.ones((2, 3, 4), "float32"))).shape
    (2, 3, 4)
    """

    def __init__(
        self,
        normalized_shape,
        scale=True,
        shift=True,
        epsilon=1e-05,
        param_attr=None,
        bias_attr=None,
        act=None,
        dtype=None,
    ):
        super().__init__(dtype=dtype)
        self._shape, size = _normalized(normalized_shape, "LayerNorm")
        self._epsilon = check.number(epsilon, "LayerNorm: epsilon", 0)
        self._act = activation(act, "LayerNorm")
        self._act_name = act
        for name, value in (("scale", scale), ("shift", shift)):
            if not isinstance(value, (bool, int)):
                raise ArgumentTypeError(
                    f"LayerNorm: {name} must be True or False, got {kind_of(value)}. Give epsilon "
                    f"by name: LayerNorm({self._shape}, epsilon={value})"
                )
        self._create(size, param_attr if scale else False, bias_attr if shift else False)

    def forward(self, input):
        begin = _begin(input, self._shape, "LayerNorm")
        out = ops.layer_norm(
            input,
            scale=self.weight,
            bias=self.bias,
            epsilon=self._epsilon,
            begin_norm_axis=begin,
        )
        return out if self._act is None else self._act(out)

    def extra_repr(self):
        parts = [f"{self._shape}"]
        parts += ["scale=False"] if self.weight is None else []
        parts += ["shift=False"] if self.bias is None else []
        parts.append(f"epsilon={self._epsilon}")
        parts += [f"act='{self._act_name}'"] if self._act_name else []
        return ", ".join(parts)


def _normalized(shape, owner):
    shape = check.shape([shape] if hasattr(type(shape), "__index__") else shape, f"{owner}: shape")
    size = 1
    for s in shape:
        size *= s
    if not shape or size < 1:
        raise InvalidArgumentError(
            f"{owner}: normalized_shape must hold sizes of at least 1, got {shape}"
        )
    return shape, size


def _begin(input, shape, owner):
    """The first axis normalised over."""
    check.variable(input, f"{owner}: input")
    begin = len(input.shape) - len(shape)
    if begin < 0 or list(input.shape[begin:]) != shape:
        raise InvalidArgumentError(
            f"{owner}: the last axes of input must be {shape}, got shape {list(input.shape)}"
        )
    return begin


class RMSNorm(_Affine):
    """Divide each sample by the root of its mean square over its last axes.

    ``x / sqrt(mean(x ** 2) + epsilon) * weight + bias`` (Zhang and Sennrich, 2019).

    Parameters
    ----------
    normalized_shape : int or list of int
        Sizes of the last axes.
    epsilon : float, optional
        None: the spacing of the numbers of the layer's type at 1, as in PyTorch; 1.19e-7 for
        float32.
    param_attr : ParamAttr, str or Initializer, optional
    bias_attr : ParamAttr, str, Initializer, None or False
        Default: False, no bias.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Attributes
    ----------
    weight : Parameter
        ``[product of normalized_shape]``.
    bias : Parameter or None
        Shape of `weight`.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[1.0, 7.0]], dtype="float32")
    >>> dygraph.nn.RMSNorm(2)(x).numpy().round(3)  # over sqrt((1 + 49) / 2)
    array([[0.2, 1.4]], dtype=float32)
    """

    def __init__(
        self, normalized_shape, epsilon=None, param_attr=None, bias_attr=False, dtype=None
    ):
        super().__init__(dtype=dtype)
        self._shape, size = _normalized(normalized_shape, "RMSNorm")
        if epsilon is None:
            epsilon = 2.0**-52 if str(self._dtype) == "float64" else 2.0**-23
        self._epsilon = check.number(epsilon, "RMSNorm: epsilon", 0)
        self._create(size, ParamAttr.of(param_attr) or ParamAttr(trainable=False), bias_attr)

    def forward(self, input):
        begin = _begin(input, self._shape, "RMSNorm")
        return ops.rms_norm(
            input,
            self.weight,
            norm_bias=self.bias,
            epsilon=self._epsilon,
            begin_norm_axis=begin,
        )

    def extra_repr(self):
        return f"{self._shape}, epsilon={self._epsilon}"


class GroupNorm(_Affine):
    """Normalise each sample over groups of its channels.

    ``act((x - mean) / sqrt(variance + epsilon) * weight + bias)``, mean and variance over a group
    of channels and all pixels (Wu and He, 2018). The same while training and in eval mode.

    Parameters
    ----------
    channels, groups : int
        `channels` must be a multiple of `groups`.
    epsilon : float
    param_attr, bias_attr : ParamAttr, str, Initializer, None or False
    act : str, optional
    data_layout : 'NCHW' or 'NHWC'
        Which axis holds the channels.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Attributes
    ----------
    weight, bias : Parameter or None
        ``[channels]``.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[2.0, 6.0, 0.0, 1.0]], dtype="float32")
    >>> dygraph.nn.GroupNorm(4, 2)(x.reshape(1, 4, 1, 1)).numpy().round(3).ravel().tolist()
    [-1.0, 1.0, -1.0, 1.0]
    """

    def __init__(
        self,
        channels,
        groups,
        epsilon=1e-05,
        param_attr=None,
        bias_attr=None,
        act=None,
        data_layout="NCHW",
        dtype=None,
    ):
        super().__init__(dtype=dtype)
        channels = check.integer(channels, "GroupNorm: channels", 1)
        groups = check.integer(groups, "GroupNorm: groups", 1)
        if channels % groups:
            raise InvalidArgumentError(
                f"GroupNorm: channels must be a multiple of groups, got {channels} and {groups}"
                + (f". Write GroupNorm({groups}, {channels})" if groups % channels == 0 else "")
            )
        self._channels = channels
        self._attrs = {
            "groups": groups,
            "epsilon": check.number(epsilon, "GroupNorm: epsilon", 0),
            "data_layout": check.choice(data_layout, ("NCHW", "NHWC"), "GroupNorm: data_layout"),
        }
        self._act = activation(act, "GroupNorm")
        self._act_name = act
        self._create(channels, param_attr, bias_attr)

    def forward(self, input):
        _require_channels(input, self._channels, "GroupNorm", self._attrs["data_layout"])
        out = ops.group_norm(input, scale=self.weight, bias=self.bias, **self._attrs)
        return out if self._act is None else self._act(out)

    def extra_repr(self):
        act = f", act='{self._act_name}'" if self._act_name else ""
        return f"{self._channels}, {self._attrs['groups']}, epsilon={self._attrs['epsilon']}{act}"


def _require_channels(input, channels, owner, layout="NCHW"):
    """Check the channels; operators check them only if there are parameters."""
    shape = check.variable(input, f"{owner}: input").shape
    if len(shape) < 2 or shape[1 if layout == "NCHW" else -1] != channels:
        where = "second" if layout == "NCHW" else "last"
        raise InvalidArgumentError(
            f"{owner}: input must have {channels} channels as its {where} axis, "
            f"got shape {list(shape)}"
        )


class InstanceNorm(_Affine):
    """Normalise each channel of each sample.

    ``(x - mean) / sqrt(variance + epsilon) * weight + bias``, mean and variance over the pixels of
    a channel (Ulyanov, Vedaldi and Lempitsky, 2016). The same while training and in eval mode.

    Parameters
    ----------
    num_channels : int
    epsilon : float
    param_attr, bias_attr : ParamAttr, str, Initializer, None or False
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Attributes
    ----------
    weight, bias : Parameter or None
        ``[num_channels]``.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[[2.0, 6.0]]]], dtype="float32")
    >>> dygraph.nn.InstanceNorm(1)(x).numpy().round(3).tolist()
    [[[[-1.0, 1.0]]]]
    """

    def __init__(self, num_channels, epsilon=1e-05, param_attr=None, bias_attr=None, dtype=None):
        super().__init__(dtype=dtype)
        self._channels = check.integer(num_channels, f"{type(self).__name__}: num_channels", 1)
        self._epsilon = check.number(epsilon, f"{type(self).__name__}: epsilon", 0)
        self._create(self._channels, param_attr, bias_attr)

    def forward(self, input):
        _require_channels(input, self._channels, type(self).__name__)
        return ops.instance_norm(input, scale=self.weight, bias=self.bias, epsilon=self._epsilon)

    def extra_repr(self):
        return f"{self._channels}, epsilon={self._epsilon}"


class InstanceNorm1D(InstanceNorm):
    """`InstanceNorm` of sequences ``[batch, channels, length]`` and nothing else.

    Parameters
    ----------
    num_channels : int
    epsilon : float
    param_attr, bias_attr : ParamAttr, str, Initializer, None or False
        Of the weight and the bias ``[num_channels]``.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[2.0, 6.0]]], dtype="float32")
    >>> dygraph.nn.InstanceNorm1D(1)(x).numpy().round(3).tolist()
    [[[-1.0, 1.0]]]
    """

    def forward(self, input):
        require_rank(input, 1, "InstanceNorm1D")
        return super().forward(input)


class InstanceNorm2D(InstanceNorm):
    """`InstanceNorm` of images ``[batch, channels, height, width]`` and nothing else.

    Parameters
    ----------
    num_channels : int
    epsilon : float
    param_attr, bias_attr : ParamAttr, str, Initializer, None or False
        Of the weight and the bias ``[num_channels]``.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[[2.0, 6.0]]]], dtype="float32")
    >>> dygraph.nn.InstanceNorm2D(1)(x).numpy().round(3).tolist()
    [[[[-1.0, 1.0]]]]
    """

    def forward(self, input):
        require_rank(input, 2, "InstanceNorm2D")
        return super().forward(input)


class InstanceNorm3D(InstanceNorm):
    """`InstanceNorm` of volumes ``[batch, channels, depth, height, width]`` and nothing else.

    Parameters
    ----------
    num_channels : int
    epsilon : float
    param_attr, bias_attr : ParamAttr, str, Initializer, None or False
        Of the weight and the bias ``[num_channels]``.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[[[2.0, 6.0]]]]], dtype="float32")
    >>> dygraph.nn.InstanceNorm3D(1)(x).numpy().round(3).tolist()
    [[[[[-1.0, 1.0]]]]]
    """

    def forward(self, input):
        require_rank(input, 3, "InstanceNorm3D")
        return super().forward(input)


class LocalResponseNorm(Layer):
    """Each value divided by a power of the mean square of the channels around it.

    ``x / (k + alpha * mean of the squares of size channels around) ** beta`` for images ``[batch,
    channels, height, width]``, as in PyTorch and Paddle 2. The paper (Krizhevsky, Sutskever and
    Hinton, 2012) and Fluid's `lrn` take the sum.

    Parameters
    ----------
    size : int
        Odd.
    alpha, beta, k : float

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.ones([1, 1, 1, 2])  # 1 / sqrt(1 + 15 / 5)
    >>> dygraph.nn.LocalResponseNorm(alpha=15.0, beta=0.5)(x).tolist()
    [[[[0.5, 0.5]]]]
    """

    def __init__(self, size=5, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        size = check.integer(size, "LocalResponseNorm: size", 1)
        if size % 2 == 0:
            raise InvalidArgumentError(f"LocalResponseNorm: size must be odd, got {size}")
        self._arguments = (
            size,
            check.number(alpha, "LocalResponseNorm: alpha", 0),
            check.number(beta, "LocalResponseNorm: beta", 0),
            check.number(k, "LocalResponseNorm: k", 0),
        )

    def forward(self, input):
        return images.local_response_norm(input, *self._arguments)

    def extra_repr(self):
        size, alpha, beta, k = self._arguments
        return f"{size}, alpha={alpha}, beta={beta}, k={k}"
