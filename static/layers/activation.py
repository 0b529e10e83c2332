"""Elementwise functions of one variable.

Each is the operator of its name with Fluid's arguments; ``name`` names the result.

Examples
--------
>>> import dygraph
>>> from dygraph import static
>>> static.layers.relu(dygraph.to_variable([-1.0, 2.0])).tolist()
[0.0, 2.0]
>>> with static.program_guard(static.Program()):
...     static.layers.relu(static.data("x", [None, 3]), name="bent").name
'bent.tmp_0'
"""

from dygraph import ops
from dygraph.static.layers.making import attributes, layer, run, table

_FUNCTIONS = table([
    ("abs(x, name=None)", "The absolute value."),
    ("acos(x, name=None)", "The angle whose cosine is ``x``."),
    ("asin(x, name=None)", "The angle whose sine is ``x``."),
    ("atan(x, name=None)", "The angle whose tangent is ``x``."),
    ("ceil(x, name=None)", "The least integer that is not below ``x``."),
    ("cos(x, name=None)", "The cosine."),
    ("erf(x)", "The error function."),
    ("exp(x, name=None)", "e to the power of ``x``."),
    ("floor(x, name=None)", "The greatest integer that is not above ``x``."),
    ("log(x, name=None)", "The natural logarithm."),
    ("log1p(x, out=None, name=None)", "log(1 + x); `out`, if given, is set to it."),
    ("logsigmoid(x, name=None)", "log(sigmoid(x))."),
    ("reciprocal(x, name=None)", "1 / x."),
    ("round(x, name=None)", "The nearest integer, as the operator ``round`` rounds halves."),
    ("rsqrt(x, name=None)", "1 / sqrt(x)."),
    ("sigmoid(x, name=None)", "1 / (1 + exp(-x))."),
    ("sign(x)", "-1, 0 or 1."),
    ("sin(x, name=None)", "The sine."),
    ("softplus(x, name=None)", "log(1 + exp(x))."),
    ("softsign(x, name=None)", "x / (1 + abs(x))."),
    ("sqrt(x, name=None)", "The square root."),
    ("square(x, name=None)", "x times x."),
    ("tanh(x, name=None)", "The hyperbolic tangent."),
    ("tanh_shrink(x, name=None)", "x - tanh(x)."),
    ("relu(x, name=None)", "max(x, 0)."),
    ("brelu(x, t_min=0.0, t_max=24.0, name=None)", "x moved into [t_min, t_max]."),
    ("elu(x, alpha=1.0, name=None)", "x; alpha (exp(x) - 1) below 0."),
    ("gelu(x, approximate=False)", "x times the normal distribution function of x."),
    ("hard_shrink(x, threshold=None)", "x; 0 within `threshold` of 0, by default 0.5."),
    ("hard_sigmoid(x, slope=0.2, offset=0.5, name=None)", "slope x + offset, moved into [0, 1]."),
    (
        "hard_swish(x, threshold=6.0, scale=6.0, offset=3.0, name=None)",
        "x min(max(0, x + offset), threshold) / scale.",
    ),
    ("leaky_relu(x, alpha=0.02, name=None)", "x; alpha x below 0."),
    ("mish(x, threshold=20, name=None)", "x tanh(softplus(x))."),
    ("pow(x, factor=1.0, name=None)", "x to the power of `factor`."),
    ("relu6(x, threshold=6.0, name=None)", "x moved into [0, threshold]."),
    ("selu(x, scale=None, alpha=None, name=None)", "scale x; scale alpha (exp(x) - 1) below 0."),
    ("soft_relu(x, threshold=40.0, name=None)", "log(1 + exp(x)), x within the threshold."),
    ("softshrink(x, alpha=None)", "x, moved towards 0 by `alpha`, 0.5.", "", "alpha=lambda"),
    ("stanh(x, scale_a=0.67, scale_b=1.7159, name=None)", "scale_b tanh(scale_a x)."),
    ("swish(x, beta=1.0, name=None)", "x sigmoid(beta x)."),
    ("thresholded_relu(x, threshold=None)", "x; 0 up to the threshold, by default 1."),
    ("maxout(x, groups, name=None, axis=1)", "The greatest of each group of channels."),
    (
        "softmax(input, use_cudnn=False, name=None, axis=-1)",
        "exp(input), scaled to add up to 1 along `axis`.", "", "input=X",
    ),
    ("clip(x, min, max, name=None)", "Every element moved into [min, max]."),
    ("clip_by_norm(x, max_norm, name=None)", "x scaled down to the norm `max_norm`, if above."),
    (
        "scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None)",
        "scale x + bias, or scale (x + bias).",
    ),
    ("isfinite(x)", "Whether every element is finite: one bool."),
])  # fmt: skip
__getattr__ = attributes(_FUNCTIONS, __name__)


@layer
def log_softmax(input, axis=None, dtype=None, name=None):
    """log(softmax(input)) along `axis`, by default the last; `dtype` casts first.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.log_softmax(dygraph.to_variable([0.0])).tolist()
    [0.0]
    """
    if dtype is not None:
        input = ops.cast(input, dtype)
    return run("log_softmax", {"X": input}, {"axis": -1 if axis is None else axis})["Out"]


__all__ = sorted([*_FUNCTIONS, "log_softmax"])
