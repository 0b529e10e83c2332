#include "op/gradient_call.h"
#include "operators/recurrent/recurrent_higher.h"
#include "platform/interrupt.h"

namespace dygraph::recurrent {
namespace {

constexpr int kInput = 0, kH0 = 1, kC0 = 2, kWeight = 3, kProjWeight = 4, kBias = 5;
constexpr int kProjection = 0, kCell = 1, kBatchGate = 2, kBatchCellPreAct = 3, kBatchHidden = 4;

struct LstmpAttrs {
  bool use_peepholes = true;
  bool is_reverse = false;
  double cell_clip = 0.0, proj_clip = 0.0;
  std::string gate_activation = "sigmoid", cell_activation = "tanh", candidate_activation = "tanh",
              proj_activation = "tanh";
};

void CheckInputs(InferContext& ctx) {
  const Dims &x = ctx.dims(kInput), &proj = ctx.dims(kProjWeight);
  ENFORCE(x.rank() == 2 && (x[1] < 0 || (x[1] > 0 && x[1] % 4 == 0)), InvalidArgument,
          "Input must have shape [rows, 4 * D], got ", x);
  int64_t d = x[1] < 0 ? -1 : x[1] / 4, n = -1;
  ENFORCE(proj.rank() == 2 && proj[1] != 0, InvalidArgument,
          "ProjWeight must have shape [D, P], got ", proj);
  int64_t p = proj[1];
  if (ctx.runtime()) n = sequence::Count(sequence::LastLevel(ctx.value(kInput).tensor(), "Input"));
  CheckShape(ctx, kProjWeight, {d, p}, "[D, P]");
  CheckShape(ctx, kWeight, {p, x[1]}, "[P, 4 * D]");
  bool peepholes = ctx.attrs<LstmpAttrs>().use_peepholes;
  CheckShape(ctx, kBias, {1, d < 0 ? -1 : (peepholes ? 7 : 4) * d},
             peepholes ? "[1, 7 * D] with use_peepholes" : "[1, 4 * D] without use_peepholes");
  CheckShape(ctx, kH0, {n, p}, "[sequences, P]");
  CheckShape(ctx, kC0, {n, d}, "[sequences, D]");
  ENFORCE(ctx.HasInput(kH0) == ctx.HasInput(kC0), InvalidArgument,
          "H0 and C0 must be given together, got ", ctx.HasInput(kH0) ? "H0" : "C0", " only");
}

void InferShape(InferContext& ctx) {
  CheckInputs(ctx);
  const Dims& x = ctx.dims(kInput);
  Dims state = {x[0], x[1] < 0 ? -1 : x[1] / 4};
  ctx.SetOutput(kProjection, {x[0], ctx.dims(kProjWeight)[1]});
  ctx.SetOutput(kCell, state);
  ctx.SetOutput(kBatchGate, x);
  ctx.SetOutput(kBatchCellPreAct, state);
  ctx.SetOutput(kBatchHidden, state);
}

OpDef& AddInputs(OpDef& op) {
  return op
      .Input(kInput, "Input", "[rows, 4 * D] with LoD: x times the input weights, as c, i, f, o")
      .Input(kH0, "H0", "[sequences, P], the first projections; 0 where absent", kDispensable)
      .Input(kC0, "C0", "[sequences, D], the first cells", kDispensable)
      .Input(kWeight, "Weight", "[P, 4 * D], from the projection to c, i, f, o")
      .Input(kProjWeight, "ProjWeight", "[D, P], from the hidden state to the projection")
      .Input(kBias, "Bias", "[1, 4 * D] for c, i, f, o; [1, 7 * D] with the peepholes i, f, o");
}

void DefineLstmp(OpDef& op) {
  AddInputs(
      op.Comment("lstm whose hidden state is projected: as lstm, but with r' = Projection of the "
                 "row before in place of h', and Projection = proj(h ProjWeight) of each hidden "
                 "state h. Cells and projections are clipped to [-clip, clip] where a clip above 0 "
                 "is given; no gradient passes what was clipped. Sak, Senior and Beaufays, \"Long "
                 "short-term memory recurrent neural network architectures\", 2014.")
          .Example(
              ">>> x = to_variable([[4.0, 0.0, 0.0, 0.0]], lod=[[0, 1]])  # the gates are 1/2\n"
              ">>> zero, w = to_variable([[0.0] * 4]), to_variable([[2.0]])\n"
              ">>> same = {k + \"_activation\": \"identity\" for k in (\"cell\", \"candidate\", "
              "\"proj\")}\n"
              ">>> [v.tolist() for v in F.lstmp(x, zero, w, zero, use_peepholes=False, **same)]\n"
              "[[[2.0]], [[2.0]]]"))
      .Output(kProjection, "Projection", "[rows, P], the LoD of Input")
      .Output(kCell, "Cell", "[rows, D], the LoD of Input")
      .Output(kBatchGate, "BatchGate", "the gates, by time step", kIntermediate)
      .Output(kBatchCellPreAct, "BatchCellPreAct", "cell(Cell), by time step", kIntermediate)
      .Output(kBatchHidden, "BatchHidden", "the hidden states, by time step", kIntermediate)
      .Attr(&LstmpAttrs::use_peepholes, "use_peepholes", "gates see the cells")
      .Attr(&LstmpAttrs::is_reverse, "is_reverse", "from the last row of a sequence to its first")
      .Attr(&LstmpAttrs::cell_clip, "cell_clip", "bound of cells; 0: none", AtLeast(0))
      .Attr(&LstmpAttrs::proj_clip, "proj_clip", "bound of projections; 0: none", AtLeast(0))
      .Attr(&LstmpAttrs::gate_activation, "gate_activation", "of i, f and o", AnActivation())
      .Attr(&LstmpAttrs::cell_activation, "cell_activation", "of the cell", AnActivation())
      .Attr(&LstmpAttrs::candidate_activation, "candidate_activation", "of g", AnActivation())
      .Attr(&LstmpAttrs::proj_activation, "proj_activation", "of the projection", AnActivation())
      .Shape(InferShape)
      .Grad(CallGradient);
}

template <class V>
DYGRAPH_INLINE V Clipped(V x, Real<V> clip) {
  if (clip > 0 && x > clip) return V(clip);
  return clip > 0 && x < -clip ? V(-clip) : x;
}
// The derivative of Clipped, of its result.
template <class V>
DYGRAPH_INLINE bool Passes(V y, Real<V> clip) {
  return !(clip > 0) || (y < clip && y > -clip);
}

// What one step's cells compute with: rows of its own and of the step before.
template <class V>
struct Cells {
  kernels::Act gate, candidate, cell_act;
  Real<V> clip;
  int64_t d;
  const V* peepholes;  // [3, d] for i, f and o, or null

