"""Constants, copies, sizes, casts, ranges."""

import numpy as np

from dygraph.codegen.emitter import double, plain
from dygraph.codegen.operators.shape import open_ints, typed
from dygraph.codegen.registry import (
    ENUM,
    FLOATS,
    NUMBERS,
    SUFFIX,
    TYPES,
    function,
    kernel,
    operator,
)

# Numbers of element types in programs.
NUMBERED = {0: "bool", 2: "int32", 3: "int64", 5: "float32", 6: "float64", 20: "uint8"}

kernel("fill_at", "$T *Y, $T value", "Y[i] = value;")
function(
    "fill",
    """
static int fill_$S(Ctx *c, Value *y, int rank, const int64_t *dims, $T value) {
  Value t;
  TRY(make(c, &t, $E, rank, dims, 1));
  if (t.data) fill_at_$S(t.count, ($T *)t.data, value);
  return put(c, y, &t);
}
""",
)
function(
    "fill_batch",
    """
static int fill_batch_$S(Ctx *c, const Value *x, Value *y, int rank, const int64_t *shape, int in,
                         int out, $T value) {
  int64_t dims[RANK];
  TRY(need_any(x));
  CHECK(in >= 0 && in < x->rank && out >= 0 && out < rank, BAD_SHAPE);
  for (int i = 0; i < rank; ++i) dims[i] = i == out ? x->dims[in] : shape[i];
  if (in == 0 && x->lod) dims[out] = x->lod->counts[0] - 1;
  return fill_$S(c, y, rank, dims, value);
}
""",
)
function(
    "first_of",
    """
/* The only number of a tensor. */
static int first_of_$S(const Value *x, $T *to) {
  TRY(need(x, $E));
  CHECK(x->count == 1, BAD_SHAPE);
  CHECK(x->data, DEPENDS);
  *to = *(const $T *)x->data;
  return PREFIX_OK;
}
""",
)
kernel("cast_at", "const $T *X, $U *Y", "Y[i] = convert_$S_$R(X[i]);")
function(
    "copied",
    """
static int copied_$S(Ctx *c, Value *y, int rank, const int64_t *dims, const $T *values) {
  Value t;
  TRY(make(c, &t, $E, rank, dims, 1));
  if (t.data && t.count > 0) memcpy(t.data, values, (size_t)t.count * sizeof($T));
  return put(c, y, &t);
}
""",
)
function(
    "convert",
    """
static inline $U convert_$S_$R($T x) { return CONVERT_$R(x); }
""",
)
function("CONVERT_f32", "#define CONVERT_f32(x) (float)(x)")
function("CONVERT_f64", "#define CONVERT_f64(x) (double)(x)")
function("CONVERT_b8", "#define CONVERT_b8(x) ((x) != 0)")
for _s, _t, _below, _above in (
    ("i32", "int32_t", "-2147483648.0", "2147483648.0"),
    ("i64", "int64_t", "-9223372036854775808.0", "9223372036854775808.0"),
    ("u8", "uint8_t", "0.0", "256.0"),
):
    _low, _high = {"u8": ("0", "255")}.get(_s, (f"INT{_s[1:]}_MIN", f"INT{_s[1:]}_MAX"))
    function(
        f"CONVERT_{_s}",
        f"""
static inline {_t} CONVERT_{_s}(double x) {{ /* cut to the range; 0 of NaN */
  if (x >= {_above}) return {_high};
  if (x <= {_below}) return {_low};
  return x == x ? ({_t})x : 0;
}}
""",
    )
function(
    "cast",
    """
static int cast_$S_$R(Ctx *c, const Value *x, Value *y) {
  Value t;
  TRY(need(x, $E));
  TRY(make(c, &t, $V, x->rank, x->dims, x->data != NULL));
  if (t.data) cast_at_$S_$R(t.count, (const $T *)x->data, ($U *)t.data);
  return put(c, y, &t);
}
""",
)
_INTEGERS = {"i64": "int64_t", "i32": "int32_t", "b8": "uint8_t", "u8": "uint8_t"}
for _a, _b in ((a, b) for a in _INTEGERS for b in _INTEGERS if a != b and b != "b8"):
    _from, _to = _INTEGERS[_a], _INTEGERS[_b]
    function(
        f"convert_{_a}_{_b}",
        f"static inline {_to} convert_{_a}_{_b}({_from} x) {{ return ({_to})x; }}",
    )
