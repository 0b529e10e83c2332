"""Activations as layers, and by name for ``act=``."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, did_you_mean, kind_of
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
    "Mish",
    "ReLU",
    "ReLU6",
    "RReLU",
    "Sigmoid",
    "SiLU",
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


class Elementwise(Layer):
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


class ReLU(Elementwise):
    """``max(x, 0)``; the gradient at 0 is 0.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.nn.ReLU()(dygraph.to_variable([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    _op = "relu"


class ReLU6(Elementwise):
    """``min(max(x, 0), threshold)``.

    Parameters
    ----------
    threshold : float
        The upper bound.

    Examples
    --------
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


class LeakyReLU(Elementwise):
    """``x`` where ``x > 0``, else ``alpha * x``.

    Parameters
    ----------
    alpha : float
        Slope below 0; PyTorch's `negative_slope`. Keras's default is 0.3.

    Examples
    --------
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


class ELU(Elementwise):
    """``x`` where ``x > 0``, else ``alpha * (exp(x) - 1)``. Clevert et al., 2016.

    Parameters
    ----------
    alpha : float
        Minus the limit for ``x`` to minus infinity.

    Examples
    --------
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

    Parameters
    ----------
    alpha : float, default 1.0
        The scale of what is below 0, not 0 itself.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.nn.CELU(0.5)(dygraph.to_variable([-99.0, 2.0])).tolist()
    [-0.5, 2.0]
    """

    _op = "celu"


class RReLU(Layer):
    """``x`` where ``x >= 0``, else ``x`` times a number drawn from [lower, upper]. Xu et al., 2015.

    ``eval()`` takes the middle of the two.

    Parameters
    ----------
    lower, upper : float
        The least and the greatest slope below 0, in [0, 1].

    Examples
    --------
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


class SELU(Elementwise):
    """``scale * elu(x, alpha)`` with the constants that keep mean and variance. Klambauer, 2017.

    Parameters
    ----------
    scale, alpha : float
        The constants of Klambauer et al., which PyTorch does not let change.

    Examples
    --------
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


class GELU(Elementwise):
    """``x * Phi(x)``, Phi the normal distribution function. Hendrycks and Gimpel, 2016.

    Parameters
    ----------
    approximate : bool or str
        True, or PyTorch's ``'tanh'``: the form with tanh. False, or ``'none'``: the exact one.

    Examples
    --------
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


class SiLU(Elementwise):
    """``x * sigmoid(x)``.

    Examples
    --------
    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.nn.SiLU()(dygraph.to_variable([0.0, 1.0])).tolist()]
    [0.0, 0.7311]
    """

    _op = "silu"


class Swish(Elementwise):
    """``x * sigmoid(beta * x)``. Ramachandran et al., 2017.

    Parameters
    ----------
    beta : float
        1 gives `SiLU`.

    Examples
    --------
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


class Mish(Elementwise):
    """``x * tanh(softplus(x))``. Misra, 2019.

    Examples
    --------
    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.nn.Mish()(dygraph.to_variable([0.0, 1.0])).tolist()]
    [0.0, 0.8651]
    """

    _op = "mish"


class Hardswish(Elementwise):
    """``x * min(max(x + offset, 0), threshold) / scale``. Howard et al., 2019.

    Parameters
    ----------
    threshold, scale, offset : float
        With the defaults the function of PyTorch and Paddle 2.

    Examples
    --------
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


class Hardsigmoid(Elementwise):
    """``min(max(slope * x + offset, 0), 1)``; the default slope is PyTorch's and Paddle 2's.

    Parameters
    ----------
    slope, offset : float
        Fluid's default slope is 0.2.

    Examples
    --------
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


class Hardshrink(Elementwise):
    """``x`` where ``|x| > threshold``, else 0.

    Parameters
    ----------
    threshold : float
        PyTorch's `lambd`.

    Examples
    --------
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


class Softshrink(Elementwise):
    """``x`` moved towards 0 by `threshold`, and 0 within it.

    Parameters
    ----------
    threshold : float
        PyTorch's `lambd`.

    Examples
    --------
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


class Tanhshrink(Elementwise):
    """``x - tanh(x)``.

    Examples
    --------
    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.nn.Tanhshrink()(dygraph.to_variable([0.0, 1.0])).tolist()]
    [0.0, 0.2384]
    """

    _op = "tanh_shrink"


class ThresholdedReLU(Elementwise):
    """``x`` where ``x > threshold``, else 0.

    Parameters
    ----------
    threshold : float
        PyTorch's ``Threshold(threshold, 0)``.

    Examples
    --------
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


class Softplus(Elementwise):
    """``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x > threshold``.

    Parameters
    ----------
    beta : float
        Sharpness of the bend at 0.
    threshold : float
        Bound of ``beta * x`` for the linear part, which avoids overflow.

    Examples
    --------
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


class Softsign(Elementwise):
    """``x / (1 + |x|)``.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.nn.Softsign()(dygraph.to_variable([-1.0, 3.0])).tolist()
    [-0.5, 0.75]
    """

    _op = "softsign"


class LogSigmoid(Elementwise):
    """``log(1 / (1 + exp(-x)))``, without overflow for any ``x``.

    Examples
    --------
    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.nn.LogSigmoid()(dygraph.to_variable([0.0, -900.0])).tolist()]
    [-0.6931, -900.0]
    """

    _op = "logsigmoid"


class Sigmoid(Elementwise):
    """``1 / (1 + exp(-x))``.

    Examples
    --------
    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.nn.Sigmoid()(dygraph.to_variable([0.0, 1.0])).tolist()]
    [0.5, 0.7311]
    """

    _op = "sigmoid"


class Tanh(Elementwise):
    """The hyperbolic tangent.

    Examples
    --------
    >>> import dygraph
    >>> [round(v, 4) for v in dygraph.nn.Tanh()(dygraph.to_variable([0.0, 1.0])).tolist()]
    [0.0, 0.7616]
    """

    _op = "tanh"