  DYGRAPH_INLINE V Peephole(int which, int64_t j) const {
    return peepholes ? peepholes[which * d + j] : V(0);
  }
  // Cell j from the sums in a row of gates, which become g, i, f, o.
  DYGRAPH_INLINE void Step(int64_t j, V old, V* row, V* c, V* cell, V* hidden) const {
    V g = Activated(candidate, row[j]);
    V in = Activated(gate, row[d + j] + Peephole(0, j) * old);
    V keep = Activated(gate, row[2 * d + j] + Peephole(1, j) * old);
    *c = Clipped(keep * old + in * g, clip);
    V out = Activated(gate, row[3 * d + j] + Peephole(2, j) * *c);
    *cell = Activated(cell_act, *c);
    *hidden = out * *cell;
    row[j] = g, row[d + j] = in, row[2 * d + j] = keep, row[3 * d + j] = out;
  }
  // From the gradients of the hidden state and of what the next step does with the cell, which
  // becomes that of the step before. `up` is the gradient of Cell.
  DYGRAPH_INLINE void Back(int64_t j, V old, const V* row, V c, V cell, V d_h, const V* up,
                           V* d_row, V* d_c) const {
    V m = row[j], in = row[d + j], keep = row[2 * d + j], out = row[3 * d + j];
    V d_o = d_h * cell * SlopeOf(gate, out);
    V dc = *d_c + d_h * out * SlopeOf(cell_act, cell) + d_o * Peephole(2, j);
    if (up) dc += *up;
    if (!Passes(c, clip)) dc = V(0);
    V d_i = dc * m * SlopeOf(gate, in), d_f = dc * old * SlopeOf(gate, keep);
    d_row[j] = dc * in * SlopeOf(candidate, m);
    d_row[d + j] = d_i;
    d_row[2 * d + j] = d_f;
    d_row[3 * d + j] = d_o;
    *d_c = dc * keep + d_i * Peephole(0, j) + d_f * Peephole(1, j);
  }
};

// One call's numbers in packed order, as numbers or as dual numbers.
template <class V>
struct Run {
  using T = Real<V>;

