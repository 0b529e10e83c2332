"""Elementwise functions of one input with a slope: activations and their relatives."""

import math

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, away_from, rand


def sigmoid(x):
    return np.where(x < 0, np.exp(np.minimum(x, 0)), 1) / (1 + np.exp(-np.abs(x)))


def softplus(x):
    return np.logaddexp(x, 0)


erf = np.vectorize(math.erf, otypes=["float64"])


def gelu(x, a):
    if a.get("approximate"):
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def hard_swish(x, a):
    bent = np.clip(x + a.get("offset", 3.0), 0, a.get("threshold", 6.0))
    return x * bent / a.get("scale", 6.0)


def selu(x, a):
    scale = a.get("scale", 1.0507009873554805)
    return scale * np.where(x > 0, x, a.get("alpha", 1.6732632423543772) * np.expm1(x))


def shrunk(x, size):
    return np.sign(x) * np.maximum(np.abs(x) - size, 0)


# operator: reference(x, attrs), kinks, sets of attributes to try
ACTIVATIONS = {
    "leaky_relu": (
        lambda x, a: np.where(x > 0, x, a.get("alpha", 0.02) * x),
        [0],
        [{}, {"alpha": -0.5}],
    ),
    "relu6": (lambda x, a: np.clip(x, 0, a.get("threshold", 6.0)), [0, 1.5], [{"threshold": 1.5}]),
    "brelu": (
        lambda x, a: np.clip(x, a.get("t_min", 0.0), a.get("t_max", 24.0)),
        [-1, 0, 2],
        [{}, {"t_min": -1.0, "t_max": 2.0}],
    ),
    "hard_shrink": (
        lambda x, a: np.where(np.abs(x) > a.get("threshold", 0.5), x, 0),
        [-1.5, -0.5, 0.5, 1.5],
        [{}, {"threshold": 1.5}],
    ),
    "softshrink": (
        lambda x, a: shrunk(x, a.get("lambda", 0.5)),
        [-1.5, -0.5, 0.5, 1.5],
        [{}, {"lambda": 1.5}],
    ),
    "thresholded_relu": (
        lambda x, a: np.where(x > a.get("threshold", 1.0), x, 0),
        [1, -0.5],
        [{}, {"threshold": -0.5}],
    ),
    "hard_swish": (hard_swish, [-3, 3, -1], [{}, {"threshold": 4.0, "scale": 2.0, "offset": 1.0}]),
    "elu": (
        lambda x, a: np.where(x > 0, x, a.get("alpha", 1.0) * np.expm1(x)),
        [0],
        [{}, {"alpha": 0.5}],
    ),
    "selu": (selu, [0], [{}, {"scale": 2.0, "alpha": 0.5}]),
    "logsigmoid": (lambda x, a: -softplus(-x), [], [{}]),
    "softplus": (
        lambda x, a: np.where(
            a.get("beta", 1.0) * x > a.get("threshold", 20.0),
            x,
            softplus(a.get("beta", 1.0) * x) / a.get("beta", 1.0),
        ),
        [1.5],
        [{}, {"beta": 2.0, "threshold": 3.0}],
    ),
    "soft_relu": (
        lambda x, a: softplus(np.clip(x, -a.get("threshold", 40.0), a.get("threshold", 40.0))),
        [-2, 2],
        [{}, {"threshold": 2.0}],
    ),
    "softsign": (lambda x, a: x / (1 + np.abs(x)), [0], [{}]),
    "tanh_shrink": (lambda x, a: x - np.tanh(x), [], [{}]),
    "stanh": (
        lambda x, a: a.get("scale_b", 1.7159) * np.tanh(a.get("scale_a", 0.67) * x),
        [],
        [{}, {"scale_a": 0.5, "scale_b": 2.0}],
    ),
    "swish": (lambda x, a: x * sigmoid(a.get("beta", 1.0) * x), [], [{}, {"beta": 2.0}]),
    "silu": (lambda x, a: x * sigmoid(x), [], [{}]),
    "mish": (lambda x, a: x * np.tanh(softplus(x)), [], [{}]),
    "gelu": (gelu, [], [{}, {"approximate": True}]),
    "sin": (lambda x, a: np.sin(x), [], [{}]),
    "cos": (lambda x, a: np.cos(x), [], [{}]),
    "atan": (lambda x, a: np.arctan(x), [], [{}]),
    "sinh": (lambda x, a: np.sinh(x), [], [{}]),
    "cosh": (lambda x, a: np.cosh(x), [], [{}]),
    "erf": (lambda x, a: erf(x), [], [{}]),
    "expm1": (lambda x, a: np.expm1(x), [], [{}]),
}
# the same, on part of the line: reference, low, high
PARTIAL = {
    "tan": (np.tan, -1.2, 1.2),
    "asin": (np.arcsin, -0.9, 0.9),
    "acos": (np.arccos, -0.9, 0.9),
    "log1p": (np.log1p, -0.8, 3.0),
    "log2": (np.log2, 0.2, 3.0),
    "log10": (np.log10, 0.2, 3.0),
    "reciprocal": (np.reciprocal, 0.3, 3.0),
}


def case(name, op_type, function, inputs, attrs):
    def set_up(self):
        self.op_type = op_type
        self.attrs = dict(attrs)
        self.inputs = {"X": inputs()}

    def reference(self, inputs, attrs):
        with np.errstate(all="ignore"):
            return {"Out": np.asarray(function(inputs["X"].astype("float64"), attrs))}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")

    body = {
        "elementwise": True,
        "setUp": set_up,
        "reference": reference,
        "test_check_output": test_check_output,
        "test_check_grad": test_check_grad,
        "__module__": __name__,
    }
    return type(name, (OpTest,), body)


