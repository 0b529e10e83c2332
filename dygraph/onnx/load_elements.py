"""Rules for functions of single elements."""

import numpy as np

import dygraph
from dygraph import _core
from dygraph.nn import functional as F
from dygraph.onnx.load_rules import dims_of, dtype_named, is_floating, rule, type_of

ops = _core.ops

# Functions that ONNX and the library both have.
for _name, _function in {
    "Abs": dygraph.abs, "Acos": dygraph.acos, "Acosh": dygraph.acosh, "Asin": dygraph.asin,
    "Asinh": dygraph.asinh, "Atan": dygraph.atan, "Atanh": dygraph.atanh, "Ceil": dygraph.ceil,
    "Cos": dygraph.cos, "Cosh": dygraph.cosh, "Erf": ops.erf, "Exp": dygraph.exp,
    "Floor": dygraph.floor, "IsNaN": dygraph.isnan, "Log": dygraph.log, "Mish": F.mish,
    "Neg": dygraph.negative, "Not": dygraph.logical_not, "Reciprocal": dygraph.reciprocal,
    "Relu": F.relu, "Round": dygraph.round, "Sigmoid": F.sigmoid, "Sign": dygraph.sign,
    "Sin": dygraph.sin, "Sinh": dygraph.sinh, "Softsign": F.softsign, "Sqrt": dygraph.sqrt,
    "Tan": dygraph.tan, "Tanh": dygraph.tanh, "BitwiseNot": dygraph.bitwise_invert,
    "Identity": lambda x: x,
}.items():  # fmt: skip
    rule(_name)(lambda call, x, function=_function: function(x))


# Of two elements ----------------------------------------------------------------------------------

for _name, _function in {
    "Add": dygraph.add, "Sub": dygraph.subtract, "Mul": dygraph.multiply,
    "And": dygraph.logical_and, "Or": dygraph.logical_or, "Xor": dygraph.logical_xor,
    "Equal": dygraph.equal, "Greater": dygraph.greater, "GreaterOrEqual": dygraph.greater_equal,
    "Less": dygraph.less, "LessOrEqual": dygraph.less_equal,
    "BitwiseAnd": dygraph.bitwise_and, "BitwiseOr": dygraph.bitwise_or,
    "BitwiseXor": dygraph.bitwise_xor,
}.items():  # fmt: skip
    rule(_name)(lambda call, a, b, function=_function: function(a, b))


@rule("Div")
def div(call, a, b):
    return dygraph.divide(a, b) if is_floating(a) else ops.elementwise_div(a, b)


@rule("Pow")
def power(call, x, exponent):
    if str(x.dtype) == str(exponent.dtype):
        return dygraph.pow(x, exponent)
    if is_floating(x):
        return dygraph.pow(x, exponent.astype(x.dtype))
    return dygraph.pow(x.astype("float64"), exponent.astype("float64")).astype(x.dtype)


@rule("Mod")
def mod(call, a, b):
    if not call.attr("fmod", 0):
        return dygraph.remainder(a, b)
    if is_floating(a):
        return dygraph.copysign(dygraph.remainder(dygraph.abs(a), dygraph.abs(b)), a)
    return a - ops.elementwise_div(a, b) * b


@rule("BitShift")
def bit_shift(call, x, by):
    left = call.needs("direction") == "LEFT"
    return (dygraph.bitwise_left_shift if left else dygraph.bitwise_right_shift)(x, by)


# Of many ------------------------------------------------------------------------------------------


def _folded(function, values):
    total = values[0]
    for value in values[1:]:
        total = function(total, value)
    return total


@rule("Max")
def maximum(call, *values):
    return _folded(dygraph.maximum, values)


@rule("Min")
def minimum(call, *values):
    return _folded(dygraph.minimum, values)


@rule("Sum")
def total(call, *values):
    return _folded(dygraph.add, values)


@rule("Mean")
def mean(call, *values):
    return _folded(dygraph.add, values) / float(len(values))


@rule("Where")
def where(call, condition, x, y):
    return dygraph.where(condition, x, y)


# With attributes ----------------------------------------------------------------------------------


@rule("Celu")
def celu(call, x):
    return F.celu(x, call.attr("alpha", 1.0))


@rule("Elu")
def elu(call, x):
    return F.elu(x, call.attr("alpha", 1.0))


@rule("Gelu")
def gelu(call, x):
    return F.gelu(x, approximate=call.attr("approximate", "none") == "tanh")


@rule("HardSigmoid")
def hard_sigmoid(call, x):
    return dygraph.clip(x * call.attr("alpha", 0.2) + call.attr("beta", 0.5), 0.0, 1.0)