  // `along`: the slot with the direction of Input, those of the other inputs follow; or -1.
  Run(const KernelContext& ctx, int along)
      : attrs(ctx.attrs<LstmpAttrs>()),
        place(ctx.place()),
        d(ctx.In(kInput).dim(1) / 4),
        p(ctx.In(kProjWeight).dim(1)),
        packing(PackLoD(sequence::LastLevel(ctx.In(kInput), "Input"), attrs.is_reverse)),
        source(packing.source),
        order(packing.order),
        proj_act(ActOf(attrs.proj_activation)),
        gates(place, rows() * 4 * d),
        c(place, rows() * d),
        cell(place, rows() * d),
        hidden(place, rows() * d),
        r(place, rows() * p) {
    auto at = [&](int slot) { return along < 0 ? nullptr : ctx.InOrNull(along + slot); };
    weight = Read<V>(place, ctx.In(kWeight), at(kWeight));
    proj_weight = Read<V>(place, ctx.In(kProjWeight), at(kProjWeight));
    bias = Read<V>(place, ctx.In(kBias), at(kBias));
    h0 = Packed<V>(place, ctx.InOrNull(kH0), at(kH0), order);
    c0 = Packed<V>(place, ctx.InOrNull(kC0), at(kC0), order);
    if (!h0.data()) h0 = Zeros<V>(place, steps().batch * p);
    if (!c0.data()) c0 = Zeros<V>(place, steps().batch * d);
    const Tensor* direction = at(kInput);
    GatherRows<V>(ctx.In(kInput).data<T>(), direction ? direction->data<T>() : nullptr, source,
                  4 * d, gates.data());
    Forward();
  }
  const kernels::Steps& steps() const { return packing.steps; }
  int64_t rows() const { return steps().rows(); }
  Cells<V> TheCells() const {
    return {ActOf(attrs.gate_activation),
            ActOf(attrs.candidate_activation),
            ActOf(attrs.cell_activation),
            T(attrs.cell_clip),
            d,
            attrs.use_peepholes ? bias.data() + 4 * d : nullptr};
  }

  void Forward() {
    const int64_t width = 4 * d;
    kernels::AddToRows<V>(gates.data(), rows(), width, width, bias.data());
    for (int64_t t = 0; t < steps().count(); ++t) {
      CheckInterrupt();
      const int64_t n = steps().alive(t), at = steps().begin[t];
      const V* before = kernels::Before<V>(steps(), h0.data(), r.data(), p, t);
      V* a = gates.data() + at * width;
      kernels::Product<V>(false, false, n, width, p, before, p, weight.data(), width, true, a,
                          width);
      StepCells(t);
      V* now = r.data() + at * p;
      kernels::Product<V>(false, false, n, p, d, hidden.data() + at * d, d, proj_weight.data(), p,
                          false, now, p);
      Project(now, n * p);
    }
  }

  void StepCells(int64_t t) {
    const int64_t at = steps().begin[t], width = d;
    const V* c_before = kernels::Before<V>(steps(), c0.data(), c.data(), d, t);
    V *a = gates.data() + at * 4 * d, *c_now = c.data() + at * d, *cell_now = cell.data() + at * d,
      *h_now = hidden.data() + at * d;
    const Cells<V> cells = TheCells();
    kernels::ForEach(
        steps().alive(t) * d,
        [=] DYGRAPH_FN(int64_t k) {
          const int64_t i = k / width;
          cells.Step(k - i * width, c_before[k], a + i * 4 * width, c_now + k, cell_now + k,
                     h_now + k);
        },
        kCost);
  }
  void Project(V* now, int64_t n) const {
    const kernels::Act act = proj_act;
    const T clip = T(attrs.proj_clip);
    kernels::ForEach(
        n, [=] DYGRAPH_FN(int64_t i) { now[i] = Clipped(Activated(act, now[i]), clip); }, kCost);
  }

