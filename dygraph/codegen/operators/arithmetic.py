"""Elementwise functions of two inputs, and what is like them."""

from dygraph.codegen.registry import (
    FLOATS,
    INTS,
    NUMBERS,
    SUFFIX,
    function,
    kernel,
    operator,
)  # fmt: skip

function(
    "broadcast",
    """
/* The common shape of x and y, y laid along x from `axis` on where axis >= 0, and strides over it;
   dimensions that walk alike are joined. Gives the new number of dimensions, -1 for none. */
static int broadcast(int xr, const int64_t *xd, int yr, const int64_t *yd, int axis, int *rank,
                     int64_t *dims, int64_t *walk, int64_t *sx, int64_t *sy) {
  int64_t ax[RANK], ay[RANK], px = 1, py = 1;
  int n = 0;
  if (axis >= 0 && yr < xr) {
    while (yr > 0 && axis > xr - yr && yd[yr - 1] == 1) --yr;
    if (axis > xr - yr) return -1;
    *rank = xr;
    for (int i = 0; i < xr; ++i) ay[i] = i >= axis && i < axis + yr ? yd[i - axis] : 1;
    for (int i = 0; i < xr; ++i) ax[i] = xd[i];
  } else {
    *rank = xr > yr ? xr : yr;
    for (int i = 0; i < *rank; ++i) {
      int xi = i - (*rank - xr), yi = i - (*rank - yr);
      ax[i] = xi < 0 ? 1 : xd[xi];
      ay[i] = yi < 0 ? 1 : yd[yi];
    }
  }
  for (int i = 0; i < *rank; ++i) {
    if (ax[i] != ay[i] && ax[i] != 1 && ay[i] != 1) return -1;
    dims[i] = ax[i] == 1 ? ay[i] : ax[i];
  }
  for (int i = *rank - 1; i >= 0; --i) { /* from the innermost, stored in reverse */
    int64_t stx = ax[i] == 1 ? 0 : px, sty = ay[i] == 1 ? 0 : py;
    px *= ax[i];
    py *= ay[i];
    if (dims[i] == 1) continue;
    if (n > 0 && stx == sx[n - 1] * walk[n - 1] && sty == sy[n - 1] * walk[n - 1]) {
      walk[n - 1] *= dims[i];
      continue;
    }
    walk[n] = dims[i];
    sx[n] = stx;
    sy[n] = sty;
    ++n;
  }
  if (n == 0) {
    walk[0] = 1;
    sx[0] = sy[0] = 1;
    n = 1;
  }
  return n;
}
""",
)
function(
    "Walk2",
    """
typedef struct { /* dimensions from the innermost, with strides of x and y */
  int64_t size[RANK], x[RANK], y[RANK];
  int rank;
} Walk2;
""",
)
function(
    "map2",
    """
static int map2_$S_$R(Ctx *c, const Value *x, const Value *y, int axis, Value *out,
                      void (*f)(int64_t, const $T *, const $T *, $U *, Walk2)) {
  Value t;
  Walk2 w;
  int64_t dims[RANK];
  int rank;
  TRY(need(x, $E));
  TRY(need(y, $E));
  memset(&w, 0, sizeof w);
  w.rank = broadcast(x->rank, x->dims, y->rank, y->dims, axis, &rank, dims, w.size, w.x, w.y);
  CHECK(w.rank > 0, BAD_SHAPE);
  TRY(make(c, &t, $V, rank, dims, x->data && y->data));
  if (t.data && t.count > 0) {
    f(t.count / w.size[0], (const $T *)x->data, (const $T *)y->data, ($U *)t.data, w);
  }
  return put(c, out, &t);
}
""",
)


def binary_kernel(name, formula):
    """Rows of a broadcast walk; `formula` of a and b."""
    kernel(
        name,
        "const $T *X, const $T *Y, $U *Z, Walk2 w",
        f"""
const $T *RESTRICT x = X, *RESTRICT y = Y;
$U *RESTRICT z = Z + i * w.size[0];
int64_t rest = i, n = w.size[0], sx = w.x[0], sy = w.y[0];
for (int d = 1; d < w.rank; ++d) {{
  x += rest % w.size[d] * w.x[d];
  y += rest % w.size[d] * w.y[d];
  rest /= w.size[d];
}}
if (sx == 1 && sy == 1) {{
  for (int64_t j = 0; j < n; ++j) {{
    $T a = x[j], b = y[j];
    z[j] = ($U)({formula});
  }}
}} else if (sx == 1 && sy == 0) {{
  $T b = *y;
  for (int64_t j = 0; j < n; ++j) {{
    $T a = x[j];
    z[j] = ($U)({formula});
  }}
}} else {{
  for (int64_t j = 0; j < n; ++j) {{
    $T a = x[j * sx], b = y[j * sy];
    z[j] = ($U)({formula});
  }}
}}
""",
    )


