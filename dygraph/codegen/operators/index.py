"""Elements chosen by numbers: tables, gather, scatter, one_hot, where."""

from dygraph.codegen.operators.create import dtype_of
from dygraph.codegen.operators.shape import open_ints, typed
from dygraph.codegen.registry import INTS, SUFFIX, function, kernel, operator

function(
    "checked",
    """
/* Whether integers lie in [low, size); unknown data pass. */
static int checked_$S(const Value *x, int64_t low, int64_t size) {
  const $T *d = (const $T *)x->data;
  TRY(need(x, $E));
  for (int64_t i = 0; d && i < x->count; ++i) CHECK(d[i] >= low && d[i] < size, BAD_INDEX);
  return PREFIX_OK;
}
""",
)
kernel(
    "pick_rows",
    "const $T *X, const $U *At, $T *Y, int64_t size, int64_t width, int64_t height, "
    "int64_t nothing",
    """
/* slice i % size of outer i / size; the number `nothing` gives zeros */
int64_t at = (int64_t)At[i % size];
const $T *x = X + (i / size * height + (at < 0 ? at + height : at)) * width;
$T *y = Y + i * width;
if (at == nothing) {
  for (int64_t j = 0; j < width; ++j) y[j] = 0;
} else {
  for (int64_t j = 0; j < width; ++j) y[j] = x[j];
}
""",
)
function(
    "lookup",
    """
static int lookup_$S_$R(Ctx *c, const Value *w, const Value *ids, Value *out, int64_t padding,
                        int last_is_one) {
  Value t;
  int64_t dims[RANK + 1];
  int rank;
  TRY(need(w, $E));
  TRY(need(ids, $V));
  CHECK(w->rank == 2, BAD_SHAPE);
  rank = ids->rank - last_is_one;
  CHECK(rank >= 0 && rank < RANK && (!last_is_one || ids->dims[rank] == 1), BAD_SHAPE);
  for (int i = 0; i < rank; ++i) dims[i] = ids->dims[i];
  dims[rank] = w->dims[1];
  TRY(checked_$R(ids, 0, w->dims[0]));
  TRY(make(c, &t, $E, rank + 1, dims, w->data && ids->data));
  if (t.data && t.count > 0) {
    pick_rows_$S_$R(ids->count, (const $T *)w->data, (const $U *)ids->data, ($T *)t.data,
                    ids->count, w->dims[1], w->dims[0], padding == -1 ? INT64_MIN : padding);
  }
  return put(c, out, &t);
}
""",
)
function(
    "gather",
    """
static int gather_$S_$R(Ctx *c, const Value *x, const Value *at, Value *out, int64_t where,
                        int negative) {
  Value t;
  int64_t dims[2 * RANK], outer, inner;
  int axis, rank = 0;
  TRY(need(x, $E));
  TRY(need(at, $V));
  TRY(axis_of(where, x->rank, &axis));
  CHECK(at->rank == 1 || (at->rank == 2 && at->dims[1] == 1) || at->rank == 0, BAD_SHAPE);
  for (int i = 0; i < x->rank; ++i) {
    if (i != axis) {
      dims[rank++] = x->dims[i];
    } else if (at->rank > 0) {
      dims[rank++] = at->dims[0];
    }
  }
  TRY(checked_$R(at, negative ? -x->dims[axis] : 0, x->dims[axis]));
  TRY(make(c, &t, $E, rank, dims, x->data && at->data));
  outer = product(x->dims, 0, axis);
  inner = product(x->dims, axis + 1, x->rank);
  if (t.data && t.count > 0) {
    pick_rows_$S_$R(outer * at->count, (const $T *)x->data, (const $U *)at->data, ($T *)t.data,
                    at->count, inner, x->dims[axis], INT64_MIN);
  }
  return put(c, out, &t);
}
""",
)
function(
    "gather_nd",
    """
static int gather_nd_$S_$R(Ctx *c, const Value *x, const Value *at, Value *out) {
  Value t;
  int64_t dims[2 * RANK], width, n;
  const $U *index = (const $U *)at->data;
  int rank = 0, k;
  TRY(need(x, $E));
  TRY(need(at, $V));
  CHECK(at->rank > 0 && at->dims[at->rank - 1] <= x->rank, BAD_SHAPE);
  k = (int)at->dims[at->rank - 1];
  for (int i = 0; i + 1 < at->rank; ++i) dims[rank++] = at->dims[i];
  for (int i = k; i < x->rank; ++i) dims[rank++] = x->dims[i];
  CHECK(rank <= RANK, BAD_SHAPE);
  n = product(at->dims, 0, at->rank - 1);
  width = product(x->dims, k, x->rank);
  TRY(make(c, &t, $E, rank, dims, x->data && at->data));
  for (int64_t i = 0; t.data && i < n; ++i) {
    int64_t from = 0;
    for (int d = 0; d < k; ++d) {
      int64_t j = (int64_t)index[i * k + d];
      CHECK(j >= -x->dims[d] && j < x->dims[d], BAD_INDEX);
      from = from * x->dims[d] + (j < 0 ? j + x->dims[d] : j);
    }
    if (width > 0) {
      memcpy(($T *)t.data + i * width, (const $T *)x->data + from * width,
             (size_t)width * sizeof($T));
    }
  }
  return put(c, out, &t);
}
""",
)
function(
    "scatter",
    """
static int scatter_$S_$R(Ctx *c, const Value *x, const Value *ids, const Value *updates, Value *out,
                         int overwrite) {
  Value t;
  int64_t width;
  const $U *at = (const $U *)ids->data;
  TRY(need(x, $E));
  TRY(need(ids, $V));
  TRY(need(updates, $E));
  CHECK(x->rank > 0 && updates->rank == x->rank && updates->dims[0] == ids->count, BAD_SHAPE);
  CHECK(ids->rank == 1 || (ids->rank == 2 && ids->dims[1] == 1), BAD_SHAPE);
  for (int i = 1; i < x->rank; ++i) CHECK(updates->dims[i] == x->dims[i], BAD_SHAPE);
  width = product(x->dims, 1, x->rank);
  TRY(checked_$R(ids, -x->dims[0], x->dims[0]));
  TRY(make(c, &t, $E, x->rank, x->dims, x->data && ids->data && updates->data));
  if (t.data && t.count > 0) {
    $T *y = ($T *)t.data;
    const $T *u = (const $T *)updates->data;
    memcpy(y, x->data, (size_t)t.count * sizeof($T));
    for (int pass = overwrite; pass < 2; ++pass) {
      for (int64_t i = 0; i < ids->count; ++i) {
        int64_t row = at[i] < 0 ? (int64_t)at[i] + x->dims[0] : (int64_t)at[i];
        $T *to = y + row * width;
        for (int64_t j = 0; j < width; ++j) {
          to[j] = !pass ? 0 : overwrite ? u[i * width + j] : to[j] + u[i * width + j];
        }
      }
    }
  }
  return put(c, out, &t);
}
""",
)
function(
    "one_hot",
    """
static int one_hot_$S_$R(Ctx *c, const Value *x, Value *out, int64_t depth, int lenient,
                         int fresh) {
  Value t;
  int64_t dims[RANK + 1];
  int rank;
  const $T *at = (const $T *)x->data;
  TRY(need(x, $E));
  CHECK(depth > 0, BAD_SHAPE);
  rank = x->rank + (fresh ? 1 : 0);
  CHECK(rank > 0 && rank <= RANK && (fresh || x->dims[rank - 1] == 1), BAD_SHAPE);
  for (int i = 0; i < x->rank; ++i) dims[i] = x->dims[i];
  dims[rank - 1] = depth;
  if (!lenient) TRY(checked_$S(x, 0, depth));
  TRY(make(c, &t, $V, rank, dims, x->data != NULL));
  if (t.data) {
    memset(t.data, 0, (size_t)t.count * sizeof($U));
    for (int64_t i = 0; i < x->count; ++i) {
      if (at[i] >= 0 && at[i] < depth) (($U *)t.data)[i * depth + at[i]] = 1;
    }
  }
  return put(c, out, &t);
}
""",
)
kernel(
    "where_at",
    "const uint8_t *If, const $T *X, const $T *Y, $T *Z, Walk3 w",
    """
int64_t rest = i, f = 0, x = 0, y = 0;
for (int d = w.rank - 1; d >= 0; --d) {
  int64_t j = rest % w.size[d];
  rest /= w.size[d];
  f += j * w.step[0][d];
  x += j * w.step[1][d];
  y += j * w.step[2][d];
}
Z[i] = If[f] ? X[x] : Y[y];
""",
)
function(
    "Walk3",
    """
typedef struct {
  int64_t size[RANK], step[3][RANK];
  int rank;
} Walk3;
""",
)
function(
    "where",
    """
static int where_$S(Ctx *c, const Value *f, const Value *x, const Value *y, Value *out) {
  Value t;
  Walk3 w;
  const Value *all[3] = {f, x, y};
  TRY(need(f, B8));
  TRY(need(x, $E));
  TRY(need(y, $E));
  memset(&w, 0, sizeof w);
  for (int k = 0; k < 3; ++k) w.rank = all[k]->rank > w.rank ? all[k]->rank : w.rank;
  for (int i = 0; i < w.rank; ++i) w.size[i] = 1;
  for (int k = 0; k < 3; ++k) {
    int64_t step = 1;
    for (int i = all[k]->rank - 1; i >= 0; --i) {
      int64_t n = all[k]->dims[i], *size = w.size + i + w.rank - all[k]->rank;
      CHECK(n == 1 || *size == 1 || *size == n, BAD_SHAPE);
      if (n != 1) *size = n;
      w.step[k][i + w.rank - all[k]->rank] = n == 1 ? 0 : step;
      step *= n;
    }
  }
  TRY(make(c, &t, $E, w.rank, w.size, f->data && x->data && y->data));
  if (t.data) {
    where_at_$S(t.count, (const uint8_t *)f->data, (const $T *)x->data, (const $T *)y->data,
                ($T *)t.data, w);
  }
  return put(c, out, &t);
}
""",
)
function(
    "where_index",
    """
static int where_index_$S(Ctx *c, const Value *x, Value *out) {
  Value t;
  int64_t dims[2] = {0, 0}, at = 0;
  const $T *d = (const $T *)x->data;
  TRY(need(x, $E));
  CHECK(d || x->count == 0, DEPENDS);
  for (int64_t i = 0; i < x->count; ++i) dims[0] += d[i] != 0;
  dims[1] = x->rank;
  TRY(make(c, &t, I64, 2, dims, 1));
  for (int64_t i = 0; t.data && i < x->count; ++i) {
    int64_t rest = i;
    if (d[i] == 0) continue;
    for (int j = x->rank - 1; j >= 0; --j) {
      ((int64_t *)t.data)[at * x->rank + j] = rest % x->dims[j];
      rest /= x->dims[j];
    }
    ++at;
  }
  return put(c, out, &t);
}
""",
)
function(
    "along_at",
    """
static int along_at_$S_$R(Ctx *c, const Value *x, const Value *at, Value *out, int64_t where) {
  Value t;
  const $U *index = (const $U *)at->data;
  int64_t dims[RANK], step[RANK];
  int axis;
  TRY(need(x, $E));
  TRY(need(at, $V));
  TRY(axis_of(where, x->rank, &axis));
  CHECK(at->rank == x->rank, BAD_SHAPE);
  for (int i = 0; i < x->rank; ++i) { /* an axis of one number is repeated */
    dims[i] = i != axis && at->dims[i] == 1 ? x->dims[i] : at->dims[i];
    step[i] = i != axis && at->dims[i] == 1 ? 0 : product(at->dims, i + 1, at->rank);
    CHECK(i == axis || dims[i] <= x->dims[i], BAD_SHAPE);
  }
  TRY(checked_$R(at, -x->dims[axis], x->dims[axis]));
  TRY(make(c, &t, $E, at->rank, dims, x->data && at->data));
  for (int64_t i = 0; t.data && i < t.count; ++i) {
    int64_t rest = i, from = 0, where_at = 0, inner = 1, n = x->dims[axis], j;
    for (int d = x->rank - 1; d >= 0; --d) {
      int64_t place = rest % dims[d];
      rest /= dims[d];
      where_at += place * step[d];
      if (d != axis) from += place * inner;
      inner *= x->dims[d];
    }
    j = (int64_t)index[where_at];
    from += (j < 0 ? j + n : j) * product(x->dims, axis + 1, x->rank);
    (($T *)t.data)[i] = ((const $T *)x->data)[from];
  }
  return put(c, out, &t);
}
""",
)