function(
    "shape",
    """
static int shape(Ctx *c, const Value *x, Value *y) {
  Value t;
  int64_t n;
  TRY(need_any(x));
  n = x->rank;
  TRY(make(c, &t, I32, 1, &n, 1));
  for (int i = 0; i < x->rank && t.data; ++i) {
    CHECK(x->dims[i] <= INT32_MAX, BAD_SHAPE);
    ((int32_t *)t.data)[i] = (int32_t)x->dims[i];
  }
  return put(c, y, &t);
}
""",
)
function(
    "size",
    """
static int size(Ctx *c, const Value *x, Value *y, int rank) {
  Value t;
  int64_t one = 1;
  TRY(need_any(x));
  TRY(make(c, &t, I64, rank, &one, 1));
  if (t.data) *(int64_t *)t.data = x->count;
  return put(c, y, &t);
}
""",
)
function(
    "range",
    """
static int range_$S(Ctx *c, const Value *x, const Value *e, const Value *s, Value *y) {
  Value t;
  $T first, end, step;
  double steps;
  int64_t n;
  TRY(first_of_$S(x, &first));
  TRY(first_of_$S(e, &end));
  TRY(first_of_$S(s, &step));
  CHECK(step != 0, BAD_INDEX);
  steps = ceil(((double)end - (double)first) / (double)step);
  CHECK(steps < 1e12, BAD_INDEX);
  n = steps > 0 ? (int64_t)steps : 0;
  TRY(make(c, &t, $E, 1, &n, 1));
  for (int64_t i = 0; t.data && i < n; ++i) (($T *)t.data)[i] = ($T)(first + ($T)i * step);
  return put(c, y, &t);
}
""",
)
function(
    "like",
    """
static int like_$S(Ctx *c, const Value *x, Value *y, $T value) {
  TRY(need_any(x));
  return fill_$S(c, y, x->rank, x->dims, value);
}
""",
)
function(
    "eye",
    """
static int eye_$S(Ctx *c, Value *y, const int64_t *dims) {
  TRY(fill_$S(c, y, 2, dims, 0));
  for (int64_t i = 0; y->data && i < dims[0] && i < dims[1]; ++i) {
    (($T *)y->data)[i * dims[1] + i] = 1;
  }
  return PREFIX_OK;
}
""",
)


def constant(call, dtype, value, text=""):
    """A C constant of the type."""
    try:
        number = float(text or value)
        if dtype not in FLOATS:
            number = int(text) if text.lstrip("-").isdigit() else int(number)
    except (ValueError, OverflowError):
        call.refuse(f"the value {plain(str(text or value))} of {dtype}")
    if dtype in FLOATS:
        with np.errstate(over="ignore"):
            number = float(np.float32(number)) if dtype == "float32" else number
        return f"({TYPES[dtype][0]}){double(number)}"
    if dtype == "bool":
        return str(int(bool(number)))
    low = {"int32": -(2**31), "int64": -(2**63), "uint8": 0}[dtype]
    if not low <= number < (256 if dtype == "uint8" else -low):
        call.refuse(f"the value {number} of {dtype}")
    if number == -(2**63):
        return "INT64_MIN"
    return f"INT64_C({number})" if dtype == "int64" else str(number)


def dtype_of(call, number, default=None):
    if number == -1 and default:
        return default
    if number not in NUMBERED:
        call.refuse(f"of the element type with number {number}")
    return NUMBERED[number]


@operator("fill_constant", exact=True)
def fill_constant(e, call):
    dtype = dtype_of(call, call.attr("dtype"))
    value = constant(call, dtype, call.attr("value"), call.attr("str_value"))
    if call.has("ValueTensor"):
        x = call.input("ValueTensor")
        if x.dtype != dtype:
            call.refuse("ValueTensor of another type")
        value = f"f{e.where}"
        e.line(f"{TYPES[dtype][0]} {value};")
        e.line(f"TRY({e.use('first_of_' + SUFFIX[dtype])}({e.ref(x)}, &{value}));")
    shape, n = open_ints(e, call, "shape", "ShapeTensorList", "ShapeTensor")
    out = call.output("Out")
    e.call(f"fill_{SUFFIX[dtype]}", e.ref(out), n, shape, value)
    e.set_type(out, dtype)


