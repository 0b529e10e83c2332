"""Recurrent layers: LSTM, GRU, simple ones. Their cells stand in recurrent_text.py."""

from dygraph.codegen.emitter import double
from dygraph.codegen.lod import own_lod
from dygraph.codegen.operators.linear import floats
from dygraph.codegen.registry import INTS, SUFFIX, function, kernel, operator

function(
    "lstm",
    """
static int lstm_$S(Ctx *c, const Value *x, const Value *h0, const Value *c0, const Value *w,
                   const Value *proj, const Value *bias, Value *hidden, Value *cell, int peepholes,
                   int reverse, int gate, int candidate, int cell_act, int proj_act,
                   double cell_clip, double proj_clip) {
  Value h, s;
  Cell_$S k;
  int64_t d, p, dims[2];
  int32_t node, first, second;
  void *room, *more;
  memset(&k, 0, sizeof k);
  TRY(need(x, $E));
  TRY(need(w, $E));
  TRY(need(bias, $E));
  TRY(last_level(x, &k.steps.offsets, &k.steps.n));
  CHECK(x->rank == 2 && x->dims[1] > 0 && x->dims[1] % 4 == 0, BAD_SHAPE);
  d = p = x->dims[1] / 4;
  if (proj) {
    TRY(need(proj, $E));
    CHECK(proj->rank == 2 && proj->dims[0] == d && proj->dims[1] > 0, BAD_SHAPE);
    p = k.p = proj->dims[1];
  }
  CHECK(w->rank == 2 && w->dims[0] == p && w->dims[1] == 4 * d, BAD_SHAPE);
  CHECK(bias->count == (peepholes ? 7 : 4) * d && !h0 == !c0, BAD_SHAPE);
  if (h0) {
    TRY(need(h0, $E));
    TRY(need(c0, $E));
    CHECK(h0->count == k.steps.n * p && c0->count == k.steps.n * d, BAD_SHAPE);
    k.h0 = (const $T *)h0->data;
    k.c0 = (const $T *)c0->data;
  }
  dims[0] = x->dims[0];
  dims[1] = p;
  TRY(make(c, &h, $E, 2, dims, 0));
  dims[1] = d;
  TRY(make(c, &s, $E, 2, dims, 0));
  CHECK(d < (1 << 24) && p < (1 << 24), BAD_SHAPE);
  TRY(cell_room_$S(c, k.steps.n, d, p, &node, &k));
  TRY(take(c, step_bytes_$S(p, 4 * d, x->dims[0]), 0, &first, &room));
  TRY(take(c, proj ? step_bytes_$S(d, p, x->dims[0]) : 0, 0, &second, &more));
  if (!c->dry && x->dims[0] > 0) {
    k.d = d;
    k.weight =
        step_weight_$S((const $T *)w->data, p, 4 * d, 4 * d, 1, x->dims[0], room);
    if (proj) k.second = step_weight_$S((const $T *)proj->data, d, p, p, 1, x->dims[0], more);
    k.place[0] = 1;
    k.place[1] = 2;
    k.place[3] = 3;
    k.act[0] = gate;
    k.act[1] = candidate;
    k.act[2] = cell_act;
    k.proj_act = proj_act;
    k.cell_clip = ($T)cell_clip;
    k.proj_clip = ($T)proj_clip;
    k.reverse = reverse;
    k.bias = (const $T *)bias->data;
    k.peephole = peepholes ? k.bias + 4 * d : NULL;
    k.gates = ($T *)x->data;
    k.h = ($T *)h.data;
    k.h_stride = p;
    k.c = ($T *)s.data;
    lstm_cell_$S(&k);
  }
  give(c, node);
  give(c, first);
  give(c, second);
  h.lod = s.lod = x->lod;
  NODE(x->lod->node).users += 2;
  TRY(put(c, hidden, &h));
  if (cell) return put(c, cell, &s);
  drop(c, &s);
  return PREFIX_OK;
}
""",
)
function(
    "gru",
    """
/* Along sequences, or one step from h0 for each row. */
static int gru_$S(Ctx *c, const Value *x, const Value *h0, const Value *w, const Value *bias,
                  Value *hidden, int unit, int reverse, int gate, int candidate, int original) {
  Value h;
  Cell_$S k;
  int64_t d, dims[2];
  int32_t node, first, second;
  void *room, *more;
  memset(&k, 0, sizeof k);
  TRY(need(x, $E));
  TRY(need(w, $E));
  CHECK(x->rank == 2 && x->dims[1] > 0 && x->dims[1] % 3 == 0, BAD_SHAPE);
  if (unit) {
    k.steps.n = x->dims[0];
    k.steps.longest = 1;
  } else {
    TRY(last_level(x, &k.steps.offsets, &k.steps.n));
  }
  d = x->dims[1] / 3;
  CHECK(w->rank == 2 && w->dims[0] == d && w->dims[1] == 3 * d, BAD_SHAPE);
  if (bias) {
    TRY(need(bias, $E));
    CHECK(bias->count == 3 * d, BAD_SHAPE);
    k.bias = (const $T *)bias->data;
  }
  if (h0) {
    TRY(need(h0, $E));
    CHECK(h0->count == k.steps.n * d, BAD_SHAPE);
    k.h0 = (const $T *)h0->data;
  }
  dims[0] = x->dims[0];
  dims[1] = d;
  TRY(make(c, &h, $E, 2, dims, 0));
  CHECK(d < (1 << 24), BAD_SHAPE);
  TRY(cell_room_$S(c, k.steps.n, d, d, &node, &k));
  TRY(take(c, step_bytes_$S(d, 2 * d, x->dims[0]), 0, &first, &room));
  TRY(take(c, step_bytes_$S(d, d, x->dims[0]), 0, &second, &more));
  if (!c->dry && x->dims[0] > 0) {
    const $T *data = (const $T *)w->data;
    k.d = d;
    k.weight = step_weight_$S(data, d, 2 * d, 2 * d, 1, x->dims[0], room);
    k.second = step_weight_$S(data + 2 * d * d, d, d, d, 1, x->dims[0], more);
    k.act[0] = gate;
    k.act[1] = candidate;
    k.original = original;
    k.reverse = reverse;
    k.gates = ($T *)x->data;
    k.h = ($T *)h.data;
    k.h_stride = d;
    gru_cell_$S(&k);
  }
  give(c, node);
  give(c, first);
  give(c, second);
  if (!unit) {
    h.lod = x->lod;
    ++NODE(x->lod->node).users;
  }
  return put(c, hidden, &h);
}
""",
)
kernel(
    "lstm_units",
    "const $T *X, const $T *C, $T *Cells, $T *H, int64_t d, double bias",
    """
const $T *x = X + i * 4 * d, *before = C + i * d;
for (int64_t j = 0; j < d; ++j) {
  $T in = Sigmoid_$S(x[j]), f = Sigmoid_$S(x[d + j] + ($T)bias);
  $T o = Sigmoid_$S(x[2 * d + j]), g = Tanh_$S(x[3 * d + j]);
  $T now = $MAD(f, before[j], in * g);
  Cells[i * d + j] = now;
  H[i * d + j] = o * Tanh_$S(now);
}
""",
)
function(
    "lstm_unit",
    """
static int lstm_unit_$S(Ctx *c, const Value *x, const Value *before, Value *cell, Value *hidden,
                        double bias) {
  Value h, s;
  int64_t d;
  TRY(need(x, $E));
  TRY(need(before, $E));
  CHECK(x->rank == 2 && before->rank == 2 && x->dims[0] == before->dims[0], BAD_SHAPE);
  d = before->dims[1];
  CHECK(x->dims[1] == 4 * d, BAD_SHAPE);
  TRY(make(c, &s, $E, 2, before->dims, x->data && before->data));
  TRY(make(c, &h, $E, 2, before->dims, x->data && before->data));
  if (s.data && h.data) {
    lstm_units_$S(x->dims[0], (const $T *)x->data, (const $T *)before->data, ($T *)s.data,
                  ($T *)h.data, d, bias);
  } else {
    s.data = h.data = NULL;
  }
  TRY(put(c, cell, &s));
  return put(c, hidden, &h);
}
""",
)
function(
    "rnn",
    """
/* mode: 0 LSTM, 1 GRU, 2 tanh, 3 relu; weights as layers and directions follow each other, then
   biases. */
static int rnn_$S(Ctx *c, const Value *x, const Value *lengths, const int32_t *states,
                  const int32_t *weights, Value *out, const int32_t *last, int mode, int layers,
                  int directions, int64_t d) {
  static const int gate_counts[] = {4, 3, 1, 1};
  Value y, ends[2], before;
  Steps steps;
  int64_t gates = gate_counts[mode], dims[3], width, cells = layers * directions, out_width;
  int n_states = mode == 0 ? 2 : 1, padded;
  int32_t proj_node, room_node, bias_node, weight_node, len_node = 0;
  void *proj, *bias_room, *copied, *len_room = NULL;
  int64_t *alive;
  Cell_$S k;
  $T *room;
  TRY(need(x, $E));
  memset(&steps, 0, sizeof steps);
  memset(&before, 0, sizeof before);
  padded = x->rank == 3;
  if (padded) {
    steps.longest = x->dims[0];
    steps.n = x->dims[1];
    if (lengths) {
      TRY(need_any(lengths));
      CHECK(lengths->count == steps.n, BAD_SHAPE);
      TRY(take(c, steps.n * 8, 1, &len_node, &len_room));
      for (int64_t s = 0; !c->dry && s < steps.n; ++s) {
        int64_t count;
        TRY(int_at(lengths, s, &count));
        CHECK(count >= 0 && count <= steps.longest, BAD_INDEX);
        ((int64_t *)len_room)[s] = count;
      }
      steps.lengths = (const int64_t *)len_room;
    }
  } else {
    CHECK(x->rank == 2, BAD_SHAPE);
    TRY(last_level(x, &steps.offsets, &steps.n));
  }
  steps.rows = product(x->dims, 0, x->rank - 1);
  out_width = directions * d;
  for (int i = 0; i < x->rank; ++i) dims[i] = x->dims[i];
  dims[x->rank - 1] = out_width;
  width = x->dims[x->rank - 1];
  CHECK(d > 0 && d < (1 << 24), BAD_SHAPE);
  for (int64_t i = 0; i < 4 * cells; ++i) {
    const Value *w = c->v + weights[i];
    int64_t layer = i / 2 / directions, in = layer == 0 ? width : out_width;
    TRY(need(w, $E));
    CHECK(w->count == (i >= 2 * cells ? gates * d : gates * d * (i % 2 ? d : in)), BAD_SHAPE);
  }
  for (int i = 0; i < n_states; ++i) {
    int64_t shape[3];
    TRY(need(c->v + states[i], $E));
    CHECK(c->v[states[i]].count == cells * steps.n * d, BAD_SHAPE);
    shape[0] = cells;
    shape[1] = steps.n;
    shape[2] = d;
    TRY(make(c, &ends[i], $E, 3, shape, 0));
  }
  CHECK(steps.rows <= MOST / (gates * d), BAD_SHAPE);
  TRY(take(c, steps.rows * gates * d * (int64_t)sizeof($T), 0, &proj_node, &proj));
  memset(&k, 0, sizeof k);
  TRY(cell_room_$S(c, steps.n, d, d, &room_node, &k));
  alive = k.alive;
  room = k.room;
  TRY(take(c, step_bytes_$S(d, gates * d, steps.rows), 0, &weight_node, &copied));
  TRY(take(c, gates * d * (int64_t)sizeof($T), 0, &bias_node, &bias_room));
  for (int layer = 0; layer < layers; ++layer) {
    const $T *in = (const $T *)(layer == 0 ? x->data : before.data);
    TRY(make(c, &y, $E, x->rank, dims, 0));
    if (!c->dry && y.count > 0 && (steps.lengths || !padded)) {
      memset(y.data, 0, (size_t)y.count * sizeof($T));
    }
    for (int way = 0; way < directions && !c->dry; ++way) {
      int64_t cell = layer * directions + way;
      const $T *w_in = (const $T *)c->v[weights[2 * cell]].data;
      const $T *b_in = (const $T *)c->v[weights[2 * cells + 2 * cell]].data;
      const $T *b_h = (const $T *)c->v[weights[2 * cells + 2 * cell + 1]].data;
      $T *bias = ($T *)bias_room;
      memset(&k, 0, sizeof k);
      for (int64_t j = 0; j < gates * d; ++j) {
        bias[j] = b_in[j] + (mode == 1 && j >= 2 * d ? 0 : b_h[j]);
      }
      gemm_$S(steps.rows, gates * d, width, 1, in, width, 1, w_in, 1, width, ($T *)proj, gates * d);
      k.steps = steps;
      k.d = d;
      k.place[1] = 1;
      k.place[2] = 2;
      k.place[3] = 3;
      k.act[0] = mode == 0 ? 1 : mode;
      k.act[1] = k.act[2] = 2;
      k.reverse = way;
      k.weight = step_weight_$S((const $T *)c->v[weights[2 * cell + 1]].data, d, gates * d, 1, d,
                                steps.rows, copied);
      k.bias = bias;
      k.q_bias = b_h + 2 * d;
      k.h0 = (const $T *)c->v[states[0]].data + cell * steps.n * d;
      k.last_h = ($T *)ends[0].data + cell * steps.n * d;
      if (mode == 0) {
        k.c0 = (const $T *)c->v[states[1]].data + cell * steps.n * d;
        k.last_c = ($T *)ends[1].data + cell * steps.n * d;
      }
      k.gates = ($T *)proj;
      k.h = ($T *)y.data + way * d;
      k.h_stride = out_width;
      k.alive = alive;
      k.room = room;
      if (mode == 0) {
        lstm_cell_$S(&k);
      } else if (mode == 1) {
        late_gru_cell_$S(&k);
      } else {
        if (mode == 2) k.act[0] = 2;
        if (mode == 3) k.act[0] = 3;
        k.q_bias = NULL;
        simple_cell_$S(&k);
      }
    }
    drop(c, &before);
    before = y;
    width = out_width;
  }
  give(c, proj_node);
  give(c, room_node);
  give(c, bias_node);
  give(c, weight_node);
  give(c, len_node);
  if (!padded) {
    before.lod = x->lod;
    ++NODE(x->lod->node).users;
  }
  for (int i = 0; i < n_states; ++i) TRY(put(c, c->v + last[i], &ends[i]));
  return put(c, out, &before);
}
""",
)
function(
    "row_conv",
    """
static int row_conv_$S(Ctx *c, const Value *x, const Value *f, Value *y) {
  Value t;
  int64_t future, d, n, steps;
  const int64_t *offsets = NULL;
  TRY(need(x, $E));
  TRY(need(f, $E));
  CHECK(f->rank == 2 && x->rank >= 2 && x->dims[x->rank - 1] == f->dims[1], BAD_SHAPE);
  future = f->dims[0];
  d = f->dims[1];
  if (x->rank == 2) {
    TRY(last_level(x, &offsets, &n));
    steps = 0;
  } else {
    CHECK(x->rank == 3, BAD_SHAPE);
    n = x->dims[0];
    steps = x->dims[1];
  }
  TRY(make(c, &t, $E, x->rank, x->dims, x->data && f->data));
  for (int64_t s = 0; t.data && s < n; ++s) {
    int64_t begin = offsets ? offsets[s] : s * steps;
    int64_t end = offsets ? offsets[s + 1] : begin + steps;
    for (int64_t r = begin; r < end; ++r) {
      $T *to = ($T *)t.data + r * d;
      for (int64_t j = 0; j < d; ++j) to[j] = 0;
      for (int64_t k = 0; k < future && r + k < end; ++k) {
        const $T *from = (const $T *)x->data + (r + k) * d, *w = (const $T *)f->data + k * d;
        for (int64_t j = 0; j < d; ++j) to[j] += from[j] * w[j];
      }
    }
  }
  if (x->lod) {
    t.lod = x->lod;
    ++NODE(x->lod->node).users;
  }
  return put(c, y, &t);
}
""",
)

