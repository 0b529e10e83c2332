"""Beam search, and batches that part by a condition and join again."""

from dygraph.codegen.lod import own_lod
from dygraph.codegen.operators.control import array
from dygraph.codegen.operators.linear import floats
from dygraph.codegen.operators.shape import typed
from dygraph.codegen.registry import SUFFIX, function, operator

function(
    "beam_search",
    """
typedef struct {
  int64_t prefix, id;
  $T score;
} Item_$S;
static inline int worse_$S(Item_$S a, Item_$S b) {
  return a.score < b.score || (a.score == b.score && a.prefix < b.prefix);
}
static int keep_$S(Item_$S item, int most, Item_$S *best, int count) {
  int at = 0;
  if (count == most) {
    if (worse_$S(item, best[count - 1])) return count;
    --count;
  }
  while (at < count && !worse_$S(best[at], item)) ++at;
  for (int i = count; i > at; --i) best[i] = best[i - 1];
  best[at] = item;
  return count + 1;
}
static int beam_search_$S(Ctx *c, const Value *pre_ids, const Value *pre_scores, const Value *ids,
                          const Value *scores, Value *to_ids, Value *to_scores, Value *to_parents,
                          int level, int most, int64_t end_id, int accumulated) {
  Value made[3];
  Value *to[3] = {to_ids, to_scores, to_parents};
  Lod *lod, *other;
  Item_$S *items, *all;
  int64_t width, sources, rows, m = 0, dims[2], counts[2], *prefixes;
  int32_t node;
  void *room;
  TRY(need(pre_ids, I64));
  TRY(need(pre_scores, $E));
  TRY(need(scores, $E));
  if (ids) TRY(need(ids, I64));
  CHECK(scores->rank == 2 && scores->lod && level < scores->lod->levels, BAD_LOD);
  CHECK(pre_ids->data && pre_scores->data && scores->data && (!ids || ids->data), DEPENDS);
  rows = scores->dims[0];
  width = scores->dims[1];
  CHECK(pre_ids->count == rows && pre_scores->count == rows, BAD_SHAPE);
  CHECK(!ids || ids->count == scores->count, BAD_SHAPE);
  CHECK(scores->lod->levels - level <= 2, BAD_LOD);
  sources = scores->lod->counts[level] - 1;
  CHECK(sources < (1 << 24) && most > 0 && most < (1 << 20), BAD_SHAPE);
  TRY(take(c, (sources + 1) * most * (int64_t)sizeof(Item_$S), 1, &node, &room));
  CHECK(room, DEPENDS);
  items = all = (Item_$S *)room;
  counts[0] = sources + 1;
  counts[1] = rows + 1;
  TRY(new_lod(c, 2, counts, &lod));
  lod->offsets[0][0] = lod->offsets[1][0] = 0;
  prefixes = lod->offsets[1];
  for (int64_t s = 0; s < sources; ++s) {
    int64_t begin = scores->lod->offsets[level][s], end = scores->lod->offsets[level][s + 1];
    int count = 0, ended = 1, next = 0;
    if (scores->lod->levels - level == 2) {
      begin = scores->lod->offsets[level + 1][begin];
      end = scores->lod->offsets[level + 1][end];
    }
    for (int64_t p = begin; p < end; ++p) {
      Item_$S item;
      item.prefix = p;
      if (((const int64_t *)pre_ids->data)[p] == end_id) {
        item.id = end_id;
        item.score = ((const $T *)pre_scores->data)[p];
        count = keep_$S(item, most, items, count);
        continue;
      }
      for (int64_t d = 0; d < width; ++d) {
        $T score = ((const $T *)scores->data)[p * width + d];
        item.id = ids ? ((const int64_t *)ids->data)[p * width + d] : d;
        item.score = accumulated ? score : ((const $T *)pre_scores->data)[p] + log$m(score);
        count = keep_$S(item, most, items, count);
      }
    }
    for (int i = 0; i < count; ++i) {
      ended = ended && items[i].id == end_id &&
              ((const int64_t *)pre_ids->data)[items[i].prefix] == end_id;
    }
    if (ended) count = 0;
    for (int i = 1; i < count; ++i) { /* by prefix, stable */
      Item_$S item = items[i];
      int at = i;
      while (at > 0 && items[at - 1].prefix > item.prefix) {
        items[at] = items[at - 1];
        --at;
      }
      items[at] = item;
    }
    for (int64_t p = begin; p < end; ++p) {
      while (next < count && items[next].prefix == p) {
        ++next;
        ++m;
      }
      prefixes[p + 1] = m;
    }
    lod->offsets[0][s + 1] = end;
    items += count;
  }
  dims[0] = m;
  dims[1] = 1;
  TRY(make(c, &made[0], I64, 2, dims, 1));
  TRY(make(c, &made[1], $E, 2, dims, 1));
  TRY(make(c, &made[2], I32, 1, dims, 1));
  CHECK(made[0].data && made[1].data && made[2].data, DEPENDS);
  for (int64_t i = 0; i < m; ++i) {
    ((int64_t *)made[0].data)[i] = all[i].id;
    (($T *)made[1].data)[i] = all[i].score;
    ((int32_t *)made[2].data)[i] = (int32_t)all[i].prefix;
  }
  TRY(new_lod(c, 2, counts, &other));
  for (int i = 0; i < 2; ++i) {
    memcpy(other->offsets[i], lod->offsets[i], (size_t)counts[i] * 8);
  }
  made[0].lod = lod;
  made[1].lod = other;
  give(c, node);
  for (int i = 0; i < 3; ++i) {
    if (to[i]) {
      TRY(put(c, to[i], &made[i]));
    } else {
      drop(c, &made[i]);
    }
  }
  return PREFIX_OK;
}
""",
)
function(
    "beam_decode",
    """
/* Walks back from the last step: once to count, once to write. */
static int beam_decode_$S(Ctx *c, const Value *ids, const Value *scores, Value *to_ids,
                          Value *to_scores, int64_t end_id) {
  Value made[2];
  const Value *steps = (const Value *)ids->data, *marks = (const Value *)scores->data;
  Lod *lod, *other;
  int64_t sources, total = 0, sentences = 0, counts[2], n, at = 0;
  int32_t node;
  void *room;
  CHECK(ids->set && ids->kind == ARRAY && scores->set && scores->kind == ARRAY, UNSET);
  CHECK(ids->count > 0 && ids->count == scores->count, BAD_SHAPE);
  CHECK(steps[0].set && steps[0].lod, BAD_LOD);
  sources = steps[0].lod->counts[0] - 1;
  for (int64_t t = 0; t < ids->count; ++t) {
    TRY(need(steps + t, I64));
    TRY(need(marks + t, $E));
    CHECK(steps[t].lod && steps[t].lod->levels == 2 && steps[t].lod->counts[0] - 1 == sources,
          BAD_LOD);
    CHECK(marks[t].count == steps[t].count && steps[t].data && marks[t].data, BAD_SHAPE);
    TRY(check_lod(steps[t].lod, steps[t].count));
    sentences += steps[t].count;
    total += steps[t].count;
  }
  /* a sentence: its source, the step and the row of its end, its words, its first mark */
  TRY(take(c, (sentences + 1) * 5 * 8, 1, &node, &room));
  CHECK(room, DEPENDS);
  n = 0;
  for (int64_t s = 0; s < sources; ++s) {
    int64_t *of = (int64_t *)room + 5 * n, found = 0;
    for (int64_t t = ids->count - 1; t >= 0 && found == 0; --t) {
      const Lod *l = steps[t].lod;
      for (int64_t row = l->offsets[1][l->offsets[0][s]]; row < l->offsets[1][l->offsets[0][s + 1]];
           ++row) {
        of[5 * found] = s;
        of[5 * found + 1] = t;
        of[5 * found + 2] = row;
        ++found;
      }
    }
    for (int64_t i = 1; i < found; ++i) { /* best first, stable */
      int64_t held[5], p = i;
      const $T *mark = (const $T *)marks[of[5 * i + 1]].data;
      memcpy(held, of + 5 * i, sizeof held);
      while (p > 0 && mark[of[5 * (p - 1) + 2]] < mark[held[2]]) {
        memcpy(of + 5 * p, of + 5 * (p - 1), sizeof held);
        --p;
      }
      memcpy(of + 5 * p, held, sizeof held);
    }
    n += found;
  }
  total = 0;
  counts[0] = sources + 1;
  counts[1] = n + 1;
  for (int pass = 0; pass < 2; ++pass) {
    if (pass) {
      TRY(make(c, &made[0], I64, 1, &total, 1));
      TRY(make(c, &made[1], $E, 1, &total, 1));
      CHECK(made[0].data && made[1].data, DEPENDS);
      TRY(new_lod(c, 2, counts, &lod));
      TRY(new_lod(c, 2, counts, &other));
      lod->offsets[0][0] = lod->offsets[1][0] = 0;
      for (int64_t s = 0; s <= sources; ++s) lod->offsets[0][s] = 0;
    }
    for (int64_t i = 0; i < n; ++i) {
      int64_t *of = (int64_t *)room + 5 * i, row = of[2], s = of[0], words = 0;
      if (pass) at = lod->offsets[1][i] + of[3];
      for (int64_t t = of[1]; t >= 0; --t) {
        const Lod *l = steps[t].lod;
        int64_t begin = l->offsets[0][s], end = l->offsets[0][s + 1], id, p = begin;
        CHECK(row >= l->offsets[1][begin] && row < l->offsets[1][end], BAD_LOD);
        id = ((const int64_t *)steps[t].data)[row];
        if (id != end_id || words == 0) {
          ++words;
          if (pass) {
            --at;
            ((int64_t *)made[0].data)[at] = id;
            (($T *)made[1].data)[at] = ((const $T *)marks[t].data)[row];
          }
        }
        while (p + 1 < end && l->offsets[1][p + 1] <= row) ++p;
        row = p;
      }
      of[3] = words;
      if (pass) {
        lod->offsets[1][i + 1] = lod->offsets[1][i] + words;
        lod->offsets[0][s + 1] += 1;
      } else {
        total += words;
      }
    }
  }
  for (int64_t s = 0; s < sources; ++s) lod->offsets[0][s + 1] += lod->offsets[0][s];
  for (int i = 0; i < 2; ++i) memcpy(other->offsets[i], lod->offsets[i], (size_t)counts[i] * 8);
  made[0].lod = lod;
  made[1].lod = other;
  give(c, node);
  TRY(put(c, to_ids, &made[0]));
  return put(c, to_scores, &made[1]);
}
""",
)
function(
    "part",
    """
/* The rows, or sequences of the last level, where the mask is `yes`. */
static int part(Ctx *c, const Value *x, const Value *mask, Value *out, int level, int yes) {
  Value t;
  Lod *lod = NULL;
  const uint8_t *way = (const uint8_t *)mask->data;
  int64_t n, rows = 0, kept = 0, at = 0, width, counts;
  const int64_t *offsets = NULL;
  TRY(need_any(x));
  TRY(need(mask, B8));
  CHECK(x->rank > 0 && (way || mask->count == 0), DEPENDS);
  CHECK(x->lod ? level == x->lod->levels - 1 && level == 0 : level == 0, BAD_LOD);
  n = x->dims[0];
  if (x->lod) TRY(last_level(x, &offsets, &n));
  CHECK(mask->count == n, BAD_SHAPE);
  for (int64_t i = 0; i < n; ++i) {
    if ((way[i] != 0) != yes) continue;
    ++kept;
    rows += offsets ? offsets[i + 1] - offsets[i] : 1;
  }
  counts = kept + 1;
  if (offsets) {
    TRY(new_lod(c, 1, &counts, &lod));
    lod->offsets[0][0] = 0;
  }
  TRY(rows_like(c, x, rows, &t));
  width = product(x->dims, 1, x->rank);
  kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t from = offsets ? offsets[i] : i, length = offsets ? offsets[i + 1] - from : 1;
    if ((way[i] != 0) != yes) continue;
    copy_rows(x, from, length, width, &t, at);
    at += length;
    if (lod) lod->offsets[0][++kept] = at;
  }
  t.lod = lod;
  return put(c, out, &t);
}
""",
)
function(
    "rejoin",
    """
static int rejoin(Ctx *c, const Value *x, const Value *mask, const Value *yes, const Value *no,
                  Value *out, int level) {
  Value t;
  Lod *lod = NULL;
  const Value *ways[2] = {no, yes};
  const uint8_t *way = (const uint8_t *)mask->data;
  int64_t n, next[2] = {0, 0}, at = 0, width, counts;
  const int64_t *offsets[2] = {NULL, NULL}, *own;
  TRY(need_any(x));
  TRY(need(mask, B8));
  CHECK(x->rank > 0 && (way || mask->count == 0), DEPENDS);
  CHECK(level == 0 && (!x->lod || x->lod->levels == 1), BAD_LOD);
  n = x->dims[0];
  if (x->lod) TRY(last_level(x, &own, &n));
  CHECK(mask->count == n, BAD_SHAPE);
  TRY(need(no, yes->type));
  TRY(need(yes, no->type));
  CHECK(yes->rank == no->rank && yes->rank > 0 && !yes->lod == !no->lod, BAD_SHAPE);
  for (int i = 1; i < yes->rank; ++i) CHECK(yes->dims[i] == no->dims[i], BAD_SHAPE);
  for (int k = 0; k < 2; ++k) {
    int64_t count = ways[k]->dims[0], wanted = 0;
    if (ways[k]->lod) {
      CHECK(ways[k]->lod->levels == 1, BAD_LOD);
      TRY(last_level(ways[k], &offsets[k], &count));
    }
    for (int64_t i = 0; i < n; ++i) wanted += (way[i] != 0) == k;
    CHECK(count == wanted, BAD_SHAPE);
  }
  counts = n + 1;
  if (yes->lod) {
    TRY(new_lod(c, 1, &counts, &lod));
    lod->offsets[0][0] = 0;
  }
  TRY(rows_like(c, yes, yes->dims[0] + no->dims[0], &t));
  if (!no->data || !yes->data) t.data = NULL;
  width = product(yes->dims, 1, yes->rank);
  for (int64_t i = 0; i < n; ++i) {
    int k = way[i] != 0;
    int64_t from = offsets[k] ? offsets[k][next[k]] : next[k];
    int64_t length = offsets[k] ? offsets[k][next[k] + 1] - from : 1;
    copy_rows(ways[k], from, length, width, &t, at);
    ++next[k];
    at += length;
    if (lod) lod->offsets[0][i + 1] = at;
  }
  t.lod = lod;
  return put(c, out, &t);
}
""",
)