  struct Gradients {
    Numbers<V> input, h0, c0, weight, proj_weight, bias;
  };
  // From the gradients of projections and cells, null: none.
  Gradients Backward(const V* d_r, const V* d_c) const {
    const int64_t width = 4 * d;
    Gradients g{{place, rows() * width},
                Zeros<V>(place, steps().batch * p),
                Zeros<V>(place, steps().batch * d),
                {place, weight.size()},
                {place, proj_weight.size()},
                {place, bias.size()}};
    // product: before its activation
    Numbers<V> product(place, rows() * p), d_h(place, steps().batch * d);
    for (int64_t t = steps().count() - 1; t >= 0; --t) {
      CheckInterrupt();
      const int64_t n = steps().alive(t), at = steps().begin[t];
      ProjectBack(n * p, r.data() + at * p, g.h0.data(), d_r ? d_r + at * p : nullptr,
                  product.data() + at * p);
      kernels::Product<V>(false, true, n, d, p, product.data() + at * p, p, proj_weight.data(), p,
                          false, d_h.data(), d);
      CellsBack(t, d_h.data(), d_c, &g);
      kernels::Product<V>(false, true, n, p, width, g.input.data() + at * width, width,
                          weight.data(), width, false, g.h0.data(), p);
    }
    Numbers<V> before(place, rows() * p);
    kernels::PreviousRows<V>(steps(), h0.data(), r.data(), p, before.data());
    kernels::Product<V>(true, false, p, width, rows(), before.data(), p, g.input.data(), width,
                        false, g.weight.data(), width);
    kernels::Product<V>(true, false, d, p, rows(), hidden.data(), d, product.data(), p, false,
                        g.proj_weight.data(), p);
    kernels::ColumnSums<V>(g.input.data(), rows(), width, width, g.bias.data());
    if (attrs.use_peepholes) {
      kernels::PeepholeSums<V>(steps(), d, c0.data(), c.data(), g.input.data(), {1, 2, 3},
                               g.bias.data() + width);
    }
    return g;
  }

  // `next`: what the step behind gives the projections r.
  void ProjectBack(int64_t n, const V* now, const V* next, const V* up, V* to) const {
    const kernels::Act act = proj_act;
    const T clip = T(attrs.proj_clip);
    kernels::ForEach(
        n,
        [=] DYGRAPH_FN(int64_t i) {
          V all = up ? next[i] + up[i] : next[i];
          to[i] = Passes(now[i], clip) ? all * SlopeOf(act, now[i]) : V(0);
        },
        kCost);
  }
  void CellsBack(int64_t t, const V* d_h, const V* d_c, Gradients* g) const {
    const int64_t at = steps().begin[t], width = d;
    const V* c_before = kernels::Before<V>(steps(), c0.data(), c.data(), d, t);
    const V *a = gates.data() + at * 4 * d, *c_now = c.data() + at * d,
            *cell_now = cell.data() + at * d, *up = d_c ? d_c + at * d : nullptr;
    V *to = g->input.data() + at * 4 * d, *to_c = g->c0.data();
    const Cells<V> cells = TheCells();
    kernels::ForEach(
        steps().alive(t) * d,
        [=] DYGRAPH_FN(int64_t k) {
          const int64_t i = k / width;
          cells.Back(k - i * width, c_before[k], a + i * 4 * width, c_now[k], cell_now[k], d_h[k],
                     up ? up + k : nullptr, to + i * 4 * width, to_c + k);
        },
        kCost);
  }
  // To the outputs that stand in the order of the inputs.
  void WriteGradients(KernelContext& ctx, bool derivatives) const {
    Gradients g = Backward(Packed<V>(place, ctx.InOrNull(kBias + 1), nullptr, source).data(),
                           Packed<V>(place, ctx.InOrNull(kBias + 2), nullptr, source).data());
    auto scatter = [&](int slot, const Numbers<V>& v, const RowTable& to, int64_t width) {
      if (Tensor* out = ctx.OutOrNull(slot))
        ScatterRows(v.data(), to, width, out->mutable_data<T>(), derivatives);
    };
    scatter(kInput, g.input, source, 4 * d);
    scatter(kH0, g.h0, order, p);
    scatter(kC0, g.c0, order, d);
    for (int slot : {kWeight, kProjWeight, kBias}) {
      const Numbers<V>& v = slot == kWeight       ? g.weight
                            : slot == kProjWeight ? g.proj_weight
                                                  : g.bias;
      if (Tensor* out = ctx.OutOrNull(slot))
        Write(v.data(), out->numel(), out->mutable_data<T>(), derivatives);
    }
  }

