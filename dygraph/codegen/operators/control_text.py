"""What the operators of control.py call: handles, arrays, rank tables, steps."""

from dygraph.codegen.registry import function

function(
    "go_on",
    """
/* Whether the one bool of a condition is true. */
static int go_on(const Value *x, int *yes) {
  TRY(need(x, B8));
  CHECK(x->count == 1, BAD_SHAPE);
  CHECK(x->data, DEPENDS);
  *yes = *(const uint8_t *)x->data != 0;
  return PREFIX_OK;
}
""",
)
function(
    "number_of",
    """
static int number_of(const Value *x, int64_t below, int64_t *to) {
  TRY(need_any(x));
  CHECK(x->count == 1, BAD_SHAPE);
  TRY(int_at(x, 0, to));
  CHECK(*to >= 0 && *to < below, BAD_INDEX);
  return PREFIX_OK;
}
""",
)
function(
    "share",
    """
/* `y` becomes another handle of the same value, levels of detail and elements included. */
static int share(Ctx *c, const Value *x, Value *y) {
  Value t = *x;
  CHECK(x->set, UNSET);
  if (x == y) return PREFIX_OK;
  if (t.node) ++NODE(t.node).users;
  if (t.lod) ++NODE(t.lod->node).users;
  return put(c, y, &t);
}
""",
)
function(
    "array_room",
    """
/* `v` is an array of its own, of at least n elements. */
static int array_room(Ctx *c, Value *v, int type, int64_t n) {
  Value t;
  int64_t room, count = v->set ? v->count : 0;
  int32_t node;
  void *data;
  CHECK(!v->set || (v->kind == ARRAY && v->type == type), BAD_TYPE);
  CHECK(n < (1 << 20), BAD_INDEX);
  if (v->set && NODE(v->node).users == 1 && n * (int64_t)sizeof(Value) <= NODE(v->node).bytes) {
    if (n > count) {
      memset((Value *)v->data + count, 0, (size_t)(n - count) * sizeof(Value));
      v->count = n;
    }
    return PREFIX_OK;
  }
  n = n > count ? n : count;
  room = n < 8 ? 8 : 2 * n;
  TRY(take(c, room * (int64_t)sizeof(Value), 1, &node, &data));
  CHECK(data, DEPENDS);
  memset(data, 0, (size_t)n * sizeof(Value));
  for (int64_t i = 0; i < count; ++i) {
    const Value *e = (const Value *)v->data + i;
    if (e->set) TRY(share(c, e, (Value *)data + i));
  }
  memset(&t, 0, sizeof t);
  t.set = 1;
  t.kind = ARRAY;
  t.type = (unsigned char)type;
  t.node = node;
  t.count = n;
  t.data = data;
  return put(c, v, &t);
}
""",
)
function(
    "array_write",
    """
static int array_write(Ctx *c, const Value *x, const Value *i, const Value *before, Value *out) {
  int64_t at;
  TRY(need_any(x));
  TRY(number_of(i, 1 << 20, &at));
  if (before) TRY(share(c, before, out));
  TRY(array_room(c, out, x->type, at + 1));
  return share(c, x, (Value *)out->data + at);
}
""",
)
function(
    "array_read",
    """
static int array_read(Ctx *c, const Value *x, const Value *i, Value *out) {
  int64_t at;
  CHECK(x->set, UNSET);
  CHECK(x->kind == ARRAY, BAD_TYPE);
  TRY(number_of(i, x->count, &at));
  return share(c, (const Value *)x->data + at, out);
}
""",
)
function(
    "array_length",
    """
static int array_length(Ctx *c, const Value *x, Value *out) {
  Value t;
  int64_t one = 1;
  CHECK(!x->set || x->kind == ARRAY, BAD_TYPE);
  TRY(make(c, &t, I64, 1, &one, 1));
  if (t.data) *(int64_t *)t.data = x->set ? x->count : 0;
  return put(c, out, &t);
}
""",
)
function(
    "array_join",
    """
/* The elements joined along an axis, or stacked along a new one; their sizes along it. */
static int array_join(Ctx *c, const Value *x, int64_t where, int fresh, Value *out, Value *sizes) {
  Value t, n;
  const Value *e = (const Value *)x->data;
  int64_t dims[RANK + 1], outer, inner, at = 0, row;
  int axis, rank, known = 1;
  CHECK(x->set && x->kind == ARRAY && x->count > 0, UNSET);
  for (int64_t i = 0; i < x->count; ++i) CHECK(e[i].set && e[i].rank == e[0].rank, BAD_SHAPE);
  rank = e[0].rank + fresh;
  CHECK(rank <= RANK, BAD_SHAPE);
  TRY(axis_of(where, rank, &axis));
  for (int d = 0, k = 0; d < rank; ++d) dims[d] = fresh && d == axis ? x->count : e[0].dims[k++];
  if (!fresh) dims[axis] = 0;
  for (int64_t i = 0; i < x->count; ++i) {
    for (int d = 0; d < e[0].rank; ++d) {
      CHECK(e[i].dims[d] == e[0].dims[d] || (!fresh && d == axis), BAD_SHAPE);
    }
    if (!fresh) dims[axis] += e[i].dims[axis];
    known = known && e[i].data;
  }
  TRY(make(c, &t, x->type, rank, dims, known));
  TRY(make(c, &n, I32, 1, &x->count, 1));
  outer = product(dims, 0, axis);
  inner = product(dims, axis + 1, rank) * kSizes[x->type];
  row = dims[axis] * inner;
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t size = fresh ? 1 : e[i].dims[axis], bytes = size * inner;
    if (n.data) ((int32_t *)n.data)[i] = axis < e[i].rank ? (int32_t)e[i].dims[axis] : 1;
    for (int64_t o = 0; t.data && bytes > 0 && o < outer; ++o) {
      memcpy((char *)t.data + o * row + at, (const char *)e[i].data + o * bytes, (size_t)bytes);
    }
    at += bytes;
  }
  TRY(put(c, out, &t));
  if (sizes) return put(c, sizes, &n);
  drop(c, &n);
  return PREFIX_OK;
}
""",
)
function(
    "rank_table",
    """
/* [2, n]: numbers of the sequences, longest first, and their lengths. */
static int rank_table(Ctx *c, const Value *x, Value *out, int level) {
  Value t;
  int64_t n, *at;
  const int64_t *offsets;
  TRY(need_any(x));
  CHECK(x->lod && level < x->lod->levels, BAD_LOD);
  offsets = x->lod->offsets[level];
  n = x->lod->counts[level] - 1;
  n *= 2;
  TRY(make(c, &t, I64, 1, &n, 1));
  CHECK(t.data, DEPENDS);
  n /= 2;
  at = (int64_t *)t.data;
  for (int64_t s = 0; s < n; ++s) { /* stable: equal ones stay in their order */
    int64_t length = offsets[s + 1] - offsets[s], p = s;
    while (p > 0 && at[n + p - 1] < length) {
      at[p] = at[p - 1];
      at[n + p] = at[n + p - 1];
      --p;
    }
    at[p] = s;
    at[n + p] = length;
  }
  t.kind = TABLE;
  t.count = n;
  return put(c, out, &t);
}
static int table_of(const Value *x, int64_t *n, const int64_t **order, const int64_t **lengths) {
  CHECK(x->set, UNSET);
  CHECK(x->kind == TABLE, BAD_TYPE);
  *n = x->count;
  *order = (const int64_t *)x->data;
  *lengths = *order + *n;
  return PREFIX_OK;
}
static int64_t alive(const int64_t *lengths, int64_t n, int64_t t) {
  int64_t count = 0;
  while (count < n && lengths[count] > t) ++count;
  return count;
}
""",
)
function(
    "longest",
    """
static int longest(Ctx *c, const Value *table, Value *out) {
  Value t;
  int64_t n, one = 1;
  const int64_t *order, *lengths;
  TRY(table_of(table, &n, &order, &lengths));
  TRY(make(c, &t, I64, 1, &one, 1));
  if (t.data) *(int64_t *)t.data = n > 0 ? lengths[0] : 0;
  return put(c, out, &t);
}
""",
)
function(
    "to_steps",
    """
/* Element t: row t of every sequence that has one, longest sequences first. */
static int to_steps(Ctx *c, const Value *x, const Value *table, Value *out) {
  Value made;
  int64_t n, width, steps;
  const int64_t *order, *lengths, *offsets;
  TRY(table_of(table, &n, &order, &lengths));
  TRY(need_any(x));
  CHECK(x->lod && x->lod->levels == 1 && x->lod->counts[0] - 1 == n, BAD_LOD);
  offsets = x->lod->offsets[0];
  for (int64_t s = 0; s < n; ++s) {
    CHECK(offsets[order[s] + 1] - offsets[order[s]] == lengths[s], BAD_LOD);
  }
  width = product(x->dims, 1, x->rank);
  steps = n > 0 ? lengths[0] : 0;
  memset(&made, 0, sizeof made);
  TRY(array_room(c, &made, x->type, steps));
  for (int64_t t = 0; t < steps; ++t) {
    Value e;
    int64_t rows = alive(lengths, n, t);
    TRY(rows_like(c, x, rows, &e));
    for (int64_t s = 0; s < rows; ++s) copy_rows(x, offsets[order[s]] + t, 1, width, &e, s);
    ((Value *)made.data)[t] = e;
  }
  return put(c, out, &made);
}
""",
)
function(
    "from_steps",
    """
static int from_steps(Ctx *c, const Value *x, const Value *table, Value *out) {
  Value t;
  Lod *lod;
  int64_t n, width, rows = 0, counts;
  const int64_t *order, *lengths;
  const Value *e;
  TRY(table_of(table, &n, &order, &lengths));
  CHECK(x->set, UNSET);
  CHECK(x->kind == ARRAY && n > 0 && x->count >= lengths[0] && lengths[0] > 0, BAD_SHAPE);
  e = (const Value *)x->data;
  for (int64_t s = 0; s < n; ++s) rows += lengths[s];
  for (int64_t i = 0; i < lengths[0]; ++i) {
    CHECK(e[i].set, UNSET);
    CHECK(e[i].rank > 0 && e[i].rank == e[0].rank && !e[i].lod, BAD_LOD);
    CHECK(e[i].dims[0] == alive(lengths, n, i), BAD_SHAPE);
    for (int d = 1; d < e[0].rank; ++d) CHECK(e[i].dims[d] == e[0].dims[d], BAD_SHAPE);
  }
  width = product(e[0].dims, 1, e[0].rank);
  counts = n + 1;
  TRY(new_lod(c, 1, &counts, &lod));
  lod->offsets[0][0] = 0;
  for (int64_t s = 0; s < n; ++s) lod->offsets[0][order[s] + 1] = lengths[s];
  for (int64_t s = 0; s < n; ++s) lod->offsets[0][s + 1] += lod->offsets[0][s];
  TRY(rows_like(c, e, rows, &t));
  for (int64_t s = 0; s < n; ++s) {
    for (int64_t i = 0; i < lengths[s]; ++i) {
      copy_rows(e + i, s, 1, width, &t, lod->offsets[0][order[s]] + i);
    }
  }
  t.lod = lod;
  return put(c, out, &t);
}
""",
)
function(
    "shrink",
    """
/* The rows of sequences that are longer than step i. */
static int shrink(Ctx *c, const Value *x, const Value *i, const Value *table, Value *out) {
  Value t;
  int64_t n, step, rows;
  const int64_t *order, *lengths;
  TRY(table_of(table, &n, &order, &lengths));
  TRY(need_any(x));
  TRY(number_of(i, MOST, &step));
  rows = alive(lengths, n, step);
  CHECK(x->rank > 0 && rows <= x->dims[0] && !x->lod, BAD_SHAPE);
  TRY(rows_like(c, x, rows, &t));
  copy_rows(x, 0, rows, product(x->dims, 1, x->rank), &t, 0);
  return put(c, out, &t);
}
""",
)
function(
    "by_rank",
    """
static int by_rank(Ctx *c, const Value *x, const Value *table, Value *out) {
  Value t;
  Lod *lod = NULL;
  int64_t n, width, at = 0, counts;
  const int64_t *order, *lengths, *offsets = NULL;
  TRY(table_of(table, &n, &order, &lengths));
  TRY(need_any(x));
  CHECK(x->rank > 0, BAD_SHAPE);
  if (x->lod) {
    CHECK(x->lod->levels == 1 && x->lod->counts[0] - 1 == n, BAD_LOD);
    offsets = x->lod->offsets[0];
    counts = n + 1;
    TRY(new_lod(c, 1, &counts, &lod));
    lod->offsets[0][0] = 0;
  } else {
    CHECK(x->dims[0] == n, BAD_SHAPE);
  }
  width = product(x->dims, 1, x->rank);
  TRY(rows_like(c, x, x->dims[0], &t));
  for (int64_t s = 0; s < n; ++s) {
    int64_t from = offsets ? offsets[order[s]] : order[s];
    int64_t length = offsets ? offsets[order[s] + 1] - from : 1;
    copy_rows(x, from, length, width, &t, at);
    at += length;
    if (lod) lod->offsets[0][s + 1] = at;
  }
  t.lod = lod;
  return put(c, out, &t);
}
""",
)
function(
    "step_of",
    """
/* Element t of the first axis, for a step of a recurrent block. */
static int step_of(Ctx *c, const Value *x, int64_t t, Value *out) {
  Value e;
  int64_t dims[RANK], n;
  TRY(need_any(x));
  CHECK(x->rank > 0 && t >= 0 && t < x->dims[0], BAD_SHAPE);
  for (int i = 1; i < x->rank; ++i) dims[i - 1] = x->dims[i];
  n = product(x->dims, 1, x->rank);
  TRY(make(c, &e, x->type, x->rank - 1, dims, x->data != NULL));
  copy_rows(x, t, 1, n, &e, 0);
  return put(c, out, &e);
}
/* Step t of `steps` is x; the first call makes the whole. */
static int keep_step(Ctx *c, const Value *x, int first, int64_t t, int64_t steps, Value *whole) {
  int64_t n;
  TRY(need_any(x));
  CHECK(x->rank < RANK, BAD_SHAPE);
  n = x->count;
  if (first) {
    Value made;
    int64_t dims[RANK];
    dims[0] = steps;
    for (int i = 0; i < x->rank; ++i) dims[i + 1] = x->dims[i];
    TRY(make(c, &made, x->type, x->rank + 1, dims, 0));
    TRY(put(c, whole, &made));
  }
  CHECK(whole->type == x->type && whole->rank == x->rank + 1, BAD_SHAPE);
  for (int i = 0; i < x->rank; ++i) CHECK(whole->dims[i + 1] == x->dims[i], BAD_SHAPE);
  copy_rows(x, 0, 1, n, whole, t);
  return PREFIX_OK;
}
""",
)