@rule("HardSwish")
def hard_swish(call, x):
    return F.hardswish(x)


@rule("LeakyRelu")
def leaky_relu(call, x):
    return F.leaky_relu(x, call.attr("alpha", 0.01))


@rule("PRelu")
def prelu(call, x, slope):
    return dygraph.where(x < 0.0, x * slope, x)


@rule("Selu")
def selu(call, x):
    alpha = call.attr("alpha", 1.67326319217681884765625)
    gamma = call.attr("gamma", 1.05070102214813232421875)
    return F.selu(x, gamma, alpha)


@rule("Shrink")
def shrink(call, x):
    lambd, bias = call.attr("lambd", 0.5), call.attr("bias", 0.0)
    zero = dygraph.zeros_like(x)
    number = (lambda v: v) if is_floating(x) else int
    inner = dygraph.where(x > lambd, x - number(bias), zero)
    return dygraph.where(x < -lambd, x + number(bias), inner)


@rule("Softplus")
def softplus(call, x):
    return dygraph.logaddexp(x, dygraph.zeros_like(x))


@rule("Swish")
def swish(call, x):
    return x * F.sigmoid(x * call.attr("alpha", 1.0))


@rule("ThresholdedRelu")
def thresholded_relu(call, x):
    alpha = call.attr("alpha", 1.0)
    return dygraph.where(x > alpha, x, dygraph.zeros_like(x))


@rule("Clip", known=(1, 2))
def clip(call, x, low, high):
    if call.opset < 11:
        low = call.attr("min")
        high = call.attr("max")
        low = None if low is None or low <= -3.4e38 else low
        high = None if high is None or high >= 3.4e38 else high
        low = None if low is None else call.constant(low, x)
        high = None if high is None else call.constant(high, x)
    else:
        low, high = call.variable(low), call.variable(high)
    if low is not None:
        x = dygraph.maximum(x, low)
    return x if high is None else dygraph.minimum(x, high)


@rule("IsInf")
def is_inf(call, x):
    found = dygraph.isinf(x)
    if not call.attr("detect_positive", 1):
        found = dygraph.logical_and(found, x < 0.0)
    if not call.attr("detect_negative", 1):
        found = dygraph.logical_and(found, x > 0.0)
    return found


# Types --------------------------------------------------------------------------------------------


@rule("Cast")
def cast(call, x):
    to = call.needs("to")
    return x.astype(dtype_named(to, "to"))


@rule("CastLike", known=(1,))
def cast_like(call, x, like):
    return x.astype(type_of(like))


@rule("BitCast")
def bit_cast(call, x):
    to = dtype_named(call.needs("to"), "to")
    if str(x.dtype) in ("int8", "uint8", "bool") and to in ("int8", "uint8"):
        return x.astype(to)
    call.numbers(x, "the input of BitCast")
    return call.constant(np.asarray(x.numpy()).view(to))


@rule("Dropout", known=(1, 2), random=True)
def dropout(call, x, ratio, training):
    """Inference unless ``training_mode`` says otherwise; the mask in a second output."""
    ones = dygraph.ones_like(x).astype("bool") if call.wants(1) else None
    p = call.attr("ratio", 0.5)
    known = [v is None or call.numbers(v) is not None for v in (ratio, training)]
    trains = training is not None and (not known[1] or bool(call.numbers(training).item()))
    if trains and not all(known):
        return _dropout_open(call, x, call.variable(ratio), call.variable(training))
    if call.opset >= 12 and trains:
        p = 0.5 if ratio is None else float(call.numbers(ratio).item())
    if not trains or p == 0.0:
        return x, ones
    mask = F.dropout(dygraph.ones_like(x), p, training=True)
    return x * mask, mask.astype("bool")


def _dropout_open(call, x, ratio, training):
    """Dropout whose ratio, or whether it trains, a run decides."""
    ratio = call.constant(np.array(0.5), x) if ratio is None else ratio.astype(x.dtype)
    kept = dygraph.greater_equal(_uniform_like(x), ratio)
    if training is not None:
        kept = dygraph.logical_or(kept, dygraph.logical_not(training))
        ratio = dygraph.where(training, ratio, dygraph.zeros_like(ratio))
    return x * kept.astype(x.dtype) / (1.0 - ratio), kept


def _uniform_like(x):
    shape = ops.shape(x)
    return ops.uniform_random(
        shape=[-1] * len(dims_of(x)), min=0.0, max=1.0, dtype=str(x.dtype), shape_tensor=shape
    )
