"""Activations as layers, and by the names that ``act=`` takes."""

from dygraph import _core, check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, did_you_mean, kind_of
from dygraph.nn.layer import Layer

__all__ = ["ReLU", "Sigmoid", "Softmax", "Tanh"]

ops = _core.ops


def activation(name, owner):
    """The function of ``act=name``; None for None.

    Any operator of one required input and one output will do. InvalidArgumentError names near ones.
    """
    if name is None:
        return None
    if not isinstance(name, str):
        raise ArgumentTypeError(f"{owner}: act must be an activation's name, got {kind_of(name)}")
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


class ReLU(Layer):
    """``max(x, 0)``; the gradient at 0 is 0."""

    def forward(self, input):
        return ops.relu(input)


class Sigmoid(Layer):
    """``1 / (1 + exp(-x))``."""

    def forward(self, input):
        return ops.sigmoid(input)


class Tanh(Layer):
    """The hyperbolic tangent."""

    def forward(self, input):
        return ops.tanh(input)


class Softmax(Layer):
    """``exp(x) / sum(exp(x))`` along `axis`."""

    def __init__(self, axis=-1):
        super().__init__()
        self._axis = check.integer(axis, "Softmax: axis")

    def forward(self, input):
        return ops.softmax(input, axis=self._axis)

    def extra_repr(self):
        return f"axis={self._axis}"