_ACTS = {"identity": 0, "sigmoid": 1, "tanh": 2, "relu": 3}
_MODES = {"LSTM": 0, "GRU": 1, "RNN_TANH": 2, "RNN_RELU": 3}


def _projected(e, call):
    return "its products with the projection" if call.type == "lstmp" else None


@operator("lstm", "lstmp", exact=_projected)
def lstm(e, call):
    x, w, bias = call.input("Input"), call.input("Weight"), call.input("Bias")
    h0, c0 = call.optional("H0"), call.optional("C0")
    proj = call.optional("ProjWeight") if call.type == "lstmp" else None
    hidden = call.output("Projection" if call.type == "lstmp" else "Hidden")
    cell = call.optional_output("Cell")
    dtype = floats(call, x, w, bias, h0, c0, proj)
    acts = [_ACTS[call.attr(n)] for n in
            ("gate_activation", "candidate_activation", "cell_activation")]  # fmt: skip
    e.call(f"lstm_{SUFFIX[dtype]}", *map(e.ref, (x, h0, c0, w, proj, bias, hidden, cell)),
           int(call.attr("use_peepholes")), int(call.attr("is_reverse")), *acts,
           _ACTS[call.attr("proj_activation", "identity")], double(call.attr("cell_clip", 0.0)),
           double(call.attr("proj_clip", 0.0)))  # fmt: skip
    for slot in (hidden, cell):
        if slot is not None:
            e.set_type(slot, dtype)