@operator("fill_constant_batch_size_like", exact=True)
def fill_batch(e, call):
    dtype = dtype_of(call, call.attr("dtype"))
    value = constant(call, dtype, call.attr("value"), call.attr("str_value"))
    shape, out = call.attr("shape"), call.output("Out")
    e.call(f"fill_batch_{SUFFIX[dtype]}", e.ref(call.input("Input")), e.ref(out), len(shape),
           e.ints(shape), call.attr("input_dim_idx"), call.attr("output_dim_idx"),
           value)  # fmt: skip
    e.set_type(out, dtype)


@operator("assign", exact=True)
def assign(e, call):
    same(e, call, call.input("X"), call.output("Out"))


def same(e, call, x, out):
    if x.kind != "tensor":
        call.refuse("of an array")
    e.call("same", e.ref(x), e.ref(out))
    e.set_type(out, x.dtype)


@operator("assign_value", exact=True)
def assign_value(e, call):
    dtype = dtype_of(call, call.attr("dtype"))
    key = {"float32": "fp32_values"}.get(dtype, f"{dtype}_values")
    values, shape, out = call.attr(key), call.attr("shape"), call.output("Out")
    if values is None or len(values) != int(np.prod(shape)):
        call.refuse(f"values of {dtype} must be as many as the shape says")
    texts = tuple(constant(call, dtype, v) for v in values) or ("0",)
    name = e.array(TYPES[dtype][0], texts)
    if e.cuda:  # kernels do not see the text's arrays
        e.call(f"copied_{SUFFIX[dtype]}", e.ref(out), len(shape), e.ints(shape), name)
        return e.set_type(out, dtype)
    e.line(f"drop(c, {e.ref(out)});")
    e.line(f"TRY(constant(c, {e.ref(out)}, {ENUM[dtype]}, {len(shape)}, {e.ints(shape)}, {name}));")
    return e.set_type(out, dtype)


@operator("cast", exact=True)
def cast(e, call):
    x, out = call.input("X"), call.output("Out")
    cast_to(e, call, x, out, dtype_of(call, call.attr("out_dtype")))


def cast_to(e, call, x, out, dtype):
    if x.dtype == dtype:
        return same(e, call, x, out)
    e.call(f"cast_{typed(call, x)}_{SUFFIX[dtype]}", e.ref(x), e.ref(out))
    return e.set_type(out, dtype)


@operator("shape", exact=True)
def shape(e, call):
    e.call("shape", e.ref(call.input("Input")), e.ref(call.output("Out")))
    e.set_type(call.output("Out"), "int32")


@operator("size", exact=True)
def size(e, call):
    out = call.output("Out")
    e.call("size", e.ref(call.input("Input")), e.ref(out), len(out.var.shape))
    e.set_type(out, "int64")


@operator("range", exact=True)
def range_(e, call):
    parts = [call.input(s) for s in ("Start", "End", "Step")]
    dtype = parts[0].dtype
    if any(p.dtype != dtype for p in parts) or dtype not in NUMBERS:
        call.refuse("of different types")
    out = call.output("Out")
    e.call(f"range_{SUFFIX[dtype]}", *map(e.ref, parts), e.ref(out))
    e.set_type(out, dtype)


@operator("fill_zeros_like", "fill_any_like", exact=True)
def like(e, call):
    x, out = call.input("X"), call.output("Out")
    dtype = dtype_of(call, call.attr("dtype", -1), x.dtype)
    value = constant(call, dtype, call.attr("value", 0.0), call.attr("str_value", ""))
    e.call(f"like_{SUFFIX[dtype]}", e.ref(x), e.ref(out), value)
    e.set_type(out, dtype)


@operator("eye", exact=True)
def eye(e, call):
    dtype = dtype_of(call, call.attr("dtype"))
    rows, columns = call.attr("num_rows"), call.attr("num_columns")
    out = call.output("Out")
    e.call(f"eye_{SUFFIX[dtype]}", e.ref(out), e.ints([rows, rows if columns < 0 else columns]))
    e.set_type(out, dtype)


@operator("dropout", exact=True)
def dropout(e, call):
    from dygraph.codegen.operators.arithmetic import scaled

    if not call.attr("is_test"):
        call.refuse("in training (set is_test, or use program.clone(for_test=True))")
    x, out = call.input("X"), call.output("Out")
    if call.attr("dropout_implementation") == "upscale_in_train":
        return same(e, call, x, out)
    return scaled(e, call, x, out, 1.0 - call.attr("dropout_prob"), 0.0, True)
