"""Recurrent cells: each step multiplies the states of all sequences that have a row there."""

from dygraph.codegen.registry import function

function(
    "act",
    """
static inline $T act_$S(int how, $T x) { /* Fluid's numbers */
  return how == 1 ? Sigmoid_$S(x) : how == 2 ? Tanh_$S(x) : how == 3 ? (x < 0 ? 0 : x) : x;
}
""",
)
function(
    "Steps",
    """
typedef struct { /* rows of n sequences: offsets, or padded [longest, n] with or without lengths */
  int64_t n, longest, rows;
  const int64_t *offsets, *lengths;
} Steps;
static inline int64_t step_count(const Steps *r, int64_t s) {
  if (r->offsets) return r->offsets[s + 1] - r->offsets[s];
  return r->lengths ? r->lengths[s] : r->longest;
}
static inline int64_t step_row(const Steps *r, int64_t s, int64_t t) {
  return r->offsets ? r->offsets[s] + t : t * r->n + s;
}
""",
)
function(
    "StepWeight",
    """
typedef struct { /* a weight [k, n] that every step multiplies with; strides of rows and columns */
  int64_t k, n, row, column;
  const $T *data;
  $T *panels; /* a copy in the order of use, or null */
  int64_t *at;
} StepWeight_$S;
""",
)
function(
    "step_weight",
    """
/* What the copy takes; it pays from some rows on. */
static int64_t step_bytes_$S(int64_t k, int64_t n, int64_t rows) {
#ifdef LANES_$S
  int64_t wide = 2 * LANES_$S;
  return rows < 8 ? 0 : 8 * k + (n + wide - 1) / wide * wide * k * (int64_t)sizeof($T);
#else
  (void)k, (void)n, (void)rows;
  return 0;
#endif
}
static StepWeight_$S step_weight_$S(const $T *data, int64_t k, int64_t n, int64_t row,
                                    int64_t column, int64_t rows, void *room) {
  StepWeight_$S w;
  memset(&w, 0, sizeof w);
  w.k = k;
  w.n = n;
  w.row = row;
  w.column = column;
  w.data = data;
  if (step_bytes_$S(k, n, rows) == 0) return w;
#ifdef LANES_$S
  w.at = (int64_t *)room;
  w.panels = ($T *)(void *)(w.at + k);
  for (int64_t p = 0; p < k; ++p) w.at[p] = p * 2 * LANES_$S;
  for (int64_t j = 0; j < n; j += 2 * LANES_$S) {
    for (int64_t q = 0; q < 2 * LANES_$S; ++q) {
      const $T *from = data + (j + q) * column;
      $T *to = w.panels + j * k + q;
      for (int64_t p = 0; p < k; ++p) to[p * 2 * LANES_$S] = j + q < n ? from[p * row] : 0;
    }
  }
#else
  (void)room;
#endif
  return w;
}
""",
)
function(
    "step_product",
    """
/* c += a w for m rows of a, which lie one behind the other. */
static void step_product_$S(const StepWeight_$S *w, int64_t m, const $T *a, $T *c, int64_t ldc) {
  int64_t k = w->k, n = w->n;
#ifdef LANES_$S
  for (int64_t j = 0; w->panels && j < n; j += 2 * LANES_$S) {
    block_$S(m, n - j, k, 1, a, k, 1, w->panels + j * k, w->at, 1, c + j, ldc);
  }
  if (w->panels) return;
#endif
  for (int64_t i = 0; i < m; ++i) {
#ifndef ORDERED
    for (int64_t j = 0; w->column != 1 && j < n; ++j) {
      c[i * ldc + j] += dot_$S(k, a + i * k, 1, w->data + j * w->column, w->row);
    }
    if (w->column != 1) continue;
#endif
    for (int64_t j = 0; j < n; j += 64) {
      int64_t wide = n - j < 64 ? n - j : 64;
      $T sum[64];
      for (int64_t q = 0; q < wide; ++q) sum[q] = 0;
      for (int64_t p = 0; p < k; ++p) {
        const $T *from = w->data + p * w->row + j * w->column;
        $T x = a[i * k + p];
        for (int64_t q = 0; q < wide; ++q) sum[q] = $MAD(x, from[q * w->column], sum[q]);
      }
      for (int64_t q = 0; q < wide; ++q) c[i * ldc + j + q] += sum[q];
    }
  }
}
""",
)
function(
    "Cell",
    """
typedef struct {
  Steps steps;
  int64_t d;                               /* width */
  int place[4], act[3], reverse, original; /* i, f, g, o; of gates, candidate, cell */
  int64_t h_stride;
  $T cell_clip, proj_clip;
  int proj_act;
  int64_t p; /* of the projection, 0: none */
  StepWeight_$S weight, second; /* second: of the candidate, or the projection */
  const $T *bias, *q_bias, *peephole, *h0, *c0;
  $T *gates, *h, *c, *last_h, *last_c;
  int64_t *alive; /* sequences that have a row at this step: n numbers */
  $T *room;       /* n (8 d + 2 p) numbers */
} Cell_$S;
""",
)
function(
    "cell_room",
    """
/* Memory for n sequences of d numbers, with projections to p. */
static int cell_room_$S(Ctx *c, int64_t n, int64_t d, int64_t p, int32_t *node, Cell_$S *k) {
  void *room;
  CHECK(d + p < (1 << 28) && n < MOST / (8 * d + 2 * p + 1), BAD_SHAPE);
  TRY(take(c, n * 8 + n * (8 * d + 2 * p) * (int64_t)sizeof($T), 0, node, &room));
  k->alive = (int64_t *)room;
  k->room = c->dry ? NULL : ($T *)(void *)(k->alive + n);
  return PREFIX_OK;
}
/* The sequences that have a row at step t, and how many; inputs go to a, states to h. */
static int64_t step_begin_$S(const Cell_$S *k, int64_t t, int64_t width, $T *a, const $T *states,
                             int64_t p, $T *h) {
  int64_t m = 0;
  for (int64_t s = 0; s < k->steps.n; ++s) {
    int64_t count = step_count(&k->steps, s), row;
    if (t >= count) continue;
    row = step_row(&k->steps, s, k->reverse ? count - 1 - t : t);
    memcpy(a + m * width, k->gates + row * width, (size_t)width * sizeof($T));
    memcpy(h + m * p, states + s * p, (size_t)p * sizeof($T));
    k->alive[m++] = s;
  }
  return m;
}
static void step_end_$S(const Cell_$S *k, int64_t t, int64_t m, const $T *now, int64_t p,
                        $T *states) {
  for (int64_t i = 0; i < m; ++i) {
    int64_t s = k->alive[i], count = step_count(&k->steps, s);
    int64_t row = step_row(&k->steps, s, k->reverse ? count - 1 - t : t);
    memcpy(states + s * p, now + i * p, (size_t)p * sizeof($T));
    memcpy(k->h + row * k->h_stride, now + i * p, (size_t)p * sizeof($T));
  }
}
static void first_states_$S(int64_t count, const $T *given, $T *states) {
  for (int64_t i = 0; i < count; ++i) states[i] = given ? given[i] : 0;
}
""",
)
function(
    "lstm_gates",
    """
/* One row of the usual LSTM: sigmoid, tanh, tanh, and nothing else. */
static void lstm_gates_$S(int64_t d, const $T *RESTRICT ai, const $T *RESTRICT af,
                          const $T *RESTRICT ag, const $T *RESTRICT ao, const $T *RESTRICT bi,
                          const $T *RESTRICT bf, const $T *RESTRICT bg, const $T *RESTRICT bo,
                          $T *RESTRICT c, $T *RESTRICT h) {
  for (int64_t j = 0; j < d; ++j) {
    $T i = Sigmoid_$S(ai[j] + bi[j]), f = Sigmoid_$S(af[j] + bf[j]);
    $T g = Tanh_$S(ag[j] + bg[j]), o = Sigmoid_$S(ao[j] + bo[j]), now = $MAD(f, c[j], i * g);
    c[j] = now;
    h[j] = o * Tanh_$S(now);
  }
}
""",
)
function(
    "lstm_cell",
    """
static void lstm_cell_$S(const Cell_$S *k) {
  int64_t d = k->d, p = k->p ? k->p : d, n = k->steps.n, m;
  int64_t in = k->place[0] * d, fo = k->place[1] * d, ca = k->place[2] * d, ou = k->place[3] * d;
  $T *h = k->room, *c = h + n * p, *before = c + n * d, *a = before + n * p, *now = a + n * 4 * d;
  int usual = !k->peephole && !(k->cell_clip > 0) && k->act[0] == 1 && k->act[1] == 2 &&
              k->act[2] == 2;
  first_states_$S(n * p, k->h0, h);
  first_states_$S(n * d, k->c0, c);
  for (int64_t t = 0; (m = step_begin_$S(k, t, 4 * d, a, h, p, before)) > 0; ++t) {
    if (t > 0 || k->h0) step_product_$S(&k->weight, m, before, a, 4 * d);
    for (int64_t r = 0; r < m; ++r) {
      int64_t s = k->alive[r], count = step_count(&k->steps, s);
      const $T *row = a + r * 4 * d, *b = k->bias;
      $T *cell = c + s * d, *to = now + r * d;
      if (usual) {
        lstm_gates_$S(d, row + in, row + fo, row + ca, row + ou, b + in, b + fo, b + ca, b + ou,
                      cell, to);
      }
      for (int64_t j = 0; !usual && j < d; ++j) {
        $T i = row[in + j] + b[in + j], f = row[fo + j] + b[fo + j];
        $T g = act_$S(k->act[1], row[ca + j] + b[ca + j]), o = row[ou + j] + b[ou + j];
        if (k->peephole) {
          i = $MAD(k->peephole[j], cell[j], i);
          f = $MAD(k->peephole[d + j], cell[j], f);
        }
        cell[j] = $MAD(act_$S(k->act[0], f), cell[j], act_$S(k->act[0], i) * g);
        if (k->cell_clip > 0) cell[j] = Clamp_$S(cell[j], -k->cell_clip, k->cell_clip);
        if (k->peephole) o = $MAD(k->peephole[2 * d + j], cell[j], o);
        to[j] = act_$S(k->act[0], o) * act_$S(k->act[2], cell[j]);
      }
      if (k->c) {
        int64_t place = step_row(&k->steps, s, k->reverse ? count - 1 - t : t);
        memcpy(k->c + place * d, cell, (size_t)d * sizeof($T));
      }
    }
    if (k->p) {
      for (int64_t i = 0; i < m * p; ++i) before[i] = 0;
      step_product_$S(&k->second, m, now, before, p);
      for (int64_t i = 0; i < m * p; ++i) {
        before[i] = act_$S(k->proj_act, before[i]);
        if (k->proj_clip > 0) before[i] = Clamp_$S(before[i], -k->proj_clip, k->proj_clip);
      }
    }
    step_end_$S(k, t, m, k->p ? before : now, p, h);
  }
  if (k->last_h) memcpy(k->last_h, h, (size_t)(n * p) * sizeof($T));
  if (k->last_c) memcpy(k->last_c, c, (size_t)(n * d) * sizeof($T));
}
""",
)
function(
    "gru_cell",
    """
static void gru_cell_$S(const Cell_$S *k) { /* weight: [d, 2 d] for u, r, then [d, d] for m */
  int64_t d = k->d, n = k->steps.n, m;
  $T *h = k->room, *before = h + n * d, *a = before + n * d, *reset = a + n * 3 * d;
  first_states_$S(n * d, k->h0, h);
  for (int64_t t = 0; (m = step_begin_$S(k, t, 3 * d, a, h, d, before)) > 0; ++t) {
    for (int64_t r = 0; k->bias && r < m; ++r) {
      for (int64_t j = 0; j < 3 * d; ++j) a[r * 3 * d + j] += k->bias[j];
    }
    step_product_$S(&k->weight, m, before, a, 3 * d);
    for (int64_t r = 0; r < m; ++r) {
      $T *row = a + r * 3 * d;
      for (int64_t j = 0; j < 2 * d; ++j) row[j] = act_$S(k->act[0], row[j]);
      for (int64_t j = 0; j < d; ++j) reset[r * d + j] = row[d + j] * before[r * d + j];
    }
    step_product_$S(&k->second, m, reset, a + 2 * d, 3 * d);
    for (int64_t r = 0; r < m; ++r) {
      $T *row = a + r * 3 * d, *to = before + r * d;
      for (int64_t j = 0; j < d; ++j) {
        $T most = act_$S(k->act[1], row[2 * d + j]), change = most - to[j];
        to[j] = k->original ? $MAD(-row[j], change, most) : $MAD(row[j], change, to[j]);
      }
    }
    step_end_$S(k, t, m, before, d, h);
  }
}
""",
)
function(
    "late_gru_cell",
    """
static void late_gru_cell_$S(const Cell_$S *k) { /* gates r, z, m; the reset behind the product */
  int64_t d = k->d, n = k->steps.n, m;
  $T *h = k->room, *before = h + n * d, *a = before + n * d, *from = a + n * 3 * d;
  const $T *b = k->bias;
  first_states_$S(n * d, k->h0, h);
  for (int64_t t = 0; (m = step_begin_$S(k, t, 3 * d, a, h, d, before)) > 0; ++t) {
    for (int64_t i = 0; i < m * 3 * d; ++i) from[i] = 0;
    step_product_$S(&k->weight, m, before, from, 3 * d);
    for (int64_t r = 0; r < m; ++r) {
      const $T *RESTRICT x = a + r * 3 * d, *RESTRICT q = from + r * 3 * d;
      $T *RESTRICT to = before + r * d;
      for (int64_t j = 0; j < d; ++j) {
        $T reset = Sigmoid_$S(x[j] + b[j] + q[j]), z = Sigmoid_$S(x[d + j] + b[d + j] + q[d + j]);
        $T made = Tanh_$S($MAD(reset, q[2 * d + j] + k->q_bias[j], x[2 * d + j] + b[2 * d + j]));
        to[j] = $MAD(z, to[j] - made, made);
      }
    }
    step_end_$S(k, t, m, before, d, h);
  }
  if (k->last_h) memcpy(k->last_h, h, (size_t)(n * d) * sizeof($T));
}
""",
)
function(
    "simple_cell",
    """
static void simple_cell_$S(const Cell_$S *k) {
  int64_t d = k->d, n = k->steps.n, m;
  $T *h = k->room, *before = h + n * d, *a = before + n * d;
  first_states_$S(n * d, k->h0, h);
  for (int64_t t = 0; (m = step_begin_$S(k, t, d, a, h, d, before)) > 0; ++t) {
    step_product_$S(&k->weight, m, before, a, d);
    for (int64_t i = 0; i < m * d; ++i) a[i] = act_$S(k->act[0], a[i] + k->bias[i % d]);
    step_end_$S(k, t, m, a, d, h);
  }
  if (k->last_h) memcpy(k->last_h, h, (size_t)(n * d) * sizeof($T));
}
""",
)