@operator("gru", "gru_unit", exact=True)
def gru(e, call):
    unit = call.type == "gru_unit"
    x, w, bias = call.input("Input"), call.input("Weight"), call.optional("Bias")
    h0, hidden = call.optional("HiddenPrev" if unit else "H0"), call.output("Hidden")
    dtype = floats(call, x, w, bias, h0)
    acts = [call.attr("gate_activation"), call.attr("activation")]
    acts = [a if unit else _ACTS[a] for a in acts]
    e.call(f"gru_{SUFFIX[dtype]}", *map(e.ref, (x, h0, w, bias, hidden)), int(unit),
           int(call.attr("is_reverse", False)), *acts, int(call.attr("origin_mode")))  # fmt: skip
    e.set_type(hidden, dtype)


@operator("lstm_unit", exact=True)
def lstm_unit(e, call):
    x, before = call.input("X"), call.input("C_prev")
    cell, hidden = call.output("C"), call.output("H")
    dtype = floats(call, x, before)
    e.call(f"lstm_unit_{SUFFIX[dtype]}", *map(e.ref, (x, before, cell, hidden)),
           double(call.attr("forget_bias")))  # fmt: skip
    e.set_type(cell, dtype)
    e.set_type(hidden, dtype)


def _rows_alone(e, call):
    """The library multiplies the rows within the lengths, whose number says how it sums."""
    if call.has("SequenceLength"):
        return "with lengths"
    return "of float64" if call.input("Input").dtype == "float64" else None


