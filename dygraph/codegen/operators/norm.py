"""Softmax and what divides by deviations. Orders of sums as in csrc/kernels."""

from dygraph.codegen.emitter import double
from dygraph.codegen.operators.linear import floats
from dygraph.codegen.registry import SUFFIX, function, kernel, operator

function(
    "RowMax",
    """
static inline $T RowMax_$S(const $T *x, int64_t n) {
  $T m = x[0];
  int64_t j = 0;
  if (n >= 32) {
    $T lane[32];
    for (int k = 0; k < 32; ++k) lane[k] = x[k];
    for (j = 32; j + 32 <= n; j += 32) {
      for (int k = 0; k < 32; ++k) lane[k] = x[j + k] > lane[k] ? x[j + k] : lane[k];
    }
    for (int k = 0; k < 32; ++k) m = lane[k] > m ? lane[k] : m;
  }
  for (; j < n; ++j) m = x[j] > m ? x[j] : m;
  return m;
}
static inline $T RowSum_$S(const $T *x, int64_t n) {
  $T sum = 0;
  int64_t j = 0;
  if (n >= 32) {
    $T lane[32];
    for (int k = 0; k < 32; ++k) lane[k] = 0;
    for (; j + 32 <= n; j += 32) {
      for (int k = 0; k < 32; ++k) lane[k] += x[j + k];
    }
    for (int step = 16; step > 0; step /= 2) {
      for (int k = 0; k < step; ++k) lane[k] += lane[k + step];
    }
    sum = lane[0];
  }
  for (; j < n; ++j) sum += x[j];
  return sum;
}
""",
)
kernel(
    "softmax_rows",
    "const $T *X, $T *Y, $T *Total, int64_t size, int64_t inner",
    """
/* row i: the elements `inner` apart; Total, where given, gets log(sum(exp(x))) */
const $T *x = X + i / inner * size * inner + i % inner;
$T *y = Y + i / inner * size * inner + i % inner, sum = 0, m;
if (inner == 1) {
  m = RowMax_$S(x, size);
  for (int64_t j = 0; j < size; ++j) y[j] = ExpBelowZero_$S(x[j] - m);
  sum = RowSum_$S(y, size);
} else {
  m = x[0];
  for (int64_t j = 1; j < size; ++j) m = x[j * inner] > m ? x[j * inner] : m;
  for (int64_t j = 0; j < size; ++j) {
    $T e = ExpBelowZero_$S(x[j * inner] - m);
    y[j * inner] = e;
    sum += e;
  }
}
if (Total) Total[i] = m + (inner == 1 ? LogOne_$S(sum) : Log_$S(sum));
sum = 1 / sum;
for (int64_t j = 0; j < size; ++j) y[j * inner] *= sum;
""",
)
kernel(
    "log_softmax_rows",
    "const $T *X, $T *Y, $T *Total, int64_t size, int64_t inner",
    """
const $T *x = X + i / inner * size * inner + i % inner;
$T *y = Y + i / inner * size * inner + i % inner, sum = 0, m;
(void)Total;
if (inner == 1) {
  m = RowMax_$S(x, size);
  for (int64_t j = 0; j < size; ++j) y[j] = ExpBelowZero_$S(x[j] - m);
  sum = LogOne_$S(RowSum_$S(y, size));
} else {
  m = x[0];
  for (int64_t j = 1; j < size; ++j) m = x[j * inner] > m ? x[j * inner] : m;
  for (int64_t j = 0; j < size; ++j) sum += ExpBelowZero_$S(x[j * inner] - m);
  sum = Log_$S(sum);
}
for (int64_t j = 0; j < size; ++j) y[j * inner] = (x[j * inner] - m) - sum;
""",
)
function(
    "along",
    """
static int along_$S(Ctx *c, const Value *x, Value *y, int64_t where,
                    void (*f)(int64_t, const $T *, $T *, $T *, int64_t, int64_t)) {
  Value t;
  int64_t inner = 1, size = 1;
  int axis;
  TRY(need(x, $E));
  if (x->rank > 0) {
    TRY(axis_of(where, x->rank, &axis));
    size = x->dims[axis];
    inner = product(x->dims, axis + 1, x->rank);
  }
  TRY(make(c, &t, $E, x->rank, x->dims, x->data != NULL));
  if (t.data && t.count > 0) {
    f(t.count / size, (const $T *)x->data, ($T *)t.data, NULL, size, inner);
  }
  return put(c, y, &t);
}
""",
)
function(
    "Moments",
    """
/* Sums of x - shift and of its square, in 32 lanes, a double between blocks of 4096. */
static inline void Moments_$S(const $T *x, int64_t n, $T shift, double *first, double *second) {
  *first = *second = 0;
  for (int64_t at = 0; at < n; at += BLOCK) {
    int64_t end = n < at + BLOCK ? n : at + BLOCK, i = at;
    $T a[32], b[32];
    for (int k = 0; k < 32; ++k) a[k] = b[k] = 0;
    for (; i + 32 <= end; i += 32) {
      for (int k = 0; k < 32; ++k) {
        $T d = x[i + k] - shift;
        a[k] += d;
        b[k] = $MAD(d, d, b[k]);
      }
    }
    for (int step = 16; step > 0; step /= 2) {
      for (int k = 0; k < step; ++k) {
        a[k] += a[k + step];
        b[k] += b[k + step];
      }
    }
    for (int64_t whole = i + (end - i) / 4 * 4; i < end; ++i) { /* fours are squared first */
      $T d = x[i] - shift, square = d * d;
      a[0] += d;
      b[0] = i < whole ? b[0] + square : $MAD(d, d, b[0]);
    }
    *first += (double)a[0];
    *second += (double)b[0];
  }
}
""",
)
function("BLOCK", "enum { BLOCK = 4096 };")
kernel(
    "row_norm",
    "const $T *X, const $T *Scale, const $T *Bias, $T *Y, $T *Mean, $T *Variance, int64_t size, "
    "int64_t groups, int64_t inner, double epsilon, int centered, int inverted",
    """
const $T *x = X + i * size;
$T *y = Y + i * size, rough = 0, rest = 0, inverse;
double first, second, count = (double)size, variance;
int64_t param = i % groups * (size / inner);
if (centered) {
  Moments_$S(x, size, 0, &first, &second);
  rough = ($T)(first / count);
  Moments_$S(x, size, rough, &first, &second);
  first /= count;
  second /= count;
  rest = ($T)first;
  variance = MAD(-first, first, second);
  variance = variance < 0 ? 0 : variance;
} else {
  Moments_$S(x, size, 0, &first, &second);
  variance = second / count;
}
inverse = ($T)(1 / sqrt(variance + epsilon));
if (Mean) Mean[i] = rough + rest;
if (Variance) Variance[i] = inverted ? inverse : ($T)variance;
for (int64_t j = 0; j < size; ++j) {
  int64_t p = param + j / inner;
  $T normal = (x[j] - rough - rest) * inverse;
  if (inner == 1) p = param + j;
  y[j] = $MAD(normal, Scale ? Scale[p] : 1, Bias ? Bias[p] : 0);
}
""",
)
function(
    "norm_rows",
    """
/* Normalises rows of `size` elements; `params` of them lie side by side for each of `inner`. */
static int norm_rows_$S(Ctx *c, const Value *x, const Value *scale, const Value *bias, Value *y,
                        Value *mean, Value *variance, int64_t rows, int64_t groups, int64_t inner,
                        int stat_rank, const int64_t *stat_dims, double epsilon, int centered,
                        int inverted) {
  Value t, m, s;
  int64_t size = rows > 0 ? x->count / rows : 0, params = inner > 0 ? groups * size / inner : 0;
  memset(&m, 0, sizeof m);
  memset(&s, 0, sizeof s);
  for (int i = 0; i < 2; ++i) {
    const Value *p = i ? bias : scale;
    if (!p) continue;
    TRY(need(p, $E));
    CHECK(p->count == params || x->count == 0, BAD_SHAPE);
  }
  TRY(make(c, &t, $E, x->rank, x->dims, x->data != NULL));
  if (mean) TRY(make(c, &m, $E, stat_rank, stat_dims, x->data != NULL));
  if (variance) TRY(make(c, &s, $E, stat_rank, stat_dims, x->data != NULL));
  if (t.data && t.count > 0) {
    row_norm_$S(rows, (const $T *)x->data, scale ? (const $T *)scale->data : NULL,
                bias ? (const $T *)bias->data : NULL, ($T *)t.data, ($T *)m.data, ($T *)s.data,
                size, groups, inner, epsilon, centered, inverted);
  }
  TRY(put(c, y, &t));
  if (mean) TRY(put(c, mean, &m));
  return variance ? put(c, variance, &s) : PREFIX_OK;
}
""",
)
function(
    "layer_norm",
    """
static int layer_norm_$S(Ctx *c, const Value *x, const Value *scale, const Value *bias, Value *y,
                         Value *mean, Value *variance, int begin, double epsilon, int centered) {
  int64_t rows;
  TRY(need(x, $E));
  if (begin < 0) begin += x->rank;
  CHECK(begin >= 0 && begin < x->rank, BAD_SHAPE);
  rows = product(x->dims, 0, begin);
  return norm_rows_$S(c, x, scale, bias, y, mean, variance, rows, 1, 1, 1, &rows, epsilon,
                      centered, 0);
}
""",
)
function(
    "group_norm",
    """
static int group_norm_$S(Ctx *c, const Value *x, const Value *scale, const Value *bias, Value *y,
                         Value *mean, Value *variance, int64_t groups, double epsilon,
                         int instance) {
  int64_t dims[2];
  TRY(need(x, $E));
  CHECK(x->rank >= 2, BAD_SHAPE);
  if (instance) groups = x->dims[1];
  CHECK(groups > 0 && x->dims[1] % groups == 0, BAD_SHAPE);
  dims[0] = instance ? x->dims[0] * groups : x->dims[0];
  dims[1] = groups;
  return norm_rows_$S(c, x, scale, bias, y, mean, variance, x->dims[0] * groups, groups,
                      product(x->dims, 2, x->rank), instance ? 1 : 2, dims, epsilon, 1, instance);
}
""",
)
kernel(
    "channel_at",
    "const $T *X, const $T *Z, $T *Y, const $T *Params, int64_t channels, int64_t inner, int relu",
    """
/* row i of `inner` elements of one channel; Params: means, factors, summands */
const $T *x = X + i * inner, *z = Z ? Z + i * inner : NULL;
$T *y = Y + i * inner;
int64_t ch = i % channels;
$T m = Params[ch], f = Params[channels + ch], b = Params[2 * channels + ch];
for (int64_t j = 0; j < inner; ++j) {
  $T v = (x[j] - m) * f;
  v = v + b;
  if (z) v = v + z[j];
  y[j] = !relu || v > 0 || v != v ? v : 0;
}
""",
)
function(
    "batch_norm",
    """
static int batch_norm_$S(Ctx *c, const Value *x, const Value *z, const Value *scale,
                         const Value *bias, const Value *mean, const Value *variance, Value *y,
                         int last, double epsilon, int relu, int own) {
  Value t;
  int64_t n, inner;
  int32_t node;
  void *room;
  const Value *given[4] = {scale, bias, mean, variance};
  TRY(need(x, $E));
  CHECK(x->rank >= 2, BAD_SHAPE);
  n = x->dims[last ? x->rank - 1 : 1];
  inner = last ? 1 : product(x->dims, 2, x->rank);
  for (int i = 0; i < 4; ++i) {
    TRY(need(given[i], $E));
    CHECK(given[i]->count == n, BAD_SHAPE);
  }
  if (z) {
    TRY(need(z, $E));
    CHECK(z->rank == x->rank, BAD_SHAPE);
    for (int i = 0; i < x->rank; ++i) CHECK(z->dims[i] == x->dims[i], BAD_SHAPE);
  }
  CHECK(!own || x->count > 0, BAD_SHAPE);
  TRY(make(c, &t, $E, x->rank, x->dims, x->data && (!z || z->data)));
  TRY(take(c, 3 * n * (int64_t)sizeof($T), 1, &node, &room));
  if (t.data && room && t.count > 0) {
    $T *p = ($T *)room;
    for (int64_t i = 0; i < n; ++i) {
      double m = (double)((const $T *)mean->data)[i], lost, inverse;
      double s = (double)((const $T *)scale->data)[i];
      double v = (double)((const $T *)variance->data)[i];
      if (own) {
        const $T *d = (const $T *)x->data;
        int64_t step = n * inner, outer = t.count / step;
        m = v = 0;
        for (int64_t o = 0; o < outer; ++o) {
          for (int64_t j = 0; j < inner; ++j) m += (double)d[o * step + i * inner + j];
        }
        m /= (double)(outer * inner);
        for (int64_t o = 0; o < outer; ++o) {
          for (int64_t j = 0; j < inner; ++j) {
            double e = (double)d[o * step + i * inner + j] - m;
            v += e * e;
          }
        }
        v /= (double)(outer * inner);
      }
      inverse = 1 / sqrt(v + epsilon);
      p[i] = ($T)m;
      p[n + i] = ($T)(s * inverse);
      lost = (m - (double)p[i]) * (double)p[n + i];
      p[2 * n + i] = ($T)((double)((const $T *)bias->data)[i] - lost);
    }
    if (inner > 0) {
      channel_at_$S(t.count / inner, (const $T *)x->data, z ? (const $T *)z->data : NULL,
                    ($T *)t.data, p, n, inner, relu);
    }
  } else if (c->dry && t.count > 0) {
    t.data = NULL;
  }
  give(c, node);
  return put(c, y, &t);
}
""",
)


