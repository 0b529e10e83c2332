"""Functions of one number, and softmax."""

import math

import numpy as np

from dygraph.onnx.export_graph import operator

_PLAIN = {
    "abs": "Abs",
    "acos": "Acos",
    "acosh": "Acosh",
    "asin": "Asin",
    "asinh": "Asinh",
    "atan": "Atan",
    "atanh": "Atanh",
    "ceil": "Ceil",
    "cos": "Cos",
    "cosh": "Cosh",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "log": "Log",
    "reciprocal": "Reciprocal",
    "relu": "Relu",
    "round": "Round",
    "sigmoid": "Sigmoid",
    "sign": "Sign",
    "sin": "Sin",
    "sinh": "Sinh",
    "softsign": "Softsign",
    "sqrt": "Sqrt",
    "tan": "Tan",
    "tanh": "Tanh",
}


def _plain(onnx_type):
    def emit(c):
        if c.floating or onnx_type in ("Abs", "Sign", "Relu"):
            return c.node(onnx_type, c.x)
        if onnx_type in ("Ceil", "Floor", "Round"):
            return c.Identity(c.x)
        return c.node(onnx_type, c.x)

    return emit


for _type, _onnx_type in _PLAIN.items():
    operator(_type)(_plain(_onnx_type))


@operator("brelu")
def _brelu(c):
    return c.Min(c.Max(c.x, c.attr("t_min")), c.attr("t_max"))


@operator("relu6")
def _relu6(c):
    return c.Min(c.Max(c.x, 0.0), c.attr("threshold"))


@operator("celu")
def _celu(c):
    alpha = c.attr("alpha")
    below = c.Mul(expm1(c, c.Div(c.Min(c.x, 0.0), alpha)), alpha)
    return c.Where(c.Greater(c.x, 0.0), c.x, below)


@operator("elu")
def _elu(c):
    below = c.Mul(expm1(c, c.Min(c.x, 0.0)), c.attr("alpha"))
    return c.Where(c.Greater(c.x, 0.0), c.x, below)


@operator("selu")
def _selu(c):
    below = c.Mul(expm1(c, c.Min(c.x, 0.0)), c.attr("alpha"))
    return c.Mul(c.Where(c.Greater(c.x, 0.0), c.x, below), c.attr("scale"))


def expm1(c, x):
    """exp(x) - 1 exact near 0: 2 tanh(x / 2) / (1 - tanh(x / 2)) where |x| < 1."""
    half = c.Tanh(c.Mul(c.Max(c.Min(x, 1.0), -1.0), 0.5))
    near = c.Div(c.Add(half, half), c.Sub(1.0, half))
    return c.Where(c.Less(c.Abs(x), 1.0), near, c.Sub(c.Exp(x), 1.0))


@operator("expm1")
def _expm1(c):
    return expm1(c, c.x)


def log1p(c, x):
    """log(1 + x) exact near 0 (Kahan): x log(u) / (u - 1), u = 1 + x rounded."""
    u = c.Add(x, 1.0)
    d = c.Sub(u, 1.0)
    zero = c.Equal(d, 0.0)
    safe = c.Where(zero, c.scalar(1.0), d)
    ratio = c.Where(c.IsInf(u), c.Log(u), c.Mul(c.Log(u), c.Div(x, safe)))
    return c.Where(zero, x, c.Where(c.Equal(u, 0.0), c.Log(u), ratio))


@operator("log1p")
def _log1p(c):
    return log1p(c, c.x)


@operator("erfc")
def _erfc(c):
    return c.Sub(1.0, c.Erf(c.x))


@operator("gelu")
def _gelu(c):
    approximate = c.attr("approximate")
    if c.opset >= 20:
        return c.Gelu(c.x, approximate="tanh" if approximate else "none")
    return gelu(c, c.x, approximate)


