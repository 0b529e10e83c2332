"""Activations as layers, and by name for ``act=``."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, did_you_mean, kind_of
from dygraph.functions.arguments import softmax_axis
from dygraph.initializer import ConstantInitializer
from dygraph.nn.layer import Layer

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Maxout",
    "Mish",
    "PReLU",
    "PRelu",
    "ReLU",
    "ReLU6",
    "RReLU",
    "Sigmoid",
    "SiLU",
    "Softmax",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Swish",
    "Tanh",
    "Tanhshrink",
    "ThresholdedReLU",
]

ops = _core.ops


def activation(name, owner):
    """The function of ``act=name``; None for None.

    Any operator with one required input and one output is valid. InvalidArgumentError names near
    ones.
    """
    if name is None:
        return None
    if not isinstance(name, str):
        raise ArgumentTypeError(
            f"{owner}: act must be an activation's name such as 'relu', got {kind_of(name)}"
        )
    function = getattr(ops, name, None)
    if function is None or name.startswith("_") or not _takes_one(name):
        known = [
            n for n in dir(ops) if not n.startswith("_") and "_grad" not in n and _takes_one(n)
        ]
        raise InvalidArgumentError(
            f"{owner}: act must name an activation such as 'relu', got '{name}'."
            f"{did_you_mean(name, known)}"
        )
    return function


def _takes_one(name):
    inputs = _core.describe_op(name)["inputs"]
    return sum(not i["dispensable"] for i in inputs) == 1 and not inputs[0]["duplicable"]


class _Elementwise(Layer):
    """An operator of one input with fixed attributes."""

    _op: str | None = None

    def __init__(self):
        super().__init__()
        self._attrs = {}

    def forward(self, input):
        return getattr(ops, self._op)(input, **self._attrs)

    def extra_repr(self):
        names = {"lambda": "threshold"}  # an operator's name that is a word of Python
        return ", ".join(f"{names.get(n, n)}={value}" for n, value in self._attrs.items())


def _number(value, layer, name, least=None):
    return check.number(value, f"{type(layer).__name__}: {name}", least)


class ReLU(_Elementwise):
    """``max(x, 0)``; the gradient at 0 is 0.

    >>> import dygraph
    >>> dygraph.nn.ReLU()(dygraph.to_variable([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    _op = "relu"


class ReLU6(_Elementwise):
    """``min(max(x, 0), threshold)``.

    >>> import dygraph
    >>> dygraph.nn.ReLU6()(dygraph.to_variable([-1.0, 2.0, 8.0])).tolist()
    [0.0, 2.0, 6.0]
    """

    _op = "relu6"

    def __init__(self, threshold=6.0):
        super().__init__()
        self._attrs = {
            "threshold": _number(threshold, self, "threshold"),
        }


class LeakyReLU(_Elementwise):
    """``x`` where ``x > 0``, else ``alpha * x``.

    >>> import dygraph
    >>> dygraph.nn.LeakyReLU(0.25)(dygraph.to_variable([-4.0, 2.0])).tolist()
    [-1.0, 2.0]
    """

    _op = "leaky_relu"

    def __init__(self, alpha=0.01):
        super().__init__()
        self._attrs = {
            "alpha": _number(alpha, self, "alpha"),
        }


class ELU(_Elementwise):
    """``x`` where ``x > 0``, else ``alpha * (exp(x) - 1)``. Clevert et al., 2016.

    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.nn.ELU()(dygraph.to_variable([-99.0, -1.0, 2.0])).tolist()]
    [-1.0, -0.6321, 2.0]
    """

    _op = "elu"

    def __init__(self, alpha=1.0):
        super().__init__()
        self._attrs = {
            "alpha": _number(alpha, self, "alpha"),
        }


class CELU(ELU):
    """``x`` where ``x > 0``, else ``alpha * (exp(x / alpha) - 1)``. Barron, 2017.

    >>> import dygraph
    >>> dygraph.nn.CELU(0.5)(dygraph.to_variable([-99.0, 2.0])).tolist()
    [-0.5, 2.0]
    """

    _op = "celu"


class RReLU(Layer):
    """``x`` where ``x >= 0``, else ``x`` times a number drawn from [lower, upper]. Xu et al., 2015.

    ``eval()`` takes the middle of the two.

    >>> import dygraph
    >>> dygraph.nn.RReLU(0.25, 0.75).eval()(dygraph.to_variable([-1.0, 2.0])).tolist()
    [-0.5, 2.0]
    """

    def __init__(self, lower=1 / 8, upper=1 / 3):
        super().__init__()
        self._lower, self._upper = _number(lower, self, "lower"), _number(upper, self, "upper")

    def forward(self, input):
        return ops.rrelu(input, is_test=not self.training, lower=self._lower, upper=self._upper)

    def extra_repr(self):
        return f"lower={self._lower}, upper={self._upper}"


class SELU(_Elementwise):
    """``scale * elu(x, alpha)`` with the constants that keep mean and variance. Klambauer, 2017.

    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.nn.SELU()(dygraph.to_variable([-99.0, 1.0])).tolist()]
    [-1.7581, 1.0507]
    """

    _op = "selu"

    def __init__(self, scale=1.0507009873554805, alpha=1.6732632423543772):
        super().__init__()
        self._attrs = {
            "scale": _number(scale, self, "scale"),
            "alpha": _number(alpha, self, "alpha"),
        }


class GELU(_Elementwise):
    """``x * Phi(x)``; `approximate` takes the form with tanh. Hendrycks and Gimpel, 2016.

    `approximate` is a bool as in Paddle, or ``'none'`` or ``'tanh'`` as in PyTorch.

    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.nn.GELU()(dygraph.to_variable([0.0, 1.0])).tolist()]
    [0.0, 0.8413]
    """

    _op = "gelu"

    def __init__(self, approximate=False):
        if isinstance(approximate, str):
            names = ("none", "tanh")
            approximate = check.choice(approximate, names, "GELU: approximate") == "tanh"
        super().__init__()
        self._attrs = {"approximate": check.flag(approximate, "GELU: approximate")}


class SiLU(_Elementwise):
    """``x * sigmoid(x)``.

    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.nn.SiLU()(dygraph.to_variable([0.0, 1.0])).tolist()]
    [0.0, 0.7311]
    """

    _op = "silu"


class Swish(_Elementwise):
    """``x * sigmoid(beta * x)``. Ramachandran et al., 2017.

    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.nn.Swish(beta=2.0)(dygraph.to_variable([0.0, 0.5])).tolist()]
    [0.0, 0.3655]
    """

    _op = "swish"

    def __init__(self, beta=1.0):
        super().__init__()
        self._attrs = {
            "beta": _number(beta, self, "beta"),
        }


class Mish(_Elementwise):
    """``x * tanh(softplus(x))``. Misra, 2019.

    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.nn.Mish()(dygraph.to_variable([0.0, 1.0])).tolist()]
    [0.0, 0.8651]
    """

    _op = "mish"


class Hardswish(_Elementwise):
    """``x * min(max(x + offset, 0), threshold) / scale``. Howard et al., 2019.

    >>> import dygraph
    >>> dygraph.nn.Hardswish()(dygraph.to_variable([-1.5, 0.0, 4.0])).tolist()
    [-0.375, 0.0, 4.0]
    """

    _op = "hard_swish"

    def __init__(self, threshold=6.0, scale=6.0, offset=3.0):
        super().__init__()
        self._attrs = {
            "threshold": _number(threshold, self, "threshold"),
            "scale": _number(scale, self, "scale"),
            "offset": _number(offset, self, "offset"),
        }


class Hardsigmoid(_Elementwise):
    """``min(max(slope * x + offset, 0), 1)``; the default slope is PyTorch's and Paddle 2's.

    >>> import dygraph
    >>> dygraph.nn.Hardsigmoid(0.25)(dygraph.to_variable([-3.0, 1.0, 3.0])).tolist()
    [0.0, 0.75, 1.0]
    """

    _op = "hard_sigmoid"

    def __init__(self, slope=1 / 6, offset=0.5):
        super().__init__()
        self._attrs = {
            "slope": _number(slope, self, "slope"),
            "offset": _number(offset, self, "offset"),
        }


class Hardshrink(_Elementwise):
    """``x`` where ``|x| > threshold``, else 0.

    >>> import dygraph
    >>> dygraph.nn.Hardshrink()(dygraph.to_variable([-2.0, 0.25])).tolist()
    [-2.0, 0.0]
    """

    _op = "hard_shrink"

    def __init__(self, threshold=0.5):
        super().__init__()
        self._attrs = {
            "threshold": _number(threshold, self, "threshold"),
        }


class Softshrink(_Elementwise):
    """``x`` shrunk towards 0 by `threshold`, and 0 within it.

    >>> import dygraph
    >>> dygraph.nn.Softshrink()(dygraph.to_variable([-2.0, 0.25])).tolist()
    [-1.5, 0.0]
    """

    _op = "softshrink"

    def __init__(self, threshold=0.5):
        super().__init__()
        self._attrs = {
            "lambda": _number(threshold, self, "threshold"),
        }


class Tanhshrink(_Elementwise):
    """``x - tanh(x)``.

    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.nn.Tanhshrink()(dygraph.to_variable([0.0, 1.0])).tolist()]
    [0.0, 0.2384]
    """

    _op = "tanh_shrink"


class ThresholdedReLU(_Elementwise):
    """``x`` where ``x > threshold``, else 0.

    >>> import dygraph
    >>> dygraph.nn.ThresholdedReLU()(dygraph.to_variable([0.5, 2.0])).tolist()
    [0.0, 2.0]
    """

    _op = "thresholded_relu"

    def __init__(self, threshold=1.0):
        super().__init__()
        self._attrs = {
            "threshold": _number(threshold, self, "threshold"),
        }


class Softplus(_Elementwise):
    """``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x > threshold``.

    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.nn.Softplus()(dygraph.to_variable([0.0, 50.0])).tolist()]
    [0.6931, 50.0]
    """

    _op = "softplus"

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self._attrs = {
            "beta": _number(beta, self, "beta"),
            "threshold": _number(threshold, self, "threshold"),
        }


class Softsign(_Elementwise):
    """``x / (1 + |x|)``.

    >>> import dygraph
    >>> dygraph.nn.Softsign()(dygraph.to_variable([-1.0, 3.0])).tolist()
    [-0.5, 0.75]
    """

    _op = "softsign"


class LogSigmoid(_Elementwise):
    """``log(1 / (1 + exp(-x)))``, without overflow for any ``x``.

    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.nn.LogSigmoid()(dygraph.to_variable([0.0, -900.0])).tolist()]
    [-0.6931, -900.0]
    """

    _op = "logsigmoid"


class Sigmoid(_Elementwise):
    """``1 / (1 + exp(-x))``.

    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.nn.Sigmoid()(dygraph.to_variable([0.0, 1.0])).tolist()]
    [0.5, 0.7311]
    """

    _op = "sigmoid"


class Tanh(_Elementwise):
    """The hyperbolic tangent.

    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.nn.Tanh()(dygraph.to_variable([0.0, 1.0])).tolist()]
    [0.0, 0.7616]
    """

    _op = "tanh"


class Softmax(_Elementwise):
    """``exp(x) / sum(exp(x))`` along `axis`, which may be left out for one axis or two.

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
    """``x - log(sum(exp(x)))`` along `axis`: the logarithm of softmax.

    >>> import dygraph
    >>> (logs,) = dygraph.nn.LogSoftmax()(dygraph.to_variable([[0.0, 0.0]])).tolist()
    >>> [round(v, 4) for v in logs]
    [-0.6931, -0.6931]
    """

    _op = "log_softmax"


class Maxout(_Elementwise):
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
        The initial slopes.
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
