"""Activations along an axis, over channels, and with learnt slopes."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.functions.arguments import softmax_axis
from dygraph.initializer import ConstantInitializer
from dygraph.nn.activation import Elementwise
from dygraph.nn.layer import Layer

__all__ = ["LogSoftmax", "Maxout", "PReLU", "PRelu", "Softmax"]

ops = _core.ops


class Softmax(Elementwise):
    """``exp(x) / sum(exp(x))`` along `axis`.

    Parameters
    ----------
    axis : int, optional
        May be left out for inputs of one or two axes, and is then the last one. With more axes a
        call without it raises InvalidArgumentError, since libraries differ.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> scores = dygraph.to_variable(np.log([[1.0, 3.0]]))
    >>> dygraph.nn.Softmax()(scores).numpy().round(4).tolist()
    [[0.25, 0.75]]
    """

    _op = "softmax"

    def __init__(self, axis=None):
        super().__init__()
        if axis is not None:
            self._attrs["axis"] = check.integer(axis, f"{type(self).__name__}: axis")

    def forward(self, input):
        if not self._attrs:
            softmax_axis(input, None, type(self).__name__)
        return super().forward(input)


class LogSoftmax(Softmax):
    """``x - log(sum(exp(x)))`` along `axis`, the logarithm of softmax.

    Parameters
    ----------
    axis : int, optional
        May be left out for inputs of one or two axes, and is then the last one.

    Examples
    --------
    >>> import dygraph
    >>> (logs,) = dygraph.nn.LogSoftmax()(dygraph.to_variable([[0.0, 0.0]])).tolist()
    >>> [round(v, 4) for v in logs]
    [-0.6931, -0.6931]
    """

    _op = "log_softmax"


class Maxout(Elementwise):
    """The largest of each `groups` neighbouring channels. Goodfellow et al., 2013.

    Parameters
    ----------
    groups : int
        The number of channels in a group; it divides the number of channels.
    axis : int
        The axis of the channels.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[1.0, 4.0, 3.0, 2.0]])
    >>> dygraph.nn.Maxout(2)(x.reshape(1, 4, 1, 1)).reshape(2).tolist()
    [4.0, 3.0]
    """

    _op = "maxout"

    def __init__(self, groups, axis=1):
        super().__init__()
        self._attrs = {
            "groups": check.integer(groups, "Maxout: groups", 1),
            "axis": check.integer(axis, "Maxout: axis"),
        }


class PRelu(Layer):
    """``x`` where ``x > 0``, else ``weight * x`` with learnt slopes. He et al., 2015.

    Parameters
    ----------
    mode : str
        ``'all'``: one slope; ``'channel'``: one for each channel (axis 1); ``'element'``: one each
        for the elements of a sample.
    channel : int, optional
        Number of channels, for mode ``'channel'``.
    input_shape : list of int, optional
        Shape of the input with the batch in front, for mode ``'element'``.
    param_attr : ParamAttr, optional
        Of the slopes, which start at 0.25 by default.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.
    data_format : 'NCHW' or 'NHWC'
        NHWC: the channels are the last axis.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> prelu = dygraph.nn.PRelu("channel", channel=2)
    >>> prelu(dygraph.to_variable(np.array([[-4.0, 2.0]], "float32"))).numpy()
    array([[-1.,  2.]], dtype=float32)
    """

    def __init__(
        self, mode, channel=None, input_shape=None, param_attr=None, dtype=None,
        data_format="NCHW",
    ):  # fmt: skip
        super().__init__(dtype=dtype)
        if mode not in ("all", "channel", "element"):
            raise InvalidArgumentError(
                f"PRelu: mode must be 'all', 'channel' or 'element', got {mode!r}"
            )
        if mode == "channel":
            shape = [check.integer(channel, "PRelu: channel, which mode 'channel' needs,", 1)]
        elif mode == "element":
            shape = [1, *check.shape(input_shape, "PRelu: input_shape")[1:]]
        else:
            shape = [1]
        name = type(self).__name__
        self._format = check.choice(data_format, ("NCHW", "NHWC"), f"{name}: data_format")
        self._mode = mode
        self.weight = self.create_parameter(
            shape, param_attr, dtype, default_initializer=ConstantInitializer(0.25)
        )

    def forward(self, input):
        return ops.prelu(input, self.weight, mode=self._mode, data_format=self._format)

    def extra_repr(self):
        shape = {"channel": f", channel={self.weight.size}"}
        if self._mode == "element":
            return f"mode='element', input_shape={list(self.weight.shape)}"
        return f"mode='{self._mode}'{shape.get(self._mode, '')}"


class PReLU(PRelu):
    """`PRelu` with the arguments of later releases: one slope, or one for each channel.

    Parameters
    ----------
    num_parameters : int
        1, or the number of channels.
    init : float
        The initial slopes; 0 by default in Keras.
    param_attr : ParamAttr, optional
        Of the slopes; its initializer overrides `init`.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.
    data_format : 'NCHW' or 'NHWC'
        NHWC: the channels are the last axis.

    Examples
    --------
    >>> import dygraph
    >>> prelu = dygraph.nn.PReLU(init=0.5)
    >>> prelu(dygraph.to_variable([[-4.0, 2.0]], dtype="float32")).tolist()
    [[-2.0, 2.0]]
    """

    def __init__(
        self, num_parameters=1, init=0.25, param_attr=None, dtype=None, data_format="NCHW"
    ):
        count = check.integer(num_parameters, "PReLU: num_parameters", 1)
        super().__init__(
            "all" if count == 1 else "channel",
            channel=count,
            param_attr=param_attr,
            dtype=dtype,
            data_format=data_format,
        )
        if getattr(param_attr, "initializer", None) is None:
            self.weight.set_value(
                ops.fill_any_like(self.weight, value=check.number(init, "PReLU: init"))
            )

    def extra_repr(self):
        return f"{self.weight.size}"
