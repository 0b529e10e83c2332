"""What the operators of shape.py call: elements that move."""

from dygraph.codegen.registry import function, kernel

function(
    "ints",
    """
/* The integers of a small tensor, behind those that `to` has. */
static int ints(const Value *x, int64_t *to, int *count) {
  TRY(need_any(x));
  CHECK(x->type == I32 || x->type == I64, BAD_TYPE);
  CHECK(x->count + *count <= RANK, BAD_SHAPE);
  CHECK(x->data || x->count == 0, DEPENDS);
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t n = x->type == I32 ? ((const int32_t *)x->data)[i] : ((const int64_t *)x->data)[i];
    CHECK(n > -MOST && n < MOST, BAD_INDEX);
    to[(*count)++] = n;
  }
  return PREFIX_OK;
}
""",
)
function(
    "axis_of",
    """
static int axis_of(int64_t axis, int rank, int *found) {
  CHECK(axis >= -rank && axis < rank, BAD_SHAPE);
  *found = (int)(axis < 0 ? axis + rank : axis);
  return PREFIX_OK;
}
""",
)
function(
    "Walk1",
    """
typedef struct { /* dimensions from the outermost, with strides of x in elements */
  int64_t size[RANK], step[RANK];
  int rank;
} Walk1;
""",
)
kernel(
    "walk_rows",
    "const $T *X, $T *Y, Walk1 w",
    """
const $T *x = X;
int64_t rest = i, n = w.size[w.rank - 1], s = w.step[w.rank - 1];
$T *y = Y + i * n;
for (int d = w.rank - 2; d >= 0; --d) {
  x += rest % w.size[d] * w.step[d];
  rest /= w.size[d];
}
if (s == 1) {
  for (int64_t j = 0; j < n; ++j) y[j] = x[j];
} else {
  for (int64_t j = 0; j < n; ++j) y[j] = x[j * s];
}
""",
)
function(
    "walk",
    """
/* out[i, j, ...] = x[first + i * step[0] + j * step[1] ...], of the sizes `dims`; the result has
   the sizes `shape`. */
static int walk_$S(Ctx *c, const Value *x, Value *y, int64_t first, int rank, const int64_t *dims,
                   const int64_t *step, int shape_rank, const int64_t *shape) {
  Value t;
  Walk1 w;
  TRY(make(c, &t, $E, shape_rank, shape, x->data != NULL));
  CHECK(product(dims, 0, rank) == t.count, BAD_SHAPE);
  memset(&w, 0, sizeof w);
  for (int i = 0; i < rank; ++i) { /* joins dimensions that lie together */
    if (dims[i] == 1) continue;
    if (w.rank > 0 && w.step[w.rank - 1] == step[i] * dims[i]) {
      w.size[w.rank - 1] *= dims[i];
      w.step[w.rank - 1] = step[i];
      continue;
    }
    w.size[w.rank] = dims[i];
    w.step[w.rank++] = step[i];
  }
  if (w.rank == 0) {
    w.size[0] = w.step[0] = 1;
    w.rank = 1;
  }
  if (t.data && t.count > 0) {
    walk_rows_$S(t.count / w.size[w.rank - 1], (const $T *)x->data + first, ($T *)t.data, w);
  }
  return put(c, y, &t);
}
""",
)
function(
    "reshape",
    """
static int reshape(Ctx *c, const Value *x, Value *y, int n, const int64_t *wanted) {
  int64_t dims[RANK], known = 1;
  int open = -1;
  TRY(need_any(x));
  CHECK(n <= RANK, BAD_SHAPE);
  for (int i = 0; i < n; ++i) {
    dims[i] = wanted[i];
    if (wanted[i] == -1) {
      CHECK(open < 0, BAD_SHAPE);
      open = i;
      continue;
    }
    if (wanted[i] == 0) {
      CHECK(i < x->rank, BAD_SHAPE);
      dims[i] = x->dims[i];
    }
    CHECK(dims[i] >= 0 && (dims[i] == 0 || known <= MOST / dims[i]), BAD_SHAPE);
    known *= dims[i];
  }
  if (open >= 0) {
    CHECK(known > 0 && x->count % known == 0, BAD_SHAPE);
    dims[open] = x->count / known;
  }
  return alias(c, x, y, n, dims);
}
""",
)
function(
    "squeeze",
    """
static int squeeze(Ctx *c, const Value *x, Value *y, int n, const int64_t *axes) {
  int64_t dims[RANK];
  int rank = 0, gone[RANK] = {0}, at;
  TRY(need_any(x));
  for (int i = 0; i < n; ++i) {
    TRY(axis_of(axes[i], x->rank, &at));
    gone[at] = x->dims[at] == 1;
  }
  for (int i = 0; i < x->rank; ++i) {
    if (n == 0 ? x->dims[i] != 1 : !gone[i]) dims[rank++] = x->dims[i];
  }
  return alias(c, x, y, rank, dims);
}
""",
)
function(
    "unsqueeze",
    """
static int unsqueeze(Ctx *c, const Value *x, Value *y, int n, const int64_t *axes) {
  int64_t dims[RANK];
  int rank;
  TRY(need_any(x));
  rank = x->rank;
  CHECK(rank + n <= RANK, BAD_SHAPE);
  for (int i = 0; i < rank; ++i) dims[i] = x->dims[i];
  for (int i = 0; i < n; ++i) { /* one after the other, each in the shape so far */
    int at;
    TRY(axis_of(axes[i], rank + 1, &at));
    for (int j = rank; j > at; --j) dims[j] = dims[j - 1];
    dims[at] = 1;
    ++rank;
  }
  return alias(c, x, y, rank, dims);
}
""",
)
function(
    "flatten",
    """
static int flatten(Ctx *c, const Value *x, Value *y, int axis) {
  int64_t dims[2];
  TRY(need_any(x));
  CHECK(axis >= 0 && axis <= x->rank, BAD_SHAPE);
  dims[0] = product(x->dims, 0, axis);
  dims[1] = product(x->dims, axis, x->rank);
  return alias(c, x, y, 2, dims);
}
""",
)
function(
    "flatten_range",
    """
static int flatten_range(Ctx *c, const Value *x, Value *y, int from, int to) {
  int64_t dims[RANK + 1];
  int rank = 0, a, b;
  TRY(need_any(x));
  if (x->rank == 0) {
    dims[0] = 1;
    return alias(c, x, y, 1, dims);
  }
  TRY(axis_of(from, x->rank, &a));
  TRY(axis_of(to, x->rank, &b));
  CHECK(a <= b, BAD_SHAPE);
  for (int i = 0; i < a; ++i) dims[rank++] = x->dims[i];
  dims[rank++] = product(x->dims, a, b + 1);
  for (int i = b + 1; i < x->rank; ++i) dims[rank++] = x->dims[i];
  return alias(c, x, y, rank, dims);
}
""",
)
function(
    "same",
    """
static int same(Ctx *c, const Value *x, Value *y) {
  TRY(need_any(x));
  if (x == y) return PREFIX_OK;
  return alias(c, x, y, x->rank, x->dims);
}
""",
)
function(
    "transpose",
    """
static int transpose_$S(Ctx *c, const Value *x, Value *y, int n, const int64_t *order) {
  int64_t dims[RANK], step[RANK];
  TRY(need(x, $E));
  CHECK(n == x->rank, BAD_SHAPE);
  for (int i = 0; i < n; ++i) {
    int at;
    TRY(axis_of(order[i], n, &at));
    dims[i] = x->dims[at];
    step[i] = product(x->dims, at + 1, n);
  }
  return walk_$S(c, x, y, 0, n, dims, step, n, dims);
}
""",
)
function(
    "slice",
    """
static int slice_$S(Ctx *c, const Value *x, Value *y, int n, const int64_t *axes,
                    const int64_t *starts, const int64_t *ends, const int64_t *strides, int gone,
                    const int64_t *decrease) {
  int64_t dims[RANK], step[RANK], shape[RANK], first = 0;
  int rank = 0, taken[RANK] = {0};
  TRY(need(x, $E));
  for (int i = 0; i < x->rank; ++i) {
    dims[i] = x->dims[i];
    step[i] = product(x->dims, i + 1, x->rank);
  }
  for (int i = 0; i < n; ++i) {
    int at;
    int64_t size, by = strides ? strides[i] : 1, from = starts[i], to = ends[i];
    TRY(axis_of(axes[i], x->rank, &at));
    size = x->dims[at];
    CHECK(by != 0, BAD_SHAPE);
    if (from < 0) from += size;
    if (to < 0) to = to + size < 0 ? -1 : to + size;
    if (by > 0) {
      from = from < 0 ? 0 : from > size ? size : from;
      to = to < 0 ? 0 : to > size ? size : to;
      dims[at] = to > from ? (to - from + by - 1) / by : 0;
    } else {
      from = from < 0 ? -1 : from >= size ? size - 1 : from;
      to = to < -1 ? -1 : to >= size ? size - 1 : to;
      dims[at] = from > to ? (from - to - by - 1) / -by : 0;
    }
    if (dims[at] > 0) first += from * step[at];
    step[at] *= by;
  }
  for (int i = 0; i < gone; ++i) {
    int at;
    TRY(axis_of(decrease[i], x->rank, &at));
    CHECK(dims[at] == 1, BAD_SHAPE);
    taken[at] = 1;
  }
  for (int i = 0; i < x->rank; ++i) {
    if (!taken[i]) shape[rank++] = dims[i];
  }
  return walk_$S(c, x, y, first, x->rank, dims, step, rank, shape);
}
""",
)
function(
    "cut",
    """
/* Part `number` of x along an axis: rows [from, from + size), without the axis if `gone`. */
static int cut_$S(Ctx *c, const Value *x, Value *y, int axis, int64_t from, int64_t size,
                  int gone) {
  int64_t dims[RANK], step[RANK], shape[RANK];
  int rank = 0;
  CHECK(from >= 0 && size >= 0 && from + size <= x->dims[axis], BAD_SHAPE);
  for (int i = 0; i < x->rank; ++i) {
    dims[i] = i == axis ? size : x->dims[i];
    step[i] = product(x->dims, i + 1, x->rank);
    if (i != axis || !gone) shape[rank++] = dims[i];
  }
  return walk_$S(c, x, y, size > 0 ? from * step[axis] : 0, x->rank, dims, step, rank, shape);
}
""",
)
function(
    "split",
    """
static int split_$S(Ctx *c, const Value *x, const int32_t *to, int parts, int64_t where,
                    const int64_t *sections, int gone) {
  int64_t from = 0, left, rest = 0;
  int axis, open = -1;
  Value source = *x; /* an output may be the input */
  TRY(need(x, $E));
  TRY(axis_of(where, x->rank, &axis));
  left = x->dims[axis];
  for (int i = 0; sections && i < parts; ++i) {
    if (sections[i] < 0) {
      CHECK(open < 0, BAD_SHAPE);
      open = i;
    } else {
      rest += sections[i];
    }
  }
  CHECK(sections ? open >= 0 ? rest <= left : rest == left : left % parts == 0, BAD_SHAPE);
  for (int i = 0; i < parts; ++i) {
    int64_t size = !sections ? left / parts : i == open ? left - rest : sections[i];
    TRY(cut_$S(c, &source, c->v + to[i], axis, from, size, gone));
    from += size;
  }
  return PREFIX_OK;
}
""",
)
function(
    "concat",
    """
/* Joins along an axis; `fresh`: along a new one. */
static int concat_$S(Ctx *c, const int32_t *from, int parts, int64_t where, int fresh, Value *y) {
  Value t;
  const Value *x = c->v + from[0];
  int64_t dims[RANK + 1], inner = 1, outer, row, at = 0;
  int axis, known = 1, rank = 0;
  TRY(need(x, $E));
  TRY(axis_of(where, x->rank + fresh, &axis));
  CHECK(x->rank + fresh <= RANK, BAD_SHAPE);
  for (int i = 0; i < x->rank + fresh; ++i) dims[i] = fresh && i == axis ? 0 : x->dims[rank++];
  dims[axis] = 0;
  rank = x->rank + fresh;
  for (int i = 0; i < parts; ++i) {
    const Value *p = c->v + from[i];
    TRY(need(p, $E));
    CHECK(p->rank == x->rank, BAD_SHAPE);
    for (int d = 0; d < x->rank; ++d) {
      CHECK(p->dims[d] == x->dims[d] || (!fresh && d == axis), BAD_SHAPE);
    }
    dims[axis] += fresh ? 1 : p->dims[axis];
    known = known && p->data;
  }
  TRY(make(c, &t, $E, rank, dims, known));
  outer = product(dims, 0, axis);
  inner = product(dims, axis + 1, rank);
  row = dims[axis] * inner;
  for (int i = 0; i < parts && t.data; ++i) {
    const Value *p = c->v + from[i];
    int64_t n = fresh ? inner : p->dims[axis] * inner;
    for (int64_t o = 0; n > 0 && o < outer; ++o) {
      memcpy(($T *)t.data + o * row + at, (const $T *)p->data + o * n, (size_t)n * sizeof($T));
    }
    at += n;
  }
  return put(c, y, &t);
}
""",
)
function(
    "expand",
    """
/* x repeated along its axes to the sizes `shape`, whose last axes are those of x. */
static int expand_$S(Ctx *c, const Value *x, Value *y, int rank, const int64_t *shape) {
  int64_t dims[RANK], step[RANK], inner = 1;
  TRY(need(x, $E));
  CHECK(rank >= x->rank && rank <= RANK, BAD_SHAPE);
  for (int i = rank - 1; i >= 0; --i) {
    int at = i - (rank - x->rank);
    int64_t size = at < 0 ? 1 : x->dims[at];
    dims[i] = shape[i] == -1 ? size : shape[i];
    CHECK(dims[i] == size || size == 1, BAD_SHAPE);
    step[i] = size == 1 ? 0 : inner;
    inner *= size;
  }
  return walk_$S(c, x, y, 0, rank, dims, step, rank, dims);
}
""",
)
function(
    "tile",
    """
static int tile_$S(Ctx *c, const Value *x, Value *y, int n, const int64_t *times, int padded) {
  int64_t dims[2 * RANK], step[2 * RANK], shape[RANK], inner = 1;
  int rank = n > x->rank ? n : x->rank, at = 0;
  int64_t small_dims[RANK], small_step[RANK];
  TRY(need(x, $E));
  CHECK(rank <= RANK && (padded || n == x->rank), BAD_SHAPE);
  for (int i = 0; i < rank; ++i) {
    int xi = i - (rank - x->rank), ti = i - (rank - n);
    int64_t size = xi < 0 ? 1 : x->dims[xi], by = ti < 0 ? 1 : times[ti];
    CHECK(by >= 0 && by < MOST && (size == 0 || by <= MOST / size), BAD_SHAPE);
    shape[i] = size * by;
    dims[2 * i] = by;
    dims[2 * i + 1] = size;
    step[2 * i] = 0;
  }
  for (int i = rank - 1; i >= 0; --i) {
    step[2 * i + 1] = inner;
    inner *= dims[2 * i + 1];
  }
  for (int i = 0; i < 2 * rank; ++i) {
    if (dims[i] == 1) continue;
    CHECK(at < RANK, BAD_SHAPE);
    small_dims[at] = dims[i];
    small_step[at++] = step[i];
  }
  return walk_$S(c, x, y, 0, at, small_dims, small_step, rank, shape);
}
""",
)
function(
    "flip",
    """
static int flip_$S(Ctx *c, const Value *x, Value *y, int n, const int64_t *axes) {
  int64_t step[RANK], first = 0;
  TRY(need(x, $E));
  for (int i = 0; i < x->rank; ++i) step[i] = product(x->dims, i + 1, x->rank);
  for (int i = 0; i < n; ++i) {
    int at;
    TRY(axis_of(axes[i], x->rank, &at));
    if (step[at] < 0) continue;
    if (x->dims[at] > 0) first += (x->dims[at] - 1) * step[at];
    step[at] = -step[at];
  }
  return walk_$S(c, x, y, x->count > 0 ? first : 0, x->rank, x->dims, step, x->rank, x->dims);
}
""",
)
kernel(
    "pad_rows",
    "const $T *X, $T *Y, Pads w",
    """
/* element i of the padded array */
int64_t rest = i, at = 0;
int inside = 1;
for (int d = w.rank - 1; d >= 0; --d) {
  int64_t j = rest % w.out[d] - w.before[d], size = w.in[d];
  rest /= w.out[d];
  if (w.mode == 1 && (j < 0 || j >= size)) { /* reflect */
    j = j < 0 ? -j : 2 * (size - 1) - j;
  } else if (w.mode == 2) { /* edge */
    j = j < 0 ? 0 : j >= size ? size - 1 : j;
  } else if (w.mode == 3) { /* circular */
    j = (j % size + size) % size;
  }
  inside = inside && j >= 0 && j < size;
  at += j * w.step[d];
}
Y[i] = inside ? X[at] : ($T)w.value;
""",
)
function(
    "Pads",
    """
typedef struct {
  int64_t in[RANK], out[RANK], before[RANK], step[RANK];
  int rank, mode;
  double value;
} Pads;
""",
)
function(
    "pad",
    """
/* pairs: what is put before and behind each of the axes from `first` on. */
static int pad_$S(Ctx *c, const Value *x, Value *y, int first, int n, const int64_t *pairs,
                  int mode, double value) {
  Value t;
  Pads w;
  TRY(need(x, $E));
  CHECK(first >= 0 && first + n <= x->rank, BAD_SHAPE);
  memset(&w, 0, sizeof w);
  w.rank = x->rank;
  w.mode = mode;
  w.value = value;
  for (int i = 0; i < x->rank; ++i) {
    int64_t a = 0, b = 0, size = x->dims[i];
    if (i >= first && i < first + n) {
      a = pairs[2 * (i - first)];
      b = pairs[2 * (i - first) + 1];
    }
    CHECK(a > -MOST && a < MOST && b > -MOST && b < MOST, BAD_SHAPE);
    CHECK(mode != 1 || (a < size && b < size) || (a <= 0 && b <= 0), BAD_SHAPE);
    CHECK(mode == 0 || size > 0 || (a == 0 && b == 0), BAD_SHAPE);
    CHECK(mode != 3 || (a <= size && b <= size), BAD_SHAPE);
    w.in[i] = size;
    w.before[i] = a;
    w.out[i] = size + a + b;
    CHECK(w.out[i] >= 0, BAD_SHAPE);
    w.step[i] = product(x->dims, i + 1, x->rank);
  }
  TRY(make(c, &t, $E, x->rank, w.out, x->data != NULL));
  if (t.data) pad_rows_$S(t.count, (const $T *)x->data, ($T *)t.data, w);
  return put(c, y, &t);
}
""",
)
kernel(
    "roll_at",
    "const $T *X, $T *Y, Pads w",
    """
int64_t rest = i, at = 0;
for (int d = w.rank - 1; d >= 0; --d) {
  int64_t j = rest % w.in[d] - w.before[d];
  rest /= w.in[d];
  at += (j < 0 ? j + w.in[d] : j) * w.step[d];
}
Y[i] = X[at];
""",
)
function(
    "roll",
    """
static int roll_$S(Ctx *c, const Value *x, Value *y, int n, const int64_t *shifts, int axes,
                   const int64_t *along) {
  Value t;
  Pads w;
  TRY(need(x, $E));
  memset(&w, 0, sizeof w);
  w.rank = axes == 0 ? 1 : x->rank;
  CHECK(axes == 0 ? n == 1 : n == axes, BAD_SHAPE);
  for (int i = 0; i < w.rank; ++i) {
    w.in[i] = axes == 0 ? x->count : x->dims[i];
    w.step[i] = axes == 0 ? 1 : product(x->dims, i + 1, x->rank);
  }
  for (int i = 0; i < n; ++i) {
    int at = 0;
    if (axes) TRY(axis_of(along[i], x->rank, &at));
    if (w.in[at] > 0) {
      w.before[at] = ((w.before[at] + shifts[i]) % w.in[at] + w.in[at]) % w.in[at];
    }
  }
  TRY(make(c, &t, $E, x->rank, x->dims, x->data != NULL));
  if (t.data) roll_at_$S(t.count, (const $T *)x->data, ($T *)t.data, w);
  return put(c, y, &t);
}
""",
)
kernel(
    "triangle_rows",
    "const $T *X, $T *Y, int64_t rows, int64_t columns, int64_t diagonal, int lower",
    """
for (int64_t j = 0; j < columns; ++j) {
  int64_t d = j - i % rows;
  Y[i * columns + j] = (lower ? d <= diagonal : d >= diagonal) ? X[i * columns + j] : 0;
}
""",
)
function(
    "tril_triu",
    """
static int tril_triu_$S(Ctx *c, const Value *x, Value *y, int64_t diagonal, int lower) {
  Value t;
  TRY(need(x, $E));
  CHECK(x->rank >= 2, BAD_SHAPE);
  TRY(make(c, &t, $E, x->rank, x->dims, x->data != NULL));
  if (t.data && t.count > 0) {
    int64_t n = x->dims[x->rank - 1];
    triangle_rows_$S(t.count / n, (const $T *)x->data, ($T *)t.data, x->dims[x->rank - 2], n,
                     diagonal, lower);
  }
  return put(c, y, &t);
}
""",
)
