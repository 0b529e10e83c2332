"""What operators on the numbers of sequences call."""

from dygraph.codegen.registry import function

function(
    "sequence_enumerate",
    """
static int sequence_enumerate_$S(Ctx *c, const Value *x, Value *y, int64_t size, $T pad) {
  Value t;
  const int64_t *offsets;
  int64_t n, dims[2], at = 0;
  TRY(need(x, $E));
  TRY(last_level(x, &offsets, &n));
  CHECK(x->count == x->dims[0], BAD_SHAPE);
  dims[0] = x->dims[0];
  dims[1] = size;
  TRY(make(c, &t, $E, 2, dims, x->data != NULL));
  for (int64_t s = 0; t.data && s < n; ++s) {
    for (int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
      for (int64_t k = i; k < i + size; ++k) {
        (($T *)t.data)[at++] = k < offsets[s + 1] ? ((const $T *)x->data)[k] : pad;
      }
    }
  }
  t.lod = x->lod;
  ++NODE(x->lod->node).users;
  return put(c, y, &t);
}
""",
)
function(
    "sequence_erase",
    """
static int sequence_erase_$S(Ctx *c, const Value *x, Value *y, int n_tokens,
                             const int64_t *tokens) {
  Value t;
  const int64_t *offsets;
  const $T *from = (const $T *)x->data;
  int64_t n, at = 0, *kept;
  Lod *lod;
  TRY(need(x, $E));
  TRY(last_level(x, &offsets, &n));
  CHECK(x->count == x->dims[0], BAD_SHAPE);
  CHECK(from || x->count == 0, DEPENDS);
  TRY(lod_above(c, x, n, &lod));
  kept = new_level(lod);
  for (int pass = 0; pass < 2; ++pass) {
    at = 0;
    for (int64_t s = 0; s < n; ++s) {
      for (int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
        int keep = 1;
        for (int j = 0; j < n_tokens; ++j) keep = keep && tokens[j] != (int64_t)from[i];
        if (keep && pass && t.data) (($T *)t.data)[at] = from[i];
        at += keep;
      }
      kept[s + 1] = at;
    }
    if (!pass) TRY(rows_like(c, x, at, &t));
  }
  t.lod = lod;
  return put(c, y, &t);
}
""",
)
function(
    "sequence_mask",
    """
static int sequence_mask_$S_$R(Ctx *c, const Value *x, Value *y, int64_t most) {
  Value t;
  int64_t dims[RANK + 1];
  const $T *d = (const $T *)x->data;
  TRY(need(x, $E));
  CHECK(x->rank < RANK, BAD_SHAPE);
  if (most < 0) {
    double longest = 0;
    CHECK(d || x->count == 0, DEPENDS);
    for (int64_t i = 0; i < x->count; ++i) {
      if ((double)d[i] > longest) longest = (double)d[i];
    }
    CHECK(longest < 1e12, BAD_INDEX);
    most = (int64_t)longest;
  }
  for (int i = 0; i < x->rank; ++i) dims[i] = x->dims[i];
  dims[x->rank] = most;
  TRY(make(c, &t, $V, x->rank + 1, dims, x->data != NULL));
  for (int64_t i = 0; t.data && i < x->count; ++i) {
    double length = ceil((double)d[i]);
    for (int64_t j = 0; j < most; ++j) (($U *)t.data)[i * most + j] = (double)j < length;
  }
  return put(c, y, &t);
}
""",
)
function(
    "sequence_scatter",
    """
static int sequence_scatter_$S_$R(Ctx *c, const Value *x, const Value *ids, const Value *updates,
                                  Value *y) {
  Value t;
  const int64_t *offsets;
  const $U *at = (const $U *)ids->data;
  int64_t n, width;
  TRY(need(x, $E));
  TRY(need(ids, $V));
  TRY(need(updates, $E));
  TRY(last_level(ids, &offsets, &n));
  CHECK(x->rank == 2 && x->dims[0] == n && updates->count == ids->count, BAD_SHAPE);
  width = x->dims[1];
  TRY(checked_$R(ids, 0, width));
  TRY(make(c, &t, $E, 2, x->dims, x->data && ids->data && updates->data));
  if (t.data && t.count > 0) {
    memcpy(t.data, x->data, (size_t)t.count * sizeof($T));
    for (int64_t s = 0; s < n; ++s) {
      for (int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
        (($T *)t.data)[s * width + (int64_t)at[i]] += ((const $T *)updates->data)[i];
      }
    }
  }
  return put(c, y, &t);
}
""",
)