@operator("beam_search", exact=True)
def beam_search(e, call):
    ids, scores, given = call.input("pre_ids"), call.input("scores"), call.optional("ids")
    dtype = floats(call, scores, call.input("pre_scores"))
    if ids.dtype != "int64" or (given is not None and given.dtype != "int64"):
        call.refuse("ids must be of int64")
    outs = [call.output("selected_ids"), call.output("selected_scores")]
    parents = call.optional_output("parent_idx")
    e.call(f"beam_search_{SUFFIX[dtype]}", e.ref(ids), e.ref(call.input("pre_scores")),
           e.ref(given), e.ref(scores), *map(e.ref, (*outs, parents)), call.attr("level"),
           call.attr("beam_size"), call.attr("end_id"),
           int(call.attr("is_accumulated")))  # fmt: skip
    e.set_type(outs[0], "int64")
    e.set_type(outs[1], dtype)
    if parents is not None:
        e.set_type(parents, "int32")


@operator("beam_search_decode", exact=True)
def beam_search_decode(e, call):
    ids, scores = array(call, call.input("Ids")), array(call, call.input("Scores"))
    outs = call.output("SentenceIds"), call.output("SentenceScores")
    if scores.dtype not in ("float32", "float64"):
        call.refuse(f"scores of {scores.dtype}")
    e.call(f"beam_decode_{SUFFIX[scores.dtype]}", e.ref(ids), e.ref(scores), *map(e.ref, outs),
           call.attr("end_id"))  # fmt: skip
    e.set_type(outs[0], "int64")
    e.set_type(outs[1], scores.dtype)


