"""Activations as layers: values and gradients against NumPy formulas."""

import math

import numpy as np
import pytest

import dygraph
from dygraph import nn

X = np.array([[-7.0, -2.3, -0.7, -0.2], [0.3, 0.8, 2.6, 8.0]])


def softplus(x):
    return np.logaddexp(x, 0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def log_softmax(x):
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def elu(x, alpha):
    return np.where(x > 0, x, alpha * np.expm1(x))


PHI = np.vectorize(lambda v: 0.5 * (1 + math.erf(v / math.sqrt(2))))
CASES = {
    "ReLU": (nn.ReLU, lambda x: np.maximum(x, 0)),
    "ReLU6": (nn.ReLU6, lambda x: np.clip(x, 0, 6)),
    "LeakyReLU": (lambda: nn.LeakyReLU(0.25), lambda x: np.where(x > 0, x, 0.25 * x)),
    "ELU": (lambda: nn.ELU(0.5), lambda x: elu(x, 0.5)),
    "SELU": (nn.SELU, lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772)),
    "GELU": (nn.GELU, lambda x: x * PHI(x)),
    "GELU tanh": (
        lambda: nn.GELU(approximate=True),
        lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    "SiLU": (nn.SiLU, lambda x: x * sigmoid(x)),
    "Swish": (lambda: nn.Swish(beta=2.0), lambda x: x * sigmoid(2 * x)),
    "Mish": (nn.Mish, lambda x: x * np.tanh(softplus(x))),
    "Hardswish": (nn.Hardswish, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "Hardsigmoid": (nn.Hardsigmoid, lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    "Hardshrink": (nn.Hardshrink, lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    "Softshrink": (
        lambda: nn.Softshrink(0.25),
        lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.25, 0),
    ),
    "Tanhshrink": (nn.Tanhshrink, lambda x: x - np.tanh(x)),
    "Softplus": (lambda: nn.Softplus(2.0), lambda x: softplus(2 * x) / 2),
    "Softsign": (nn.Softsign, lambda x: x / (1 + np.abs(x))),
    "LogSigmoid": (nn.LogSigmoid, lambda x: -softplus(-x)),
    "Sigmoid": (nn.Sigmoid, sigmoid),
    "Tanh": (nn.Tanh, np.tanh),
    "Softmax": (nn.Softmax, lambda x: np.exp(log_softmax(x))),
    "LogSoftmax": (nn.LogSoftmax, log_softmax),
    "Maxout": (lambda: nn.Maxout(2), lambda x: x.reshape(2, 2, 2).max(axis=2)),
    "ThresholdedReLU": (nn.ThresholdedReLU, lambda x: np.where(x > 1, x, 0)),
    "PRelu": (lambda: nn.PRelu("all", dtype="float64"), lambda x: np.where(x > 0, x, x / 4)),
    "PReLU": (
        lambda: nn.PReLU(4, init=0.5, dtype="float64"),
        lambda x: np.where(x > 0, x, x / 2),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_the_formulas(name):
    make, function = CASES[name]
    layer = make()
    x = dygraph.to_variable(X)
    x.stop_gradient = False
    y = layer(x)
    np.testing.assert_allclose(y.numpy(), function(X), rtol=1e-13, atol=1e-15)
    weights = np.linspace(0.5, 1.5, y.size).reshape(y.shape)
    y.backward(weights)
    slopes = np.zeros_like(X)
    for i in np.ndindex(X.shape):
        h = np.zeros_like(X)
        h[i] = 1e-6
        slopes[i] = ((function(X + h) - function(X - h)) / 2e-6 * weights).sum()
    np.testing.assert_allclose(x.gradient(), slopes, rtol=1e-5, atol=1e-6)


def test_slopes_of_prelu_are_learnt():
    layer = nn.PRelu("channel", channel=2, dtype="float64")
    assert [p.shape for p in layer.parameters()] == [(2,)]
    layer(dygraph.to_variable(np.array([[-4.0, 2.0], [-1.0, -3.0]]))).backward(np.ones((2, 2)))
    assert layer.weight.gradient().tolist() == [-5, -3]
    whole = nn.PRelu("element", input_shape=[8, 3, 4])
    assert whole.weight.shape == (1, 3, 4)
    assert (whole.weight.numpy() == 0.25).all()


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="PRelu: mode must be 'all', 'channel' or 'element'"):
        nn.PRelu("some")
    with pytest.raises(TypeError, match="PRelu: channel, which mode 'channel' needs"):
        nn.PRelu("channel")
    with pytest.raises(TypeError, match="LeakyReLU: alpha must be"):
        nn.LeakyReLU("steep")
    with pytest.raises(ValueError, match="Maxout: groups must be at least 1, got 0"):
        nn.Maxout(0)


@pytest.mark.parametrize(
    "name",
    ["relu6", "leaky_relu", "elu", "gelu", "silu", "swish", "mish", "hard_swish", "softplus",
     "log_softmax", "logsigmoid", "softsign", "tanh_shrink", "stanh"],
)  # fmt: skip
def test_act_takes_every_name(name):
    fc = nn.Linear(3, 2, act=name)
    x = dygraph.to_variable(np.ones((1, 3), "float32"))
    plain = x.numpy() @ fc.weight.numpy() + fc.bias.numpy()
    expected = getattr(dygraph.ops, name)(dygraph.to_variable(plain)).numpy()
    np.testing.assert_allclose(fc(x).numpy(), expected, rtol=1e-6)
