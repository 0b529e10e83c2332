"""What the operators of sequence.py call: rows of sequences."""

from dygraph.codegen.registry import function, kernel

function(
    "last_level",
    """
static int last_level(const Value *x, const int64_t **at, int64_t *n) {
  TRY(need_any(x));
  CHECK(x->lod && x->rank > 0, BAD_LOD);
  *at = x->lod->offsets[x->lod->levels - 1];
  *n = x->lod->counts[x->lod->levels - 1] - 1;
  CHECK((*at)[*n] == x->dims[0], BAD_LOD);
  return PREFIX_OK;
}
""",
)
function(
    "lod_above",
    """
/* The levels of x above its last one and, where count >= 0, a new last one of so many sequences,
   whose offsets the caller fills; NULL for none. */
static int lod_above(Ctx *c, const Value *x, int64_t count, Lod **made) {
  int64_t counts[LEVELS + 1];
  int levels = x->lod ? x->lod->levels - 1 : 0, all = levels + (count >= 0);
  *made = NULL;
  CHECK(all <= LEVELS, BAD_LOD);
  if (all == 0) return PREFIX_OK;
  for (int i = 0; i < levels; ++i) counts[i] = x->lod->counts[i];
  counts[levels] = count + 1;
  TRY(new_lod(c, all, counts, made));
  for (int i = 0; i < levels; ++i) {
    memcpy((*made)->offsets[i], x->lod->offsets[i], (size_t)counts[i] * 8);
  }
  if (count >= 0) (*made)->offsets[levels][0] = 0;
  return PREFIX_OK;
}
static inline int64_t *new_level(Lod *lod) { return lod->offsets[lod->levels - 1]; }
""",
)
function(
    "check_lod",
    """
static int check_lod(const Lod *lod, int64_t rows) {
  for (int i = 0; i < lod->levels; ++i) {
    const int64_t *at = lod->offsets[i], n = lod->counts[i];
    CHECK(n >= 1 && at[0] == 0, BAD_LOD);
    for (int64_t j = 1; j < n; ++j) CHECK(at[j] >= at[j - 1], BAD_LOD);
    CHECK(at[n - 1] == (i + 1 < lod->levels ? lod->counts[i + 1] - 1 : rows), BAD_LOD);
  }
  return PREFIX_OK;
}
""",
)
function(
    "int_at",
    """
/* Integers of either type; unknown ones stop the search for sizes. */
static int int_at(const Value *x, int64_t i, int64_t *to) {
  TRY(need_any(x));
  CHECK(x->type == I32 || x->type == I64, BAD_TYPE);
  CHECK(i < x->count, BAD_SHAPE);
  CHECK(x->data, DEPENDS);
  *to = x->type == I32 ? ((const int32_t *)x->data)[i] : ((const int64_t *)x->data)[i];
  return PREFIX_OK;
}
""",
)
function(
    "rows_like",
    """
/* `rows` rows of the shape of those of x. */
static int rows_like(Ctx *c, const Value *x, int64_t rows, Value *t) {
  int64_t dims[RANK];
  CHECK(x->rank > 0, BAD_SHAPE);
  for (int i = 1; i < x->rank; ++i) dims[i] = x->dims[i];
  dims[0] = rows;
  return make(c, t, x->type, x->rank, dims, x->data != NULL);
}
""",
)
function(
    "copy_rows",
    """
static void copy_rows(const Value *x, int64_t from, int64_t rows, int64_t width, Value *t,
                      int64_t to) {
  int64_t n = width * kSizes[x->type];
  if (!t->data || rows <= 0 || n == 0) return;
  memcpy((char *)t->data + to * n, (const char *)x->data + from * n, (size_t)(rows * n));
}
""",
)
function(
    "sequence_pool",
    """
static int sequence_pool_$S(Ctx *c, const Value *x, Value *y, Value *index, int how, $T pad) {
  Value t, at;
  const int64_t *offsets;
  int64_t n, width;
  Lod *lod;
  TRY(need(x, $E));
  TRY(last_level(x, &offsets, &n));
  width = product(x->dims, 1, x->rank);
  TRY(rows_like(c, x, n, &t));
  if (index) TRY(make(c, &at, I32, x->rank, t.dims, x->data != NULL));
  TRY(lod_above(c, x, -1, &lod));
  t.lod = lod;
  for (int64_t s = 0; t.data && s < n; ++s) {
    const $T *from = (const $T *)x->data;
    $T *to = ($T *)t.data + s * width;
    int64_t begin = offsets[s], end = offsets[s + 1];
    int32_t *best_at = index && at.data ? (int32_t *)at.data + s * width : NULL;
    $T weight = 1;
    if (begin == end) {
      for (int64_t j = 0; j < width; ++j) {
        to[j] = pad;
        if (best_at) best_at[j] = -1;
      }
      continue;
    }
    if (how == 3) {
      for (int64_t j = 0; j < width; ++j) {
        int64_t best = begin;
        for (int64_t r = begin + 1; r < end; ++r) {
          $T v = from[r * width + j], top = from[best * width + j];
          if (v > top || (v != v && top == top)) best = r;
        }
        to[j] = from[best * width + j];
        if (best_at) best_at[j] = (int32_t)best;
      }
      continue;
    }
    if (how == 0) weight = 1 / ($T)(end - begin);
    if (how == 2) weight = 1 / Sqrt_$S(($T)(end - begin));
    if (how == 4) end = begin + 1;
    if (how == 5) begin = end - 1;
    for (int64_t j = 0; j < width; ++j) to[j] = 0;
    for (int64_t r = begin; r < end; ++r) {
      for (int64_t j = 0; j < width; ++j) to[j] += from[r * width + j];
    }
    for (int64_t j = 0; j < width; ++j) to[j] *= weight;
  }
  TRY(put(c, y, &t));
  return index ? put(c, index, &at) : PREFIX_OK;
}
""",
)
kernel(
    "sequence_softmax_rows",
    "const $T *X, $T *Y, int64_t length",
    """
$T top = X[i], sum = 0;
for (int64_t j = 0; j < length; ++j) top = X[j * n + i] > top ? X[j * n + i] : top;
for (int64_t j = 0; j < length; ++j) sum += Y[j * n + i] = Exp_$S(X[j * n + i] - top);
for (int64_t j = 0; j < length; ++j) Y[j * n + i] /= sum;
""",
)
function(
    "sequence_softmax",
    """
static int sequence_softmax_$S(Ctx *c, const Value *x, Value *y) {
  Value t;
  const int64_t *offsets;
  int64_t n, width;
  TRY(need(x, $E));
  TRY(last_level(x, &offsets, &n));
  width = product(x->dims, 1, x->rank);
  TRY(make(c, &t, $E, x->rank, x->dims, x->data != NULL));
  for (int64_t s = 0; t.data && s < n; ++s) {
    int64_t length = offsets[s + 1] - offsets[s], at = offsets[s] * width;
    if (length > 0) {
      sequence_softmax_rows_$S(width, (const $T *)x->data + at, ($T *)t.data + at, length);
    }
  }
  t.lod = x->lod;
  ++NODE(x->lod->node).users;
  return put(c, y, &t);
}
""",
)
function(
    "sequence_expand",
    """
static int sequence_expand(Ctx *c, const Value *x, const Value *y, Value *out, int level, int as) {
  Value t;
  const int64_t *times, *own = NULL;
  int64_t n, rows = 0, seen = 0, made = 0, width;
  Lod *lod = NULL;
  TRY(need_any(x));
  TRY(need_any(y));
  CHECK(y->lod && x->rank > 0, BAD_LOD);
  level = level < 0 ? y->lod->levels - 1 : level;
  CHECK(level < y->lod->levels, BAD_LOD);
  times = y->lod->offsets[level];
  n = y->lod->counts[level] - 1;
  if (x->lod && !as) {
    CHECK(x->lod->levels == 1 && x->lod->counts[0] - 1 == n, BAD_LOD);
    own = x->lod->offsets[0];
  } else {
    CHECK(x->dims[0] == n, BAD_LOD);
  }
  width = product(x->dims, 1, x->rank);
  for (int64_t s = 0; s < n; ++s) {
    int64_t length = own ? own[s + 1] - own[s] : 1, by = times[s + 1] - times[s];
    CHECK(length == 0 || by <= (MOST - rows) / length, BAD_SHAPE);
    rows += by * length;
    seen += by;
  }
  if (own) {
    int64_t count = seen + 1;
    TRY(new_lod(c, 1, &count, &lod));
    lod->offsets[0][0] = 0;
  }
  TRY(rows_like(c, x, rows, &t));
  rows = 0;
  for (int64_t s = 0; s < n; ++s) {
    int64_t from = own ? own[s] : s, length = own ? own[s + 1] - own[s] : 1;
    for (int64_t k = times[s]; k < times[s + 1]; ++k) {
      copy_rows(x, from, length, width, &t, rows);
      rows += length;
      if (lod) lod->offsets[0][++made] = rows;
    }
  }
  t.lod = lod;
  if (as) {
    t.lod = y->lod;
    ++NODE(y->lod->node).users;
  }
  return put(c, out, &t);
}
""",
)
function(
    "sequence_reverse",
    """
static int sequence_reverse(Ctx *c, const Value *x, Value *y) {
  Value t;
  const int64_t *offsets;
  int64_t n, width;
  TRY(last_level(x, &offsets, &n));
  width = product(x->dims, 1, x->rank);
  TRY(rows_like(c, x, x->dims[0], &t));
  for (int64_t s = 0; s < n; ++s) {
    for (int64_t r = offsets[s]; r < offsets[s + 1]; ++r) {
      copy_rows(x, r, 1, width, &t, offsets[s] + offsets[s + 1] - 1 - r);
    }
  }
  t.lod = x->lod;
  ++NODE(x->lod->node).users;
  return put(c, y, &t);
}
""",
)
function(
    "sequence_concat",
    """
static int sequence_concat(Ctx *c, const int32_t *from, int parts, Value *y) {
  Value t;
  const Value *x = c->v + from[0];
  const int64_t *offsets;
  int64_t n, count, rows = 0, width, at = 0, *joined;
  Lod *lod;
  TRY(last_level(x, &offsets, &n));
  for (int i = 0; i < parts; ++i) {
    const Value *p = c->v + from[i];
    TRY(need(p, x->type));
    TRY(last_level(p, &offsets, &count));
    CHECK(count == n && p->rank == x->rank, BAD_LOD);
    for (int d = 1; d < x->rank; ++d) CHECK(p->dims[d] == x->dims[d], BAD_SHAPE);
    rows += p->dims[0];
  }
  width = product(x->dims, 1, x->rank);
  TRY(rows_like(c, x, rows, &t));
  for (int i = 0; i < parts; ++i) {
    if (!c->v[from[i]].data) t.data = NULL;
  }
  TRY(lod_above(c, x, n, &lod));
  joined = new_level(lod);
  for (int64_t s = 0; s < n; ++s) {
    for (int i = 0; i < parts; ++i) {
      const Value *p = c->v + from[i];
      int64_t length;
      TRY(last_level(p, &offsets, &count));
      length = offsets[s + 1] - offsets[s];
      copy_rows(p, offsets[s], length, width, &t, at);
      at += length;
    }
    joined[s + 1] = at;
  }
  t.lod = lod;
  return put(c, y, &t);
}
""",
)
function(
    "sequence_pad",
    """
static int sequence_pad(Ctx *c, const Value *x, const Value *pad, Value *y, Value *lengths,
                        int64_t asked) {
  Value t, l;
  const int64_t *offsets;
  int64_t n, width, longest = 0, dims[RANK + 1];
  TRY(last_level(x, &offsets, &n));
  TRY(need(pad, x->type));
  width = product(x->dims, 1, x->rank);
  CHECK(pad->count == 1 || pad->count == width, BAD_SHAPE);
  for (int64_t s = 0; s < n; ++s) {
    int64_t length = offsets[s + 1] - offsets[s];
    longest = length > longest ? length : longest;
  }
  CHECK(asked < 0 || asked >= longest, BAD_SHAPE);
  longest = asked < 0 ? longest : asked;
  dims[0] = n;
  dims[1] = longest;
  for (int i = 1; i < x->rank; ++i) dims[i + 1] = x->dims[i];
  TRY(make(c, &t, x->type, x->rank + 1, dims, x->data && pad->data));
  TRY(make(c, &l, I64, 1, &n, 1));
  for (int64_t s = 0; s < n; ++s) {
    int64_t length = offsets[s + 1] - offsets[s], size = kSizes[x->type];
    if (l.data) ((int64_t *)l.data)[s] = length;
    copy_rows(x, offsets[s], length, width, &t, s * longest);
    for (int64_t i = length * width; t.data && i < longest * width; ++i) {
      memcpy((char *)t.data + (s * longest * width + i) * size,
             (const char *)pad->data + (pad->count == 1 ? 0 : i % width) * size, (size_t)size);
    }
  }
  TRY(put(c, y, &t));
  if (lengths) return put(c, lengths, &l);
  drop(c, &l);
  return PREFIX_OK;
}
""",
)
function(
    "sequence_unpad",
    """
static int sequence_unpad(Ctx *c, const Value *x, const Value *lengths, Value *y) {
  Value t;
  int64_t n, longest, width, rows = 0, dims[RANK], length;
  Lod *lod;
  TRY(need_any(x));
  TRY(need_any(lengths));
  CHECK(x->rank >= 2 && lengths->count == x->dims[0], BAD_SHAPE);
  n = x->dims[0];
  longest = x->dims[1];
  width = product(x->dims, 2, x->rank);
  TRY(new_lod(c, 1, (dims[0] = n + 1, dims), &lod));
  lod->offsets[0][0] = 0;
  for (int64_t s = 0; s < n; ++s) {
    TRY(int_at(lengths, s, &length));
    CHECK(length >= 0 && length <= longest, BAD_INDEX);
    lod->offsets[0][s + 1] = rows += length;
  }
  dims[0] = rows;
  dims[1] = 1;
  for (int i = 2; i < x->rank; ++i) dims[i - 1] = x->dims[i];
  TRY(make(c, &t, x->type, x->rank == 2 ? 2 : x->rank - 1, dims, x->data != NULL));
  for (int64_t s = 0; s < n; ++s) {
    int64_t from = lod->offsets[0][s];
    copy_rows(x, s * longest, lod->offsets[0][s + 1] - from, width, &t, from);
  }
  t.lod = lod;
  return put(c, y, &t);
}
""",
)
function(
    "sequence_slice",
    """
static int sequence_slice(Ctx *c, const Value *x, const Value *first, const Value *count,
                          Value *y) {
  Value t;
  const int64_t *offsets;
  int64_t n, from, length, *kept;
  Lod *lod;
  TRY(last_level(x, &offsets, &n));
  CHECK(first->count == n && count->count == n, BAD_SHAPE);
  TRY(lod_above(c, x, n, &lod));
  kept = new_level(lod);
  for (int64_t s = 0; s < n; ++s) {
    int64_t all = offsets[s + 1] - offsets[s];
    TRY(int_at(first, s, &from));
    TRY(int_at(count, s, &length));
    CHECK(from >= 0 && from <= all && length >= 0 && length <= all - from, BAD_INDEX);
    kept[s + 1] = kept[s] + length;
  }
  TRY(rows_like(c, x, kept[n], &t));
  for (int64_t s = 0; s < n; ++s) {
    TRY(int_at(first, s, &from));
    copy_rows(x, offsets[s] + from, kept[s + 1] - kept[s], product(x->dims, 1, x->rank), &t,
              kept[s]);
  }
  t.lod = lod;
  return put(c, y, &t);
}
""",
)
function(
    "sequence_reshape",
    """
static int sequence_reshape(Ctx *c, const Value *x, Value *y, int64_t width) {
  const int64_t *offsets;
  int64_t n, dims[2], *scaled;
  Lod *lod;
  TRY(last_level(x, &offsets, &n));
  CHECK(x->rank == 2 && width > 0, BAD_SHAPE);
  TRY(lod_above(c, x, n, &lod));
  scaled = new_level(lod);
  for (int64_t s = 0; s < n; ++s) {
    int64_t numbers = (offsets[s + 1] - offsets[s]) * x->dims[1];
    CHECK(numbers % width == 0, BAD_SHAPE);
    scaled[s + 1] = scaled[s] + numbers / width;
  }
  dims[0] = x->count / width;
  dims[1] = width;
  TRY(alias(c, x, y, 2, dims));
  y->lod = lod;
  return PREFIX_OK;
}
""",
)
function(
    "lod_reset",
    """
/* x with the levels of y, or with the one level `offsets`; `append`: below those of x. */
static int lod_reset(Ctx *c, const Value *x, const Value *y, Value *out, int n,
                     const int64_t *offsets, int append) {
  int64_t counts[2 * LEVELS], number;
  int own, fresh = 1, holds = 0;
  Lod *lod = NULL;
  const Lod *from = NULL;
  TRY(need_any(x));
  CHECK(x->rank > 0, BAD_SHAPE);
  own = append && x->lod ? x->lod->levels : 0;
  if (y) {
    TRY(need_any(y));
    holds = !y->lod && (y->type == I32 || y->type == I64);
    from = y->lod;
    fresh = holds ? 1 : from ? from->levels : 0;
  }
  CHECK(own + fresh <= LEVELS, BAD_LOD);
  if (own + fresh > 0) {
    for (int i = 0; i < own; ++i) counts[i] = x->lod->counts[i];
    for (int i = 0; i < fresh; ++i) counts[own + i] = from ? from->counts[i] : holds ? y->count : n;
    TRY(new_lod(c, own + fresh, counts, &lod));
    for (int i = 0; i < own; ++i) {
      memcpy(lod->offsets[i], x->lod->offsets[i], (size_t)counts[i] * 8);
    }
    for (int i = 0; i < fresh; ++i) {
      for (int64_t j = 0; j < counts[own + i]; ++j) {
        if (holds) {
          TRY(int_at(y, j, &number));
        } else {
          number = from ? from->offsets[i][j] : offsets[j];
        }
        lod->offsets[own + i][j] = number;
      }
    }
    TRY(check_lod(lod, x->dims[0]));
  }
  if (x == out) {
    drop_lod(c, out);
  } else {
    TRY(alias(c, x, out, x->rank, x->dims));
  }
  out->lod = lod;
  return PREFIX_OK;
}
""",
)
function(
    "sequence_conv",
    """
static int sequence_conv_$S(Ctx *c, const Value *x, const Value *f, const Value *padding, Value *y,
                            int64_t start, int64_t length, int trainable) {
  Value t;
  const int64_t *offsets;
  int64_t n, width, rows, up, down, dims[2];
  int32_t node;
  void *room;
  TRY(need(x, $E));
  TRY(need(f, $E));
  TRY(last_level(x, &offsets, &n));
  CHECK(x->rank == 2 && f->rank == 2 && length > 0 && length < (1 << 20), BAD_SHAPE);
  CHECK(start > -(1 << 20) && start < (1 << 20), BAD_SHAPE);
  rows = x->dims[0];
  width = x->dims[1];
  CHECK(f->dims[0] == length * width, BAD_SHAPE);
  up = start < 0 ? -start : 0;
  down = start + length - 1 > 0 ? start + length - 1 : 0;
  if (trainable) {
    CHECK(padding != NULL, BAD_SHAPE);
    TRY(need(padding, $E));
    CHECK(padding->rank == 2 && padding->dims[0] == up + down && padding->dims[1] == width,
          BAD_SHAPE);
  }
  dims[0] = rows;
  dims[1] = f->dims[1];
  TRY(make(c, &t, $E, 2, dims, x->data && f->data && (!trainable || padding->data)));
  CHECK(f->dims[0] == 0 || rows <= MOST / f->dims[0], BAD_SHAPE);
  TRY(take(c, rows * f->dims[0] * (int64_t)sizeof($T), 1, &node, &room));
  if (t.data && room && !c->dry) {
    $T *to = ($T *)room;
    const $T *from = (const $T *)x->data;
    for (int64_t s = 0; s < n; ++s) {
      for (int64_t r = offsets[s]; r < offsets[s + 1]; ++r) {
        for (int64_t k = 0; k < length; ++k, to += width) {
          int64_t at = r + start + k;
          const $T *row = NULL;
          if (at >= offsets[s] && at < offsets[s + 1]) {
            row = from + at * width;
          } else if (trainable) {
            int64_t p = at < offsets[s] ? up + at - offsets[s] : up + at - offsets[s + 1];
            row = (const $T *)padding->data + p * width;
          }
          for (int64_t j = 0; j < width; ++j) to[j] = row ? row[j] : 0;
        }
      }
    }
    gemm_$S(rows, dims[1], f->dims[0], 1, (const $T *)room, f->dims[0], 1, (const $T *)f->data,
            dims[1], 1, ($T *)t.data, dims[1]);
  } else {
    t.data = c->dry ? NULL : t.data;
  }
  give(c, node);
  t.lod = x->lod;
  ++NODE(x->lod->node).users;
  return put(c, y, &t);
}
""",
)