@operator("rnn", exact=_rows_alone)
def rnn(e, call):
    x, states, weights = call.input("Input"), call.inputs("PreState"), call.inputs("WeightList")
    lengths, out, last = call.optional("SequenceLength"), call.output("Out"), call.outputs("State")
    dtype = floats(call, x, *states, *weights)
    mode = _MODES[call.attr("mode")]
    directions = 2 if call.attr("is_bidirec") else 1
    cells = call.attr("num_layers") * directions
    if call.attr("dropout_prob") > 0 and not call.attr("is_test") and call.attr("num_layers") > 1:
        call.refuse("with dropout in training")
    wanted = 2 if mode == 0 else 1
    if len(weights) != 4 * cells or len(states) != wanted or len(last) != wanted:
        call.refuse("with other numbers of weights or states")
    if lengths is not None and lengths.dtype not in INTS:
        call.refuse(f"lengths of {lengths.dtype}")
    e.call(f"rnn_{SUFFIX[dtype]}", e.ref(x), e.ref(lengths), e.refs(states), e.refs(weights),
           e.ref(out), e.refs(last), mode, call.attr("num_layers"), directions,
           call.attr("hidden_size"))  # fmt: skip
    for slot in (out, *last):
        e.set_type(slot, dtype)


@operator("row_conv")
def row_conv(e, call):
    x, f, out = call.input("X"), call.input("Filter"), call.output("Out")
    dtype = floats(call, x, f)
    e.call(f"row_conv_{SUFFIX[dtype]}", e.ref(x), e.ref(f), e.ref(out))
    e.set_type(out, dtype)


own_lod("lstm", "lstmp", "gru", "rnn", "row_conv")