function(
    "idiv",
    """
static inline $T idiv_$S($T a, $T b) { return b == -1 ? ($T)(0 - ($UNS)a) : ($T)(a / b); }
""",
)
function(
    "no_zeros",
    """
static int no_zeros_$S(const Value *y) {
  const $T *d = (const $T *)y->data;
  TRY(need(y, $E));
  for (int64_t i = 0; d && i < y->count; ++i) CHECK(d[i] != 0, BAD_INDEX);
  return PREFIX_OK;
}
""",
)
_ANY = (*NUMBERS, "bool")
_INT_DIV = "idiv_$S(a, b)"
_FLOOR_INT = "b == -1 ? ($T)(0 - ($UNS)a) : ($T)(a / b - (a % b != 0 && (a < 0) != (b < 0)))"
# operator: (formula of floats, of integers or None, exact)
_TABLE = {
    "elementwise_add": ("a + b", "($UNS)a + ($UNS)b", True),
    "elementwise_sub": ("a - b", "($UNS)a - ($UNS)b", True),
    "elementwise_mul": ("a * b", "($UNS)a * ($UNS)b", True),
    "elementwise_div": ("a / b", _INT_DIV, True),
    "elementwise_max": ("a > b || a != a ? a : b", "a > b ? a : b", True),
    "elementwise_min": ("a < b || a != a ? a : b", "a < b ? a : b", True),
    "elementwise_pow": ("pow$m(a, b)", None, False),
    "elementwise_floordiv": ("floor$m(a / b)", _FLOOR_INT, False),
    "elementwise_mod": (
        "b == 0 ? NAN : fmod$m(a, b) != 0 && (fmod$m(a, b) < 0) != (b < 0) ? fmod$m(a, b) + b :"
        " fmod$m(a, b)",
        "b == -1 ? 0 : a % b != 0 && ((a % b < 0) != (b < 0)) ? a % b + b : a % b",
        False,
    ),
    "elementwise_fmax": ("fmax$m(a, b)", "a > b ? a : b", True),
    "elementwise_fmin": ("fmin$m(a, b)", "a < b ? a : b", True),
    "atan2": ("atan2$m(a, b)", None, False),
    "minus": ("a - b", "($UNS)a - ($UNS)b", True),
}
_COMPARE = {
    "less_than": "<", "less_equal": "<=", "greater_than": ">", "greater_equal": ">=",
    "equal": "==", "not_equal": "!=",
}  # fmt: skip
_LOGIC = {"logical_and": "a && b", "logical_or": "a || b", "logical_xor": "!a != !b"}
_BITS = {"bitwise_and": "a & b", "bitwise_or": "a | b", "bitwise_xor": "a ^ b"}

for _name, (_of_floats, _of_ints, _) in _TABLE.items():
    binary_kernel(f"g_{_name}", _of_floats)
    if _of_ints:
        binary_kernel(f"gi_{_name}", _of_ints)
for _name, _sign in _COMPARE.items():
    binary_kernel(f"g_{_name}", f"a {_sign} b")
for _name, _formula in {**_LOGIC, **_BITS}.items():
    binary_kernel(f"g_{_name}", _formula)


def map2(e, call, function_name, x, y, out, axis=-1, result=None):
    """out = function(x, y), broadcast."""
    if x.dtype != y.dtype:
        call.refuse(f"of {x.dtype} and {y.dtype}")
    result = result or x.dtype
    s = f"{SUFFIX[x.dtype]}_{SUFFIX[result]}"
    f = e.use(f"{function_name}_{s}")
    e.call(f"map2_{s}", e.ref(x), e.ref(y), axis, e.ref(out), f)
    e.set_type(out, result)


def _emit_arithmetic(name):
    def emit(e, call):
        slots = ("X1", "X2") if name == "atan2" else ("X", "Y")
        x, y, out = call.input(slots[0]), call.input(slots[1]), call.output("Out")
        of_ints = x.dtype in INTS
        if x.dtype not in NUMBERS or (of_ints and not _TABLE[name][1]):
            call.refuse(f"of {x.dtype}")
        if of_ints and name in ("elementwise_div", "elementwise_floordiv", "elementwise_mod"):
            e.call(f"no_zeros_{SUFFIX[y.dtype]}", e.ref(y))
        map2(e, call, ("gi_" if of_ints else "g_") + name, x, y, out, call.attr("axis", -1))

    return emit