def _along(e, call, f):
    x, out = call.input("X"), call.output("Out")
    dtype = floats(call, x)
    s = SUFFIX[dtype]
    name = e.use(f"{f}_{s}")
    e.call(f"along_{s}", e.ref(x), e.ref(out), call.attr("axis", -1), name)
    e.set_type(out, dtype)


@operator("softmax", exact=True)
def softmax(e, call):
    _along(e, call, "softmax_rows")


@operator("log_softmax", exact=True)
def log_softmax(e, call):
    _along(e, call, "log_softmax_rows")


def _number(call, dtype, name="epsilon"):
    import numpy as np

    x = call.attr(name)
    return double(float(np.float32(x)) if dtype == "float32" else x)


def _stats(e, call, dtype, *slots):
    outs = [call.optional_output(s) for s in slots]
    for out in outs:
        if out is not None:
            e.set_type(out, dtype)
    return outs


@operator("layer_norm", exact=True)
def layer_norm(e, call):
    x, y = call.input("X"), call.output("Y")
    scale, bias = call.optional("Scale"), call.optional("Bias")
    dtype = floats(call, x, scale, bias)
    mean, variance = _stats(e, call, dtype, "Mean", "Variance")
    e.call(f"layer_norm_{SUFFIX[dtype]}", *map(e.ref, (x, scale, bias, y, mean, variance)),
           call.attr("begin_norm_axis"), _number(call, dtype), 1)  # fmt: skip
    e.set_type(y, dtype)


