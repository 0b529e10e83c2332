"""Rules for the steps of optimizers (ai.onnx.preview.training)."""

import dygraph
from dygraph import _core
from dygraph.errors import InvalidArgumentError
from dygraph.onnx.load_rules import rule

ops = _core.ops
_DOMAIN = "ai.onnx.preview.training"


def _groups(values, kinds):
    if not values or len(values) % kinds:
        raise InvalidArgumentError(
            f"it must have {kinds} values for each tensor, got {len(values)}"
        )
    n = len(values) // kinds
    return list(zip(*(values[i * n : (i + 1) * n] for i in range(kinds)), strict=True))


def _all(rows):
    return tuple(v for column in zip(*rows, strict=True) for v in column)


@rule("Adagrad", domain=_DOMAIN)
def adagrad(call, rate, step, *values):
    rate = rate / (1.0 + step.astype(rate.dtype) * call.attr("decay_factor", 0.0))
    rows = []
    for x, g, h in _groups(values, 3):
        g = g + x * call.attr("norm_coefficient", 0.0)
        h = h + g * g
        rows.append((x - rate * g / (dygraph.sqrt(h) + call.attr("epsilon", 1e-6)), h))
    return _all(rows)


@rule("Adam", domain=_DOMAIN)
def adam(call, rate, step, *values):
    a, b = call.attr("alpha", 0.9), call.attr("beta", 0.999)
    t = step.astype(rate.dtype)
    one = dygraph.ones_like(t)
    corrected = rate * dygraph.sqrt(one - (one * b) ** t) / (one - (one * a) ** t)
    rate = dygraph.where(t > 0.0, corrected, rate)
    after = 1.0 - call.attr("norm_coefficient_post", 0.0)
    rows = []
    for x, g, v, h in _groups(values, 4):
        g = g + x * call.attr("norm_coefficient", 0.0)
        v = v * a + g * (1.0 - a)
        h = h * b + g * g * (1.0 - b)
        rows.append(((x - rate * v / (dygraph.sqrt(h) + call.attr("epsilon", 1e-6))) * after, v, h))
    return _all(rows)


@rule("Momentum", domain=_DOMAIN)
def momentum(call, rate, step, *values):
    alpha, beta = call.needs("alpha"), call.needs("beta")
    nesterov = call.needs("mode") == "nesterov"
    rows = []
    for x, g, v in _groups(values, 3):
        g = g + x * call.needs("norm_coefficient")
        t = step.astype(g.dtype)
        now = dygraph.where(t > 0.0, dygraph.ones_like(t) * beta, dygraph.ones_like(t))
        v = v * alpha + g * now
        rows.append((x - rate * (g + v * alpha if nesterov else v), v))
    return _all(rows)