  static constexpr int64_t kCost = 60;  // of a cell

  const LstmpAttrs& attrs;
  Place place;
  int64_t d, p;
  Packing packing;
  RowTable source, order;
  kernels::Act proj_act;
  Numbers<V> gates, c, cell, hidden, r;  // gates: g, i, f, o
  Numbers<V> weight, proj_weight, bias, h0, c0;
};

template <class T>
struct LstmpKernel {
  static void Compute(KernelContext& ctx) {
    Run<T> run(ctx, -1);
    Tensor &projection = ctx.Out(kProjection), &cell = ctx.Out(kCell);
    ScatterRows(run.r.data(), run.source, run.p, projection.mutable_data<T>());
    ScatterRows(run.c.data(), run.source, run.d, cell.mutable_data<T>());
    projection.SetLoD(ctx.In(kInput).lod_ref());
    cell.SetLoD(ctx.In(kInput).lod_ref());
    const Numbers<T>* batches[] = {&run.gates, &run.cell, &run.hidden};
    for (int slot = kBatchGate; slot <= kBatchHidden; ++slot) {
      const Numbers<T>& from = *batches[slot - kBatchGate];
      if (Tensor* out = ctx.OutOrNull(slot))
        Write(from.data(), from.size(), out->mutable_data<T>());
    }
  }
};

namespace grad {
constexpr int kProjectionGrad = 6, kCellGrad = 7;

void InferGradShape(InferContext& ctx) {
  CheckInputs(ctx);
  const Dims& x = ctx.dims(kInput);
  CheckShape(ctx, kProjectionGrad, {x[0], ctx.dims(kProjWeight)[1]}, "[rows, P]");
  CheckShape(ctx, kCellGrad, {x[0], x[1] < 0 ? -1 : x[1] / 4}, "[rows, D]");
  int last = static_cast<int>(ctx.call().op->outputs.size());
  for (int slot = kInput; slot < last; ++slot) {
    if (ctx.HasInput(slot)) ctx.SetOutput(slot, ctx.dims(slot));
  }
}

OpDef& AddGradients(OpDef& op) {
  return op.Input(kProjectionGrad, "Projection@GRAD", "shape of Projection", kDispensable)
      .Input(kCellGrad, "Cell@GRAD", "shape of Cell", kDispensable)
      .Output(kInput, "Input@GRAD", "shape of Input")
      .Output(kH0, "H0@GRAD", "shape of H0")
      .Output(kC0, "C0@GRAD", "shape of C0")
      .Output(kWeight, "Weight@GRAD", "shape of Weight")
      .Output(kProjWeight, "ProjWeight@GRAD", "shape of ProjWeight")
      .Output(kBias, "Bias@GRAD", "shape of Bias")
      .AttrsOf("lstmp")
      .Shape(InferGradShape);
}

void DefineLstmpGrad(OpDef& op) {
  AddGradients(AddInputs(op.Comment(
                   "The gradients of lstmp: its steps, made once more, and then backwards.")))
      .Grad(CallGradient);
}

template <class T>
struct LstmpGradKernel {
  static void Compute(KernelContext& ctx) { Run<T>(ctx, -1).WriteGradients(ctx, false); }
};
}  // namespace grad

// In dual numbers along the incoming directions, as lstm_grad_grad.
namespace grad_grad {
constexpr int kAlong = 8;

void DefineLstmpGradGrad(OpDef& op);

struct LstmpThird {
  static constexpr uint32_t kServes = higher::kAllSlots;
  static void Define(OpDef& op) { DefineLstmpGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    std::vector<higher::Input> list;
    for (int slot = kInput; slot <= kBias; ++slot) list.push_back({slot, kAlong + slot, slot});
    return list;
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{grad::kProjectionGrad, grad::kProjectionGrad}, {grad::kCellGrad, grad::kCellGrad}};
  }
  static void Run(higher::Problem& p) {
    const LstmpAttrs& a = p.ctx.attrs<LstmpAttrs>();
    const Tensor& x = p.ctx.In(kInput);
    const int64_t d = x.dim(1) / 4, width = p.ctx.In(kProjWeight).dim(1);
    Packing packing = PackLoD(sequence::LastLevel(x, "Input"), a.is_reverse);
    Matrix weight{p.Leaves(kWeight, 0, width * 4 * d), 4 * d},
        proj{p.Leaves(kProjWeight, 0, d * width), width};
    Row bias = p.Leaves(kBias, 0, p.ctx.In(kBias).numel());
    LstmCell cell{d,
                  ActOf(a.gate_activation),
                  ActOf(a.candidate_activation),
                  ActOf(a.cell_activation),
                  weight,
                  bias,
                  a.use_peepholes,
                  NumberFor(x.dtype(), a.cell_clip)};
    std::vector<Row> r, c;
    for (int64_t s = 0; s < packing.steps.batch; ++s) {
      r.push_back(RowOf(p, kH0, s, width));
      c.push_back(RowOf(p, kC0, s, d));
    }
    ForEachStep(packing, [&](int64_t s, int64_t row) {
      Row hidden = cell.Step(p.Leaves(kInput, row * 4 * d, 4 * d), r[s], &c[s]);
      for (int64_t j = 0; j < width; ++j) {
        Scalar v = Activate(ActOf(a.proj_activation), proj.Times({}, hidden, j));
        r[s][j] = Clip(v, NumberFor(x.dtype(), a.proj_clip));
        p.Set(0, row * width + j, r[s][j]);
      }
      for (int64_t j = 0; j < d; ++j) p.Set(1, row * d + j, c[s][j]);
    });
  }
};

void DefineLstmpGradGrad(OpDef& op) {
  grad::AddGradients(AddInputs(op.Comment("The gradients of lstmp_grad, by dual numbers.")))
      .Input(kAlong + kInput, "Input@GRAD@GRAD", "shape of Input", kDispensable)
      .Input(kAlong + kH0, "H0@GRAD@GRAD", "shape of H0", kDispensable)
      .Input(kAlong + kC0, "C0@GRAD@GRAD", "shape of C0", kDispensable)
      .Input(kAlong + kWeight, "Weight@GRAD@GRAD", "shape of Weight", kDispensable)
      .Input(kAlong + kProjWeight, "ProjWeight@GRAD@GRAD", "shape of ProjWeight", kDispensable)
      .Input(kAlong + kBias, "Bias@GRAD@GRAD", "shape of Bias", kDispensable)
      .Output(grad::kProjectionGrad, "Projection@GRAD@GRAD", "shape of Projection")
      .Output(grad::kCellGrad, "Cell@GRAD@GRAD", "shape of Cell")
      .Grad(higher::Recipe<LstmpThird>);
}

template <class T>
struct LstmpGradGradKernel {
  static void Compute(KernelContext& ctx) {
    Run<Dual<T>> run(ctx, kAlong);
    run.WriteGradients(ctx, true);
    if (Tensor* out = ctx.OutOrNull(grad::kProjectionGrad))
      ScatterRows(run.r.data(), run.source, run.p, out->mutable_data<T>(), true);
    if (Tensor* out = ctx.OutOrNull(grad::kCellGrad))
      ScatterRows(run.c.data(), run.source, run.d, out->mutable_data<T>(), true);
  }
};
}  // namespace grad_grad
using grad_grad::LstmpThird;

REGISTER_OPERATOR(lstmp, DefineLstmp);
REGISTER_KERNELS(lstmp, LstmpKernel, float, double);
REGISTER_OPERATOR(lstmp_grad, grad::DefineLstmpGrad);
REGISTER_KERNELS(lstmp_grad, grad::LstmpGradKernel, float, double);
REGISTER_OPERATOR(lstmp_grad_grad, grad_grad::DefineLstmpGradGrad);
REGISTER_KERNELS(lstmp_grad_grad, grad_grad::LstmpGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(lstmp_grad_grad, LstmpThird);

}  // namespace
}  // namespace dygraph::recurrent
