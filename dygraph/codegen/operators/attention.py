"""Attention: softmax(scale Q K^T + mask) V, a row of scores at a time."""

from dygraph.codegen.emitter import double
from dygraph.codegen.operators.linear import floats
from dygraph.codegen.registry import ON_CUDA, SUFFIX, function, kernel, operator

function(
    "Heads",
    """
typedef struct {
  int64_t heads, queries, keys, q_row, k_row, v_row, o_row, width, value_width;
  int64_t q_matrix, k_matrix, v_matrix, o_matrix, batch;
  int64_t mask_step[4]; /* of batch, head, query, key */
  const int64_t *q_at, *k_at; /* offsets of sequences */
  int causal, tiled;
  double scale;
} Heads;
""",
)
function(
    "attention_step",
    """
static int64_t attention_step(int64_t queries, int64_t keys) { /* rows of scores at a time */
  int64_t step = 65536 / (keys > 1 ? keys : 1), least = queries < 8 ? queries : 8;
  step = step < least ? least : step;
  return step > queries ? queries : step;
}
""",
)
function(
    "attention_rows",
    """
static void attention_rows_$S(int64_t n, const $T *Q, const $T *K, const $T *V, $T *O,
                              const $T *Added, const uint8_t *Seen, $T *Room, Heads h) {
  for (int64_t i = 0; i < n; ++i) { /* matrix i: one head of one batch or sequence */
    int64_t head = i % h.heads, b = i / h.heads, queries = h.queries, keys = h.keys, step;
    const $T *q = Q + b * h.q_matrix + head * h.width, *k = K + b * h.k_matrix + head * h.width;
    const $T *v = V + b * h.v_matrix + head * h.value_width;
    $T *o = O + b * h.o_matrix + head * h.value_width;
    if (h.q_at) {
      queries = h.q_at[b + 1] - h.q_at[b];
      keys = h.k_at[b + 1] - h.k_at[b];
      q = Q + h.q_at[b] * h.q_row + head * h.width;
      k = K + h.k_at[b] * h.k_row + head * h.width;
      v = V + h.k_at[b] * h.v_row + head * h.value_width;
      o = O + h.q_at[b] * h.o_row + head * h.value_width;
    }
    step = attention_step(queries, keys);
    for (int64_t first = 0; first < queries; first += step) {
      int64_t rows = queries - first < step ? queries - first : step;
      gemm_$S(rows, keys, h.width, ($T)h.scale, q + first * h.q_row, h.q_row, 1, k, 1, h.k_row,
              Room, keys);
      for (int64_t r = 0; r < rows; ++r) {
        int64_t at = b * h.mask_step[0] + head * h.mask_step[1] + (first + r) * h.mask_step[2];
        $T *score = Room + r * keys, away, sum;
        for (int64_t j = 0; Seen && j < keys; ++j) {
          score[j] = Seen[at + j * h.mask_step[3]] ? score[j] : -INFINITY;
        }
        for (int64_t j = 0; Added && j < keys; ++j) {
          $T more = Added[at + j * h.mask_step[3]];
          score[j] = more <= ($T)-1e30 ? -INFINITY : score[j] + more;
        }
        for (int64_t j = first + r + 1; h.causal && j < keys; ++j) score[j] = -INFINITY;
        away = keys > 0 ? RowMax_$S(score, keys) : -INFINITY;
        if ((Seen || Added) && away == -INFINITY) away = 0;
        for (int64_t j = 0; j < keys; ++j) score[j] = Exp_$S(score[j] - away);
        sum = RowSum_$S(score, keys);
        sum = sum == 0 ? 0 : 1 / sum;
        for (int64_t j = 0; j < keys; ++j) score[j] *= sum;
      }
      gemm_$S(rows, h.value_width, keys, 1, Room, keys, 1, v, h.v_row, 1, o + first * h.o_row,
              h.o_row);
    }
  }
}
""",
)
kernel(
    "attention_rows" + ON_CUDA,
    "const $T *Q, const $T *K, const $T *V, $T *O, const $T *Added, const uint8_t *Seen, "
    "$T *Room, Heads h",
    """
/* matrix i: one head of one batch or sequence */
int64_t head = i % h.heads, b = i / h.heads, queries = h.queries, keys = h.keys, used = 0;
const $T *q = Q + b * h.q_matrix + head * h.width, *k = K + b * h.k_matrix + head * h.width;
const $T *v = V + b * h.v_matrix + head * h.value_width;
$T *o = O + b * h.o_matrix + head * h.value_width, *score = Room + i * h.keys;
if (h.q_at) {
  queries = h.q_at[b + 1] - h.q_at[b];
  keys = h.k_at[b + 1] - h.k_at[b];
  q = Q + h.q_at[b] * h.q_row + head * h.width;
  k = K + h.k_at[b] * h.k_row + head * h.width;
  v = V + h.k_at[b] * h.v_row + head * h.value_width;
  o = O + h.q_at[b] * h.o_row + head * h.value_width;
}
for (int64_t r = 0; r < queries; ++r, q += h.q_row, o += h.o_row) {
  int64_t at = b * h.mask_step[0] + head * h.mask_step[1] + r * h.mask_step[2];
  $T most = -INFINITY, sum = 0;
  used = h.causal && r + 1 < keys ? r + 1 : keys;
  for (int64_t j = 0; j < used; ++j) {
    const $T *row = k + j * h.k_row;
    int64_t m = at + j * h.mask_step[3];
    $T lane[16], dot;
    int64_t d = 0;
    for (int l = 0; l < 16; ++l) lane[l] = 0;
    for (; d + 16 <= h.width; d += 16) {
      for (int l = 0; l < 16; ++l) lane[l] += q[d + l] * row[d + l];
    }
    for (int l = 0; l < 8; ++l) lane[l] += lane[l + 8];
    for (int l = 0; l < 4; ++l) lane[l] += lane[l + 4];
    dot = (lane[0] + lane[2]) + (lane[1] + lane[3]);
    for (; d < h.width; ++d) dot += q[d] * row[d];
    dot *= ($T)h.scale;
    if (Added) dot += Added[m];
    if ((Seen && !Seen[m]) || (Added && Added[m] <= ($T)-1e30)) dot = -INFINITY;
    score[j] = dot;
    most = dot > most ? dot : most;
  }
  for (int64_t d = 0; d < h.value_width; ++d) o[d] = 0;
  if (most == -INFINITY) continue;
  for (int64_t j = 0; j < used; ++j) {
    score[j] = ExpBelowZero_$S(score[j] - most);
    sum += score[j];
  }
  sum = 1 / sum;
  for (int64_t j = 0; j < used; ++j) {
    const $T *row = v + j * h.v_row;
    $T weight = score[j] * sum;
    for (int64_t d = 0; d < h.value_width; ++d) o[d] += weight * row[d];
  }
}
""",
)
function(
    "attention",
    """
static int attention_$S(Ctx *c, const Value *q, const Value *k, const Value *v, const Value *mask,
                        Value *out, int64_t heads, double scale, int causal) {
  Value t;
  Heads h;
  int64_t dims[RANK], longest_q, longest_k, step;
  int rank = q->rank, split = heads > 0;
  int32_t node;
  void *room;
  TRY(need(q, $E));
  TRY(need(k, $E));
  TRY(need(v, $E));
  memset(&h, 0, sizeof h);
  CHECK(rank >= 2 && k->rank == rank && v->rank == rank && (!split || rank <= 3), BAD_SHAPE);
  heads = split ? heads : 1;
  for (int i = 0; i < rank; ++i) dims[i] = q->dims[i];
  for (int i = 0; i + 2 < rank; ++i) {
    CHECK(q->dims[i] == k->dims[i] && q->dims[i] == v->dims[i], BAD_SHAPE);
  }
  CHECK(q->dims[rank - 1] == k->dims[rank - 1], BAD_SHAPE);
  CHECK(k->dims[rank - 2] == v->dims[rank - 2], BAD_SHAPE);
  CHECK(q->dims[rank - 1] % heads == 0 && v->dims[rank - 1] % heads == 0, BAD_SHAPE);
  h.batch = product(q->dims, 0, rank - 2);
  h.heads = heads;
  h.queries = longest_q = q->dims[rank - 2];
  h.keys = longest_k = k->dims[rank - 2];
  h.q_row = h.k_row = q->dims[rank - 1];
  h.v_row = h.o_row = v->dims[rank - 1];
  h.width = h.q_row / heads;
  h.value_width = h.v_row / heads;
  h.q_matrix = h.queries * h.q_row;
  h.k_matrix = h.keys * h.k_row;
  h.v_matrix = h.keys * h.v_row;
  h.o_matrix = h.queries * h.o_row;
  h.causal = causal;
  h.scale = scale != 0 ? scale : 1 / sqrt((double)h.width);
  if (rank == 2 && (q->lod || k->lod || v->lod)) {
    int64_t n, m;
    TRY(last_level(q, &h.q_at, &n));
    TRY(last_level(k, &h.k_at, &m));
    CHECK(n == m, BAD_LOD);
    h.batch = n;
    longest_q = longest_k = 0;
    for (int64_t s = 0; s < n; ++s) {
      int64_t a = h.q_at[s + 1] - h.q_at[s], b = h.k_at[s + 1] - h.k_at[s];
      longest_q = a > longest_q ? a : longest_q;
      longest_k = b > longest_k ? b : longest_k;
    }
    h.keys = longest_k;
  }
  if (mask) { /* axes: leading ones, heads, queries, keys, from the last on */
    int64_t wanted[RANK + 2], step = 1;
    int n = 0, first;
    CHECK(mask->set && (mask->type == B8 || mask->type == $E), BAD_TYPE);
    for (int i = 0; i + 2 < rank; ++i) wanted[n++] = q->dims[i];
    if (split) wanted[n++] = heads;
    wanted[n++] = longest_q;
    wanted[n++] = longest_k;
    CHECK(mask->rank <= n, BAD_SHAPE);
    first = n - mask->rank;
    for (int i = mask->rank - 1; i >= 0; --i) {
      int64_t size = mask->dims[i];
      int at = i + first;
      CHECK(size == 1 || size == wanted[at], BAD_SHAPE);
      if (size != 1) {
        if (at == n - 1) {
          h.mask_step[3] = step;
        } else if (at == n - 2) {
          h.mask_step[2] = step;
        } else if (split && at == n - 3) {
          h.mask_step[1] = step;
        } else { /* leading axes: one step serves if only one of them, or all, are there */
          int64_t below = product(mask->dims, i + 1, mask->rank);
          CHECK(at == n - (split ? 4 : 3) || h.mask_step[0] == below, BAD_SHAPE);
          if (h.mask_step[0] == 0) h.mask_step[0] = step;
        }
      }
      step *= size;
    }
    /* several leading axes: all of the mask's or none */
    if (!split && rank > 3) {
      int64_t leading = 1;
      for (int i = 0; i < mask->rank - 2; ++i) leading *= mask->dims[i];
      if (leading == 1) {
        h.mask_step[0] = 0;
      } else if (leading == h.batch) {
        h.mask_step[0] = product(mask->dims, mask->rank - 2, mask->rank);
      } else { /* repeated along some of them: the heads take the last one */
        CHECK(rank == 4 && mask->rank >= 3, BAD_SHAPE);
        h.heads = q->dims[1];
        h.batch = q->dims[0];
        h.mask_step[1] = mask->dims[mask->rank - 3] == 1
                             ? 0
                             : product(mask->dims, mask->rank - 2, mask->rank);
        h.mask_step[0] = mask->rank == 4 && mask->dims[0] != 1
                             ? product(mask->dims, 1, mask->rank)
                             : 0;
        h.tiled = 1;
      }
    }
  }
  dims[rank - 1] = h.v_row;
  TRY(make(c, &t, $E, rank, dims, q->data && k->data && v->data));
  if (h.tiled) { /* heads as matrices */
    CHECK(h.heads < (1 << 20), BAD_SHAPE);
  }
  CHECK(h.keys == 0 || h.batch * h.heads <= MOST / h.keys, BAD_SHAPE);
#ifdef __CUDACC__
  step = h.batch * h.heads;
#else
  step = attention_step(longest_q, longest_k);
  if (h.q_at) step = longest_k > 8192 ? 8 : 65536 / (longest_k > 1 ? longest_k : 1);
#endif
  TRY(take(c, step * h.keys * (int64_t)sizeof($T), 0, &node, &room));
  if (t.data && !c->dry && t.count > 0) {
    Heads one = h;
    int64_t times = h.tiled ? h.batch : 1;
    for (int64_t b = 0; b < times; ++b) {
      int64_t at = b * h.heads, shift = b * h.mask_step[0];
      if (h.tiled) {
        one.batch = h.heads;
        one.heads = 1;
        one.mask_step[0] = h.mask_step[1];
        one.mask_step[1] = 0;
      }
      if (!h.tiled) at = shift = 0;
      attention_rows_$S(one.batch * one.heads, (const $T *)q->data + at * h.q_matrix,
                        (const $T *)k->data + at * h.k_matrix,
                        (const $T *)v->data + at * h.v_matrix, ($T *)t.data + at * h.o_matrix,
                        mask && mask->type == $E ? (const $T *)mask->data + shift : NULL,
                        mask && mask->type == B8 ? (const uint8_t *)mask->data + shift : NULL,
                        ($T *)room, one);
    }
  } else if (t.count > 0) {
    t.data = NULL;
  }
  give(c, node);
  return put(c, out, &t);
}
""",
)


def _float64(e, call):
    """Products of float64 take panels by their sizes."""
    return "of float64" if call.input("Query").dtype == "float64" else None


@operator("scaled_dot_product_attention", exact=_float64)
def attention(e, call):
    q, k, v = (call.input(s) for s in ("Query", "Key", "Value"))
    mask, out = call.optional("Mask"), call.output("Out")
    dtype = floats(call, q, k, v)
    if call.attr("dropout_prob") > 0 and not call.attr("is_test"):
        call.refuse("with dropout in training")
    e.call(f"attention_{SUFFIX[dtype]}", *map(e.ref, (q, k, v, mask, out)), call.attr("num_heads"),
           double(call.attr("scale")), int(call.attr("is_causal")))  # fmt: skip
    e.set_type(out, dtype)