def _emit_boolean(name):
    def emit(e, call):
        x, y = call.input("X"), call.input("Y")
        map2(e, call, f"g_{name}", x, y, call.output("Out"), call.attr("axis", -1), "bool")

    return emit


def _emit_bits(name):
    def emit(e, call):
        x, y = call.input("X"), call.input("Y")
        if x.dtype not in (*INTS, "bool"):
            call.refuse(f"of {x.dtype}")
        map2(e, call, f"g_{name}", x, y, call.output("Out"))

    return emit


for _name, _row in _TABLE.items():
    operator(_name, exact=_row[2])(_emit_arithmetic(_name))
for _name in (*_COMPARE, *_LOGIC):
    operator(_name, exact=True)(_emit_boolean(_name))
for _name in _BITS:
    operator(_name, exact=True)(_emit_bits(_name))


# One input and numbers ------------------------------------------------------------------------

for _s in ("f32", "f64"):
    _t, _m = ("float", "f") if _s == "f32" else ("double", "")
    function(
        f"scale_at_{_s}",
        f"""
static inline {_t} scale_at_{_s}({_t} x, double scale, double bias) {{
  {_t} s = ({_t})scale, b = ({_t})bias;
  if (b == 0) return x * s;
  return s == 1 ? x + b : MAD{_m}(x, s, b);
}}
""",
    )
for _s in ("i32", "i64"):
    _t = "int32_t" if _s == "i32" else "int64_t"
    function(
        f"scale_at_{_s}",
        f"""
static inline {_t} scale_at_{_s}({_t} x, double scale, double bias) {{
  if (scale == floor(scale) && bias == floor(bias) && fabs(scale) < 1e18 && fabs(bias) < 1e18) {{
    return ({_t})((uint64_t)x * (uint64_t)(int64_t)scale + (uint64_t)(int64_t)bias);
  }}
  return CONVERT_{_s}((double)x * scale + bias);
}}
""",
    )
kernel("f_scale", "const $T *X, $T *Y, Par p", "Y[i] = scale_at_$S(X[i], p.a[0], p.a[1]);")
kernel(
    "f_clip",
    "const $T *X, $T *Y, Par p",
    "$T x = X[i], a = ($T)p.a[0], b = ($T)p.a[1];\nx = x < a ? a : x;\nY[i] = x > b ? b : x;",
)
kernel(
    "f_pow",
    "const $T *X, $T *Y, Par p",
    "double e = p.a[0];\n$T x = X[i];\n"
    "Y[i] = e == 0 ? 1 : e == 1 ? x : e == 2 ? x * x : e == 3 ? x * x * x : e == -1 ? 1 / x\n"
    "     : e == 0.5 ? (x == -INFINITY ? -x : Sqrt_$S(x + 0)) : pow$m(x, ($T)e);",
)
kernel("f_increment", "const $T *X, $T *Y, Par p", "Y[i] = ($T)(X[i] + ($T)p.a[0]);")
kernel("f_isnan", "const $T *X, uint8_t *Y", "Y[i] = X[i] != X[i];")
kernel("f_isinf", "const $T *X, uint8_t *Y", "Y[i] = isinf(X[i]) != 0;")
kernel("f_isfinite", "const $T *X, uint8_t *Y", "Y[i] = isfinite(X[i]) != 0;")
function(
    "truth1",
    """
static int truth1_$S(Ctx *c, const Value *x, Value *y,
                     void (*f)(int64_t, const $T *, uint8_t *)) {
  Value t;
  TRY(need(x, $E));
  TRY(make(c, &t, B8, x->rank, x->dims, x->data != NULL));
  if (t.data) f(t.count, (const $T *)x->data, (uint8_t *)t.data);
  return put(c, y, &t);
}
""",
)
function(
    "number",
    """
static int number(const Value *x, double *to) {
  TRY(need_any(x));
  CHECK(x->count == 1, BAD_SHAPE);
  CHECK(x->data, DEPENDS);
  switch (x->type) {
    case F32: *to = (double)*(const float *)x->data; break;
    case F64: *to = *(const double *)x->data; break;
    case I32: *to = (double)*(const int32_t *)x->data; break;
    case I64: *to = (double)*(const int64_t *)x->data; break;
    default: *to = (double)*(const uint8_t *)x->data; break;
  }
  return PREFIX_OK;
}
""",
)
function(
    "known_number",
    """
/* The same where the value does not decide sizes. */
static int known_number(const Ctx *c, const Value *x, double *to) {
  if (c->dry && x->set && !x->data) {
    *to = 0;
    return PREFIX_OK;
  }
  return number(x, to);
}
""",
)