def index_types(call, x, at):
    if at.dtype not in INTS:
        call.refuse(f"numbers of {at.dtype}")
    return f"{typed(call, x)}_{SUFFIX[at.dtype]}"


@operator("lookup_table", "lookup_table_v2", exact=True)
def lookup(e, call):
    w, ids, out = call.input("W"), call.input("Ids"), call.output("Out")
    e.call(f"lookup_{index_types(call, w, ids)}", e.ref(w), e.ref(ids), e.ref(out),
           call.attr("padding_idx"), int(call.type == "lookup_table"))  # fmt: skip
    e.set_type(out, w.dtype)


@operator("gather", "index_select", exact=True)
def gather(e, call):
    x, at, out = call.input("X"), call.input("Index"), call.output("Out")
    axis = call.attr("axis", call.attr("dim", 0))
    if call.has("Axis"):
        call.refuse("axis given by a variable")
    e.call(f"gather_{index_types(call, x, at)}", e.ref(x), e.ref(at), e.ref(out), axis, 1)
    e.set_type(out, x.dtype)


@operator("gather_nd", exact=True)
def gather_nd(e, call):
    x, at, out = call.input("X"), call.input("Index"), call.output("Out")
    e.call(f"gather_nd_{index_types(call, x, at)}", e.ref(x), e.ref(at), e.ref(out))
    e.set_type(out, x.dtype)


