"""Elementwise functions of one input."""

from dygraph.codegen.registry import FLOATS, INTS, NUMBERS, SUFFIX, function, kernel, operator

function(
    "map1",
    """
static int map1_$S(Ctx *c, const Value *x, Value *y, void (*f)(int64_t, const $T *, $T *, Par),
                   Par p) {
  Value t;
  TRY(need(x, $E));
  TRY(make(c, &t, $E, x->rank, x->dims, x->data != NULL));
  if (t.data) f(t.count, (const $T *)x->data, ($T *)t.data, p);
  return put(c, y, &t);
}
""",
)


def _FLOAT32(e, call):
    return None if call.input("X").dtype == "float32" else "of float64"


# name: (types, attributes, formula of x and the attributes as a, b, d, exact)
_TABLE = {
    "relu": (NUMBERS, (), "x > 0 ? x : x == x ? 0 : x", True),
    "exp": (FLOATS, (), "Exp_$S(x)", True),
    "expm1": (FLOATS, (), "Expm1_$S(x)", True),
    "log": (FLOATS, (), "Log_$S(x)", True),
    "log1p": (FLOATS, (), "Log1p_$S(x)", True),
    "tanh": (FLOATS, (), "Tanh_$S(x)", True),
    "sigmoid": (FLOATS, (), "Sigmoid_$S(x)", True),
    "logsigmoid": (FLOATS, (), "-Softplus_$S(-x)", _FLOAT32),
    "silu": (FLOATS, (), "Silu_$S(x)", True),
    "erf": (FLOATS, (), "Erf_$S(x)", True),
    "sqrt": (FLOATS, (), "Sqrt_$S(x)", True),
    "rsqrt": (FLOATS, (), "1 / Sqrt_$S(x)", True),
    "reciprocal": (FLOATS, (), "1 / x", True),
    "square": (NUMBERS, (), "($T)(($UNS)x * ($UNS)x)", True),
    "abs": (FLOATS, (), "Abs_$S(x)", True),
    "sign": (NUMBERS, (), "x > 0 ? 1 : x < 0 ? -1 : x == x ? 0 : x", True),
    "ceil": (FLOATS, (), "ceil$m(x)", True),
    "floor": (FLOATS, (), "floor$m(x)", True),
    "round": (FLOATS, (), "nearbyint$m(x)", True),
    "trunc": (FLOATS, (), "trunc$m(x)", True),
    "sin": (FLOATS, (), "Sin_$S(x)", _FLOAT32),
    "cos": (FLOATS, (), "Cos_$S(x)", _FLOAT32),
    "tan": (FLOATS, (), "tan$m(x)", False),
    "asin": (FLOATS, (), "asin$m(x)", False),
    "acos": (FLOATS, (), "acos$m(x)", False),
    "atan": (FLOATS, (), "atan$m(x)", False),
    "sinh": (FLOATS, (), "sinh$m(x)", False),
    "cosh": (FLOATS, (), "cosh$m(x)", False),
    "asinh": (FLOATS, (), "asinh$m(x)", False),
    "acosh": (FLOATS, (), "acosh$m(x)", False),
    "atanh": (FLOATS, (), "atanh$m(x)", False),
    "erfc": (FLOATS, (), "erfc$m(x)", False),
    "lgamma": (FLOATS, (), "lgamma$m(x)", False),
    "log2": (FLOATS, (), "log2$m(x)", False),
    "log10": (FLOATS, (), "log10$m(x)", False),
    "softsign": (FLOATS, (), "x / (1 + Abs_$S(x))", True),
    "tanh_shrink": (FLOATS, (), "x - Tanh_$S(x)", False),
    "softplus": (
        FLOATS, ("beta", "threshold"), "a * x > b ? x : Softplus_$S(a * x) / a", _FLOAT32),
    "soft_relu": (
        FLOATS, ("threshold",),
        "Clamp_$S(x, -a, a) > 0 ? Clamp_$S(x, -a, a) + log1p$m(Exp_$S(-Abs_$S(Clamp_$S(x, -a, a))))"
        " : (x == x ? 0 : x) + log1p$m(Exp_$S(-Abs_$S(Clamp_$S(x, -a, a))))", False),
    "hard_swish": (
        FLOATS, ("threshold", "scale", "offset"), "x * Clamp_$S(x + d, 0, a) / b", True),
    "swish": (FLOATS, ("beta",), "Gated_$S(x, a * x)", True),
    "mish": (FLOATS, ("threshold",), "x > a ? x * Tanh_$S(x) : Mish_$S(x)", True),
    "elu": (FLOATS, ("alpha",), "x > 0 ? x : a * Expm1_$S(x)", True),
    "celu": (FLOATS, ("alpha",), "x > 0 ? x : a * Expm1_$S(x / a)", True),
    "selu": (FLOATS, ("scale", "alpha"), "a * (x > 0 ? x : b * Expm1_$S(x))", True),
    "leaky_relu": (FLOATS, ("alpha",), "x > 0 ? x : a * x", True),
    "relu6": (FLOATS, ("threshold",), "Clamp_$S(x, 0, a)", True),
    "brelu": (FLOATS, ("t_min", "t_max"), "Clamp_$S(x, a, b)", True),
    "hard_shrink": (FLOATS, ("threshold",), "x >= -a && x <= a ? 0 : x", True),
    "hard_sigmoid": (FLOATS, ("slope", "offset"), "Clamp_$S($MAD(a, x, b), 0, 1)", True),
    "softshrink": (
        FLOATS, ("lambda",), "x > a ? x - a : x < -a ? x + a : x == x ? 0 : x", True),
    "stanh": (FLOATS, ("scale_a", "scale_b"), "b * Tanh_$S(a * x)", False),
    "thresholded_relu": (FLOATS, ("threshold",), "x > a || x != x ? x : 0", True),
    "logical_not": (("bool",), (), "!x", True),
    "bitwise_not": (INTS, (), "~x", True),
    "gelu": (FLOATS, (), "Gelu_$S(x)", True),
    "gelu_by_tanh": (
        FLOATS, (), "Gated_$S(x, ($T)1.59576912160573071176 * (x + ($T)0.044715 * x * x * x))",
        False),
}  # fmt: skip