def _level(call, x):
    if getattr(x.var, "lod_level", 0) > 1 or call.attr("level") != 0:
        call.refuse("of several levels of detail")


@operator("split_lod_tensor", exact=True)
def split_lod_tensor(e, call):
    x, mask = call.input("X"), call.input("Mask")
    typed(call, x)
    _level(call, x)
    outs = [(call.optional_output("OutTrue"), 1), (call.optional_output("OutFalse"), 0)]
    for out, yes in outs:
        if out is not None:
            e.call("part", e.ref(x), e.ref(mask), e.ref(out), call.attr("level"), yes)
            e.set_type(out, x.dtype)


@operator("merge_lod_tensor", "merge_lod_tensor_infer", exact=True)
def merge_lod_tensor(e, call):
    x, mask, out = call.input("X"), call.input("Mask"), call.output("Out")
    yes, no = call.optional("InTrue"), call.optional("InFalse")
    if yes is None or no is None:
        call.refuse("with one way only")
    _level(call, x)
    e.call("rejoin", *map(e.ref, (x, mask, yes, no, out)), call.attr("level"))
    e.set_type(out, yes.dtype)


own_lod("beam_search", "beam_search_decode", "split_lod_tensor", "merge_lod_tensor",
        "merge_lod_tensor_infer")  # fmt: skip