@operator("scatter", exact=True)
def scatter(e, call):
    x, at, u, out = (call.input("X"), call.input("Ids"), call.input("Updates"), call.output("Out"))
    e.call(f"scatter_{index_types(call, x, at)}", e.ref(x), e.ref(at), e.ref(u), e.ref(out),
           int(call.attr("overwrite")))  # fmt: skip
    e.set_type(out, x.dtype)


@operator("take_along_axis", exact=True)
def take_along_axis(e, call):
    x, at, out = call.input("Input"), call.input("Index"), call.output("Result")
    e.call(f"along_at_{index_types(call, x, at)}", e.ref(x), e.ref(at), e.ref(out),
           call.attr("Axis"))  # fmt: skip
    e.set_type(out, x.dtype)


@operator("one_hot", "one_hot_v2", exact=True)
def one_hot(e, call):
    x, out = call.input("X"), call.output("Out")
    if x.dtype not in INTS:
        call.refuse(f"of {x.dtype}")
    dtype = dtype_of(call, call.attr("dtype"))
    depth, n = open_ints(e, call, "depth", "depth_tensor", given=[call.attr("depth")])
    if not n.isdigit():
        e.line(f"CHECK({n} == 1, BAD_SHAPE);")
    e.call(f"one_hot_{SUFFIX[x.dtype]}_{SUFFIX[dtype]}", e.ref(x), e.ref(out), f"{depth}[0]",
           int(call.attr("allow_out_of_range")), int(call.type == "one_hot_v2"))  # fmt: skip
    e.set_type(out, dtype)


@operator("where", exact=True)
def where(e, call):
    f, x, y, out = (call.input("Condition"), call.input("X"), call.input("Y"), call.output("Out"))
    if x.dtype != y.dtype:
        call.refuse("of different types")
    e.call(f"where_{typed(call, x)}", e.ref(f), e.ref(x), e.ref(y), e.ref(out))
    e.set_type(out, x.dtype)


@operator("where_index", exact=True)
def where_index(e, call):
    x, out = call.input("Condition"), call.output("Out")
    e.call(f"where_index_{typed(call, x)}", e.ref(x), e.ref(out))
    e.set_type(out, "int64")