def _mapped(e, call, name, x, out, *numbers, given=()):
    """A kernel over x with numbers; `given` are (place, variable) that replace some of them."""
    s = SUFFIX[x.dtype]
    par = e.par(*numbers)
    if given:
        e.line(f"Par p{e.where} = {par};")
        par = f"p{e.where}"
        for place, slot in given:
            e.line(f"TRY({e.use('known_number')}(c, {e.ref(slot)}, &{par}.a[{place}]));")
    e.call(f"map1_{s}", e.ref(x), e.ref(out), e.use(f"{name}_{s}"), par)
    e.set_type(out, x.dtype)


def scaled(e, call, x, out, scale, bias, after, factor=None):
    """out = scale x + bias, or scale (x + bias)."""
    if x.kind != "tensor" or x.dtype not in NUMBERS:
        call.refuse(f"of {x.dtype or 'an array'}")
    import numpy as np

    if not after:
        number = np.float32 if x.dtype == "float32" else float
        if factor is not None:
            call.refuse("ScaleTensor with bias_after_scale=False")
        bias = float(number(number(scale) * number(bias)))
    _mapped(e, call, "f_scale", x, out, scale, bias, given=[(0, factor)] if factor else [])


@operator("scale", exact=True)
def scale(e, call):
    scaled(e, call, call.input("X"), call.output("Out"), call.attr("scale"), call.attr("bias"),
           call.attr("bias_after_scale"), call.optional("ScaleTensor"))  # fmt: skip


@operator("clip", exact=True)
def clip(e, call):
    import math

    x, out = call.input("X"), call.output("Out")
    given = [(i, call.input(s)) for i, s in enumerate(("Min", "Max")) if call.has(s)]
    low, high = call.attr("min"), call.attr("max")
    if x.dtype not in FLOATS:
        if given or x.dtype not in INTS:
            call.refuse(f"bounds given by variables, of {x.dtype}")
        bits = 31 if x.dtype == "int32" else 62
        low = max(math.ceil(low) if math.isfinite(low) else -(2**bits), -(2**bits))
        high = min(math.floor(high) if math.isfinite(high) else 2**bits - 1, 2**bits - 1)
        if max(abs(low), abs(high)) > 2**53 and bits == 62:
            call.refuse("bounds of int64 above 2^53")
    _mapped(e, call, "f_clip", x, out, low, high, given=given)


@operator("pow", exact=lambda e, call: None if call.attr("factor") in (0, 1, 2, 3, -1, 0.5)
          and not call.has("FactorTensor") else "pow of the C library")  # fmt: skip
def power(e, call):
    x, out = call.input("X"), call.output("Out")
    if x.dtype not in FLOATS:
        call.refuse(f"of {x.dtype}")
    given = [(0, call.input("FactorTensor"))] if call.has("FactorTensor") else []
    _mapped(e, call, "f_pow", x, out, call.attr("factor"), given=given)


@operator("increment", exact=True)
def increment(e, call):
    x, out = call.input("X"), call.output("Out")
    if x.dtype not in NUMBERS:
        call.refuse(f"of {x.dtype}")
    _mapped(e, call, "f_increment", x, out, call.attr("step"))


@operator("isnan_v2", "isinf_v2", "isfinite_v2", exact=True)
def truth(e, call):
    x, out = call.input("X"), call.output("Out")
    if x.dtype not in FLOATS:
        call.refuse(f"of {x.dtype}")
    s = SUFFIX[x.dtype]
    name = e.use(f"f_{call.type[:-3]}_{s}")
    e.call(f"truth1_{s}", e.ref(x), e.ref(out), name)
    e.set_type(out, "bool")


@operator("sum", exact=True)
def add_all(e, call):
    parts, out = call.inputs("X"), call.output("Out")
    if not all(p.kind == "tensor" and p.dtype in NUMBERS for p in parts):
        call.refuse("of arrays or selected rows")
    name = "gi_elementwise_add" if parts[0].dtype in INTS else "g_elementwise_add"
    if len(parts) == 1:
        e.call("same", e.ref(parts[0]), e.ref(out))
        return e.set_type(out, parts[0].dtype)
    if any(p.number == out.number for p in parts[1:]):
        call.refuse("in place of an input behind the first")
    first = parts[0]
    for part in parts[1:]:
        map2(e, call, name, first, part, out)
        first = out
    return None