@operator("rms_norm")
def rms_norm(e, call):
    if call.has("bias") or call.has("residual") or call.attr("quant_scale") > 0:
        call.refuse("with a bias, a residual or quantisation")
    x, y, scale = call.input("x"), call.output("out"), call.input("norm_weight")
    bias = call.optional("norm_bias")
    dtype = floats(call, x, scale, bias)
    e.call(f"layer_norm_{SUFFIX[dtype]}", *map(e.ref, (x, scale, bias, y, None, None)),
           call.attr("begin_norm_axis"), _number(call, dtype), 0)  # fmt: skip
    e.set_type(y, dtype)


@operator("group_norm", "instance_norm", exact=True)
def group_norm(e, call):
    if call.attr("data_layout", "NCHW") != "NCHW":
        call.refuse("with data_layout NHWC")
    x, y = call.input("X"), call.output("Y")
    scale, bias = call.optional("Scale"), call.optional("Bias")
    dtype = floats(call, x, scale, bias)
    instance = call.type == "instance_norm"
    names = ("SavedMean", "SavedVariance") if instance else ("Mean", "Variance")
    mean, variance = _stats(e, call, dtype, *names)
    e.call(f"group_norm_{SUFFIX[dtype]}", *map(e.ref, (x, scale, bias, y, mean, variance)),
           call.attr("groups", 1), _number(call, dtype), int(instance))  # fmt: skip
    e.set_type(y, dtype)


def _by_batch(call):
    by_running = call.attr("use_global_stats") or (
        call.attr("is_test") and not call.attr("trainable_statistics")
    )
    return not by_running


def _own_statistics(e, call):
    return "the batch's own statistics" if _by_batch(call) else None


@operator("batch_norm", "fused_batch_norm_act", "fused_bn_add_activation", exact=_own_statistics)
def batch_norm(e, call):
    own = _by_batch(call)
    if own and not call.attr("use_global_stats") and not call.attr("is_test"):
        call.refuse("in training (set is_test, or use program.clone(for_test=True))")
    x, y = call.input("X"), call.output("Y")
    given = [call.input(s) for s in ("Scale", "Bias", "Mean", "Variance")]
    z = call.input("Z") if call.has("Z") else None
    dtype = floats(call, x, z, *given)
    relu = int(call.type != "batch_norm")
    last = int(call.attr("data_layout") == "NHWC")
    e.call(f"batch_norm_{SUFFIX[dtype]}", *map(e.ref, (x, z, *given, y)), last,
           _number(call, dtype), relu, int(own))  # fmt: skip
    e.set_type(y, dtype)