def _kernel(name, attrs, formula):
    lines = [f"$T {v} = ($T)p.a[{i}];" for i, v in zip(range(len(attrs)), "abd", strict=False)]
    body = "\n".join(["$T x = X[i];", *lines, f"Y[i] = ($T)({formula});"])
    kernel(f"f_{name}", "const $T *X, $T *Y, Par p", body)


for _name, (_types, _attrs, _formula, _exact) in _TABLE.items():
    _kernel(_name, _attrs, _formula)


def map1(e, call, name, x, out, *numbers):
    """out = the function `name` of the table, elementwise."""
    if name == "bitwise_not" and x.dtype == "bool":
        name = "logical_not"
    types, attrs, _, _ = _TABLE[name]
    if x.dtype not in types:
        call.refuse(f"of {x.dtype}")
    s = SUFFIX[x.dtype]
    e.call(f"map1_{s}", e.ref(x), e.ref(out), e.use(f"f_{name}_{s}"), e.par(*numbers))
    e.set_type(out, x.dtype)


def _emit(name):
    def emit(e, call):
        numbers = [call.attr(a) for a in _TABLE[name][1]]
        map1(e, call, name, call.input("X"), call.output("Out"), *numbers)

    return emit


for _name, (_types, _attrs, _formula, _exact) in _TABLE.items():
    if _name not in ("gelu", "gelu_by_tanh"):
        operator(_name, exact=_exact)(_emit(_name))


@operator("gelu", exact=lambda e, call: "the form with tanh" if call.attr("approximate") else None)
def gelu(e, call):
    name = "gelu_by_tanh" if call.attr("approximate") else "gelu"
    map1(e, call, name, call.input("X"), call.output("Out"))