def clear(shape, kinks, low=-4.0, high=4.0, dtype="float64"):
    x = rand(*shape, low=low, high=high, dtype=dtype)
    for kink in kinks:
        x = away_from(kink, x)
    return x


def all_cases():
    classes = {}
    for op_type, (function, kinks, settings) in ACTIVATIONS.items():
        stem = "Test" + "".join(part.title() for part in op_type.split("_"))
        for i, attrs in enumerate(settings):
            name = f"{stem}{i or ''}"
            classes[name] = case(
                name, op_type, function, lambda kinks=kinks: clear((4, 5), kinks), attrs
            )
        name = stem + "Image"
        classes[name] = case(
            name,
            op_type,
            function,
            lambda kinks=kinks: clear((2, 3, 2, 3), kinks, dtype="float32"),
            settings[0],
        )
    for op_type, (function, low, high) in PARTIAL.items():
        name = "Test" + op_type.title()
        classes[name] = case(
            name,
            op_type,
            lambda x, a, f=function: f(x),
            lambda low=low, high=high: clear((4, 5), [], low, high),
            {},
        )
    return classes


globals().update(all_cases())


def run(op_type, values, dtype="float64", **attrs):
    x = _core.to_variable(np.array(values, dtype))
    return getattr(_core.ops, op_type)(x, **attrs).numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_far_out_nothing_overflows(dtype):
    big = [-1e4, -800.0, 800.0, 1e4]
    np.testing.assert_array_equal(run("softplus", big, dtype), [0, 0, 800, 1e4])
    np.testing.assert_array_equal(run("logsigmoid", big, dtype), [-1e4, -800, 0, 0])
    np.testing.assert_array_equal(run("silu", big, dtype), [0, 0, 800, 1e4])
    np.testing.assert_array_equal(run("gelu", big, dtype), [0, 0, 800, 1e4])
    np.testing.assert_array_equal(run("gelu", big, dtype, approximate=True), [0, 0, 800, 1e4])
    np.testing.assert_array_equal(run("mish", big, dtype), [0, 0, 800, 1e4])
    np.testing.assert_array_equal(run("softsign", [-np.finfo(dtype).max], dtype), [-1])
    np.testing.assert_array_equal(run("elu", big, dtype), [-1, -1, 800, 1e4])


FEW_ULP = {"float32": 1e-6, "float64": 1e-14}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op_type", ["softplus", "logsigmoid", "silu", "mish", "log1p", "expm1"])
def test_small_results_keep_their_digits(op_type, dtype):
    x = np.array([-30.0, -12.0, -3.0, 1e-6, 2.0, 15.0], dtype)
    if op_type == "log1p":
        x = np.abs(x) * 1e-3
    wide = x.astype("float64")
    expected = {
        "softplus": lambda: np.log1p(np.exp(-np.abs(wide))) + np.maximum(wide, 0),
        "logsigmoid": lambda: np.minimum(wide, 0) - np.log1p(np.exp(-np.abs(wide))),
        "silu": lambda: wide * np.exp(np.minimum(wide, 0)) / (1 + np.exp(-np.abs(wide))),
        "mish": lambda: wide * np.tanh(np.log1p(np.exp(-np.abs(wide))) + np.maximum(wide, 0)),
        "log1p": lambda: np.log1p(wide),
        "expm1": lambda: np.expm1(wide),
    }[op_type]()
    np.testing.assert_allclose(run(op_type, x, dtype), expected, rtol=FEW_ULP[dtype])


@pytest.mark.parametrize(
    "op_type", sorted(set(ACTIVATIONS) | set(PARTIAL) | {"floor", "ceil", "round", "sign", "clip"})
)
def test_a_nan_passes(op_type):
    assert np.isnan(run(op_type, [np.nan])).all()
    assert np.isnan(run(op_type, [np.nan], "float32")).all()


def test_rounding_is_numpys():
    x = np.array([-2.5, -1.5, -0.5, -0.2, 0.0, 0.5, 1.5, 2.5, 1e300, -np.inf])
    np.testing.assert_array_equal(run("round", x), np.round(x))
    np.testing.assert_array_equal(run("floor", x), np.floor(x))
    np.testing.assert_array_equal(run("ceil", x), np.ceil(x))
    np.testing.assert_array_equal(run("sign", x), np.sign(x))
    whole = np.array([-3, 0, 2**53 + 1], "int64")
    for op_type in ("round", "floor", "ceil"):
        np.testing.assert_array_equal(run(op_type, whole, "int64"), whole)
    np.testing.assert_array_equal(run("sign", whole, "int64"), [-1, 0, 1])


@pytest.mark.parametrize("op_type", ["floor", "ceil", "round", "sign"])
def test_a_step_has_gradient_zero(op_type):
    x = _core.to_variable(np.array([-1.3, 0.4, 2.2]))
    x.stop_gradient = False
    y = getattr(_core.ops, op_type)(x)
    y.backward(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(x.gradient(), [0, 0, 0])


@pytest.mark.parametrize("op_type", ["silu", "gelu", "softplus", "mish", "tan", "erf", "softsign"])
def test_the_third_derivative_is_right(op_type):
    at, h = np.array([-0.7, 0.3, 0.9]), 1e-4
    point = _core.to_variable(at)
    point.stop_gradient = False
    y = getattr(_core.ops, op_type)(point)
    for _ in range(3):
        (y,) = _core.grad([y], [point], [None], True, True, False)

    def second(values):
        v = _core.to_variable(values)
        v.stop_gradient = False
        d = getattr(_core.ops, op_type)(v)
        for _ in range(2):
            (d,) = _core.grad([d], [v], [None], True, True, False)
        return d.numpy()

    np.testing.assert_allclose(y.numpy(), (second(at + h) - second(at - h)) / (2 * h), rtol=1e-5)