def gelu(c, x, approximate=False):
    half = c.Mul(x, 0.5)
    if not approximate:
        return c.Mul(half, c.Add(c.Erf(c.Div(x, math.sqrt(2.0))), 1.0))
    cube = c.Mul(c.Mul(x, x), c.Mul(x, 0.044715))
    inner = c.Mul(c.Add(x, cube), math.sqrt(2 / math.pi))
    return c.Mul(half, c.Add(c.Tanh(inner), 1.0))


@operator("hard_shrink")
def _hard_shrink(c):
    inside = c.LessOrEqual(c.Abs(c.x), c.attr("threshold"))
    return c.Where(inside, c.scalar(0.0), c.x)


@operator("hard_sigmoid")
def _hard_sigmoid(c):
    line = c.Add(c.Mul(c.x, c.attr("slope")), c.attr("offset"))
    return c.Min(c.Max(line, 0.0), 1.0)


@operator("hard_swish")
def _hard_swish(c):
    line = c.Min(c.Max(c.Add(c.x, c.attr("offset")), 0.0), c.attr("threshold"))
    return c.Div(c.Mul(c.x, line), c.attr("scale"))


@operator("leaky_relu")
def _leaky_relu(c):
    return c.LeakyRelu(c.x, alpha=c.attr("alpha"))


@operator("log2")
def _log2(c):
    return c.Div(c.Log(c.x), math.log(2.0))


@operator("log10")
def _log10(c):
    return c.Div(c.Log(c.x), math.log(10.0))


@operator("logit")
def _logit(c):
    z, eps = c.x, c.attr("eps")
    if eps:
        z = c.Min(c.Max(z, eps), 1.0 - eps)
    return c.Log(c.Div(z, c.Sub(1.0, z)))


def softplus(c, x):
    """log(1 + exp(x)) without overflow."""
    return c.Add(c.Max(x, 0.0), log1p(c, c.Exp(c.Neg(c.Abs(x)))))


@operator("logsigmoid")
def _logsigmoid(c):
    return c.Neg(softplus(c, c.Neg(c.x)))


@operator("mish")
def _mish(c):
    above = c.Greater(c.x, c.attr("threshold"))
    return c.Mul(c.x, c.Tanh(c.Where(above, c.x, softplus(c, c.x))))


@operator("prelu")
def _prelu(c):
    mode, rank, slope = c.attr("mode"), c.rank(), c["Alpha"]
    if mode == "all":
        slope = c.Reshape(slope, np.array([1] * rank))
    elif mode == "channel":
        last = c.attr("data_format") in ("NHWC", "NDHWC", "NLC")
        shape = [1] * rank
        shape[rank - 1 if last or rank < 2 else 1] = -1
        slope = c.Reshape(slope, np.array(shape))
    else:
        slope = c.reshape(slope, [1, *c.sizes()[1:]])
    return c.Where(c.Greater(c.x, 0.0), c.x, c.Mul(c.x, slope))


@operator("rsqrt")
def _rsqrt(c):
    return c.Div(1.0, c.Sqrt(c.x))


@operator("silu")
def _silu(c):
    return c.Mul(c.x, c.Sigmoid(c.x))


@operator("swish")
def _swish(c):
    return c.Mul(c.x, c.Sigmoid(c.Mul(c.x, c.attr("beta"))))


@operator("soft_relu")
def _soft_relu(c):
    threshold = c.attr("threshold")
    return softplus(c, c.Min(c.Max(c.x, -threshold), threshold))


@operator("softplus")
def _softplus(c):
    beta, threshold = c.attr("beta"), c.attr("threshold")
    scaled = c.Mul(c.x, beta)
    return c.Where(c.Greater(scaled, threshold), c.x, c.Div(softplus(c, scaled), beta))


@operator("softshrink")
def _softshrink(c):
    bound = c.attr("lambda")
    left = c.Where(c.Less(c.x, -bound), c.Add(c.x, bound), c.scalar(0.0))
    return c.Where(c.Greater(c.x, bound), c.Sub(c.x, bound), left)


