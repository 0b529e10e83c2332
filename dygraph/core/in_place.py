"""Methods of Variable that write their result over the variable: ``x.add_(y)``, ``x.exp_()``."""

from dygraph import _core
from dygraph.core import check, size_lists
from dygraph.core.lazily import find
from dygraph.errors import InvalidArgumentError
from dygraph.functions import creation
from dygraph.functions.random import drawn

ops = _core.ops
Variable = _core.Variable


def _other(self, value):
    return value if isinstance(value, Variable) else _core.literal(value, self.dtype)


def _times(y, alpha):
    return y if alpha == 1 else y * check.number(alpha, "alpha")


def _in_place(compute, name, doc):
    def method(self, *args, **kwargs):
        result = compute(self, *args, **kwargs)
        if result.shape != self.shape or result.dtype != self.dtype:
            raise InvalidArgumentError(
                f"{name}: the result must keep shape {list(self.shape)} and type {self.dtype}, "
                f"got {list(result.shape)} of {result.dtype}"
            )
        if any(isinstance(value, Variable) for value in (*args, *kwargs.values())):
            result = size_lists.matching(self, result)
        _core.become(self, result)
        return self

    method.__wrapped__ = compute  # help and completion show its arguments
    method.__name__ = name
    method.__qualname__ = f"Variable.{name}"
    method.__doc__ = doc + (
        "\n\nReturns this variable. RuntimeError for a leaf that needs a gradient while recording: "
        "write under ``dygraph.no_grad()``."
    )
    return method


def clip(self, min=None, max=None):
    """`dygraph.nn.clip`: every element clipped to [min, max]; None: no bound.

    >>> import dygraph
    >>> dygraph.to_variable([-2.0, 0.5, 3.0]).clip(-1, 1).numpy()
    array([-1. ,  0.5,  1. ], dtype=float32)
    """
    if min is None and max is None:
        raise InvalidArgumentError("clip: min or max must be given, got neither")
    return find("dygraph.functions.choices", "clip")(self, min, max)


def power(self, y):
    """``x ** y``."""
    return self**y


def _copied(self, y):
    y = _other(self, y)
    y = y if y.dtype == self.dtype else ops.cast(y, in_dtype=y.dtype, out_dtype=self.dtype)
    is_whole = y.shape == self.shape and -1 not in _core.dims(self)
    return ops.assign(y) if is_whole else y.expand_as(self)


def _uniform(self, min=-1.0, max=1.0):
    low, high = check.number(min, "uniform_: min"), check.number(max, "uniform_: max", min)
    sizes = size_lists.sizes_of(self)
    with size_lists.beside(self):
        return drawn("uniform_random", sizes, "uniform_", min=low, max=high, dtype=self.dtype)


def _normal(self, mean=0.0, std=1.0):
    mean, std = check.number(mean, "normal_: mean"), check.number(std, "normal_: std", 0)
    sizes = size_lists.sizes_of(self)
    with size_lists.beside(self):
        return drawn("gaussian_random", sizes, "normal_", mean=mean, std=std, dtype=self.dtype)


def _unary(name):
    return _in_place(lambda x: getattr(ops, name)(x), f"{name}_", f"`dygraph.ops.{name}` in place.")


METHODS: dict = {
    "add_": _in_place(
        lambda x, y, *, alpha=1: x + _times(_other(x, y), alpha),
        "add_",
        "Add ``alpha * y`` in place.",
    ),
    "subtract_": _in_place(
        lambda x, y, *, alpha=1: x - _times(_other(x, y), alpha),
        "subtract_",
        "Subtract ``alpha * y`` in place.",
    ),
    "multiply_": _in_place(lambda x, y: x * _other(x, y), "multiply_", "Multiply by `y` in place."),
    "divide_": _in_place(lambda x, y: x / _other(x, y), "divide_", "Divide by `y` in place."),
    "pow_": _in_place(power, "pow_", "Raise to the power `y` in place."),
    "clip_": _in_place(clip, "clip_", "Clip every element to [min, max] in place."),
    "scale_": _in_place(
        lambda x, scale=1.0, bias=0.0: ops.scale(x, scale=scale, bias=bias),
        "scale_",
        "``x = scale * x + bias`` in place.",
    ),
    "lerp_": _in_place(
        lambda x, y, weight: x + (_other(x, y) - x) * weight,
        "lerp_",
        "``x = x + weight * (y - x)`` in place.",
    ),
    "neg_": _in_place(lambda x: -x, "neg_", "Change the sign in place."),
    "copy_": _in_place(_copied, "copy_", "Write the values of `y`, broadcast and cast."),
    "fill_": _in_place(
        lambda x, value: creation.filled(x, value, "fill_: value"),
        "fill_",
        "Write `value` everywhere.",
    ),
    "zero_": _in_place(lambda x: ops.fill_any_like(x, value=0.0), "zero_", "Write zeros."),
    "uniform_": _in_place(_uniform, "uniform_", "Write numbers drawn from [min, max)."),
    "normal_": _in_place(_normal, "normal_", "Write numbers drawn from a normal distribution."),
}
METHODS.update(
    {
        f"{name}_": _unary(name)
        for name in (
            "abs ceil exp floor log reciprocal relu round rsqrt sigmoid sqrt square tanh"
        ).split()
    }
)