@operator("square")
def _square(c):
    return c.Mul(c.x, c.x)


@operator("stanh")
def _stanh(c):
    return c.Mul(c.Tanh(c.Mul(c.x, c.attr("scale_a"))), c.attr("scale_b"))


@operator("tanh_shrink")
def _tanh_shrink(c):
    return c.Sub(c.x, c.Tanh(c.x))


@operator("thresholded_relu")
def _thresholded_relu(c):
    return c.Where(c.Greater(c.x, c.attr("threshold")), c.x, c.scalar(0.0))


def truncated(c, x):
    """x without its fraction."""
    return c.Where(c.Less(x, 0.0), c.Ceil(x), c.Floor(x))


@operator("trunc")
def _trunc(c):
    return truncated(c, c.x) if c.floating else c.Identity(c.x)


@operator("rrelu")
def _rrelu(c):
    c.require(c.attr("is_test"), "it draws random numbers while training")
    slope = (c.attr("lower") + c.attr("upper")) / 2
    return c.Where(c.GreaterOrEqual(c.x, 0.0), c.x, c.Mul(c.x, slope))


@operator("maxout")
def _maxout(c):
    axis, groups, sizes = c.axis(), c.attr("groups"), c.sizes()
    known = isinstance(sizes[axis], int)
    sizes[axis : axis + 1] = [sizes[axis] // groups if known else -1, groups]
    return c.ReduceMax(c.reshape(c.x, sizes), axes=[axis + 1], keepdims=0)


@operator("softmax")
def _softmax(c):
    return c.Softmax(c.x, axis=c.axis()) if c.rank() else c.Div(c.x, c.x)


@operator("log_softmax")
def _log_softmax(c):
    return c.LogSoftmax(c.x, axis=c.axis()) if c.rank() else c.Sub(c.x, c.x)


@operator("fused_softmax_mask")
def _fused_softmax_mask(c):
    return c.Softmax(c.Add(c["X"], c["Mask"]), axis=-1)


@operator("lgamma")
def _lgamma(c):
    """Lanczos' approximation (1964), g = 7, with the reflection formula below 1/2."""
    coefficients = (
        0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
        -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
        1.5056327351493116e-7,
    )  # fmt: skip
    wide = c.cast(c.x, "float64")
    number = lambda v: c.scalar(v, "float64")  # noqa: E731
    low = c.Less(wide, number(0.5))
    z = c.Sub(c.Where(low, c.Sub(number(1.0), wide), wide), number(1.0))
    total = number(coefficients[0])
    for i, value in enumerate(coefficients[1:], 1):
        total = c.Add(total, c.Div(number(value), c.Add(z, number(float(i)))))
    t = c.Add(z, number(7.5))
    high = c.Add(
        c.Sub(c.Mul(c.Add(z, number(0.5)), c.Log(t)), t),
        c.Add(number(0.5 * math.log(2 * math.pi)), c.Log(total)),
    )
    part = c.Sub(wide, c.Floor(wide))
    sine = c.Abs(c.Sin(c.Mul(part, number(math.pi))))
    reflected = c.Sub(c.Sub(number(math.log(math.pi)), c.Log(sine)), high)
    found = c.Where(low, reflected, high)
    infinite = c.Or(
        c.IsInf(wide), c.And(c.LessOrEqual(wide, number(0.0)), c.Equal(part, number(0.0)))
    )
    return c.cast(c.Where(infinite, number(math.inf), found), c.dtype)


@operator("dropout")
def _dropout(c):
    rate = c.attr("dropout_prob")
    c.require(c.attr("is_test") or not rate, "it draws random numbers while training")
    if c.attr("dropout_implementation") == "upscale_in_train" or not rate:
        out = c.Identity(c.x)
    else:
        out = c.Mul(c.x, 1.0 - rate)
    return {"Out": out, "Mask": None}
