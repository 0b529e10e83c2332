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
V Activated(kernels::Act act, V x) {
  switch (act) {
    case kernels::Act::kSigmoid: return kernels::Sigmoid(x);
    case kernels::Act::kTanh: return kernels::Tanh(x);
    case kernels::Act::kRelu: return x < Real<V>(0) ? V(0) : x;
    default: return x;
  }
}

// The derivative of an activation, of its result.
template <class V>
V SlopeOf(kernels::Act act, V y) {
  switch (act) {
    case kernels::Act::kSigmoid: return y * (V(1) - y);
    case kernels::Act::kTanh: return V(1) - y * y;
    case kernels::Act::kRelu: return y > Real<V>(0) ? V(1) : V(0);
    default: return V(1);
  }
}

template <class V>
V Clipped(V x, Real<V> clip) {
  if (clip > 0 && x > clip) return V(clip);
  return clip > 0 && x < -clip ? V(-clip) : x;
}
// The derivative of Clipped, of its result.
template <class V>
bool Passes(V y, Real<V> clip) {
  return !(clip > 0) || (y < clip && y > -clip);
}

// One call's numbers in packed order, as numbers or as dual numbers.
template <class V>
struct Run {
  using T = Real<V>;

  // `along`: the slot with the direction of Input, those of the other inputs follow; or -1.
  Run(const KernelContext& ctx, int along)
      : attrs(ctx.attrs<LstmpAttrs>()),
        d(ctx.In(kInput).dim(1) / 4),
        p(ctx.In(kProjWeight).dim(1)),
        packing(PackLoD(sequence::LastLevel(ctx.In(kInput), "Input"), attrs.is_reverse)),
        gate(ActOf(attrs.gate_activation)),
        candidate(ActOf(attrs.candidate_activation)),
        cell_act(ActOf(attrs.cell_activation)),
        proj_act(ActOf(attrs.proj_activation)) {
    auto at = [&](int slot) { return along < 0 ? nullptr : ctx.InOrNull(along + slot); };
    weight = Read<V>(ctx.In(kWeight), at(kWeight));
    proj_weight = Read<V>(ctx.In(kProjWeight), at(kProjWeight));
    bias = Read<V>(ctx.In(kBias), at(kBias));
    h0 = Packed<V>(ctx, kH0, along < 0 ? -1 : along + kH0, packing.order);
    c0 = Packed<V>(ctx, kC0, along < 0 ? -1 : along + kC0, packing.order);
    if (h0.empty()) h0.assign(steps().batch * p, V(0));
    if (c0.empty()) c0.assign(steps().batch * d, V(0));
    gates.resize(rows() * 4 * d);
    c.resize(rows() * d);
    cell = hidden = c;
    r.resize(rows() * p);
    const Tensor* direction = at(kInput);
    GatherRows<V>(ctx.In(kInput).data<T>(), direction ? direction->data<T>() : nullptr,
                  packing.source, 4 * d, gates.data());
    Forward();
  }
  const kernels::Steps& steps() const { return packing.steps; }
  int64_t rows() const { return steps().rows(); }
  // of the peephole of i, f or o
  V Peephole(int which, int64_t j) const {
    return attrs.use_peepholes ? bias[(4 + which) * d + j] : V(0);
  }

  void Forward() {
    const int64_t width = 4 * d;
    kernels::AddToRows(gates.data(), rows(), width, width, bias.data());
    for (int64_t t = 0; t < steps().count(); ++t) {
      CheckInterrupt();
      const int64_t n = steps().alive(t), at = steps().begin[t];
      const V* before = kernels::Before(steps(), h0.data(), r.data(), p, t);
      const V* c_before = kernels::Before(steps(), c0.data(), c.data(), d, t);
      V* a = gates.data() + at * width;
      kernels::Product(false, false, n, width, p, before, p, weight.data(), width, true, a, width);
      for (int64_t i = 0; i < n; ++i) {
        V* row = a + i * width;
        for (int64_t j = 0; j < d; ++j) {
          const int64_t k = (at + i) * d + j;
          V old = c_before[i * d + j];
          V g = Activated(candidate, row[j]);
          V in = Activated(gate, row[d + j] + Peephole(0, j) * old);
          V keep = Activated(gate, row[2 * d + j] + Peephole(1, j) * old);
          c[k] = Clipped(keep * old + in * g, T(attrs.cell_clip));
          V out = Activated(gate, row[3 * d + j] + Peephole(2, j) * c[k]);
          cell[k] = Activated(cell_act, c[k]);
          hidden[k] = out * cell[k];
          row[j] = g, row[d + j] = in, row[2 * d + j] = keep, row[3 * d + j] = out;
        }
      }
      V* now = r.data() + at * p;
      kernels::Product(false, false, n, p, d, hidden.data() + at * d, d, proj_weight.data(), p,
                       false, now, p);
      for (int64_t i = 0; i < n * p; ++i)
        now[i] = Clipped(Activated(proj_act, now[i]), T(attrs.proj_clip));
    }
  }

  struct Gradients {
    std::vector<V> input, h0, c0, weight, proj_weight, bias;
  };
  // From the gradients of projections and cells, empty: none.
  Gradients Backward(const std::vector<V>& d_r, const std::vector<V>& d_c) const {
    const int64_t width = 4 * d;
    Gradients g;
    g.input.resize(rows() * width);
    g.h0.assign(steps().batch * p, V(0));
    g.c0.assign(steps().batch * d, V(0));
    g.weight.resize(weight.size());
    g.proj_weight.resize(proj_weight.size());
    g.bias.assign(bias.size(), V(0));
    std::vector<V> product(rows() * p), d_h(steps().batch * d);  // product: before its activation
    for (int64_t t = steps().count() - 1; t >= 0; --t) {
      CheckInterrupt();
      const int64_t n = steps().alive(t), at = steps().begin[t];
      for (int64_t i = 0; i < n * p; ++i) {
        const int64_t k = at * p + i;
        V up = d_r.empty() ? g.h0[i] : g.h0[i] + d_r[k];
        product[k] = Passes(r[k], T(attrs.proj_clip)) ? up * SlopeOf(proj_act, r[k]) : V(0);
      }
      kernels::Product(false, true, n, d, p, product.data() + at * p, p, proj_weight.data(), p,
                       false, d_h.data(), d);
      const V* c_before = kernels::Before(steps(), c0.data(), c.data(), d, t);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < d; ++j) BackThrough(at + i, i, j, c_before, d_h, d_c, &g);
      }
      kernels::Product(false, true, n, p, width, g.input.data() + at * width, width, weight.data(),
                       width, false, g.h0.data(), p);
    }
    std::vector<V> before(rows() * p);
    kernels::PreviousRows(steps(), h0.data(), r.data(), p, before.data());
    kernels::Product(true, false, p, width, rows(), before.data(), p, g.input.data(), width, false,
                     g.weight.data(), width);
    kernels::Product(true, false, d, p, rows(), hidden.data(), d, product.data(), p, false,
                     g.proj_weight.data(), p);
    kernels::ColumnSums(g.input.data(), rows(), width, width, g.bias.data());
    return g;
  }

  // Cell j of packed row `at`, the i-th of its step.
  void BackThrough(int64_t at, int64_t i, int64_t j, const V* c_before, const std::vector<V>& d_h,
                   const std::vector<V>& d_c, Gradients* g) const {
    const V* row = gates.data() + at * 4 * d;
    V* to = g->input.data() + at * 4 * d;
    const int64_t k = at * d + j, s = i * d + j;
    V m = row[j], in = row[d + j], keep = row[2 * d + j], out = row[3 * d + j];
    V d_o = d_h[s] * cell[k] * SlopeOf(gate, out);
    V dc = g->c0[s] + d_h[s] * out * SlopeOf(cell_act, cell[k]) + d_o * Peephole(2, j);
    if (!d_c.empty()) dc += d_c[k];
    if (!Passes(c[k], T(attrs.cell_clip))) dc = V(0);
    V d_i = dc * m * SlopeOf(gate, in), d_f = dc * c_before[s] * SlopeOf(gate, keep);
    to[j] = dc * in * SlopeOf(candidate, m);
    to[d + j] = d_i;
    to[2 * d + j] = d_f;
    to[3 * d + j] = d_o;
    g->c0[s] = dc * keep + d_i * Peephole(0, j) + d_f * Peephole(1, j);
    if (!attrs.use_peepholes) return;
    g->bias[4 * d + j] += d_i * c_before[s];
    g->bias[5 * d + j] += d_f * c_before[s];
    g->bias[6 * d + j] += d_o * c[k];
  }

  // To the outputs that stand in the order of the inputs.
  void WriteGradients(KernelContext& ctx, bool derivatives) const {
    const std::vector<int64_t>& source = packing.source;
    Gradients g =
        Backward(Packed<V>(ctx, kBias + 1, -1, source), Packed<V>(ctx, kBias + 2, -1, source));
    auto scatter = [&](int slot, const std::vector<V>& v, const std::vector<int64_t>& to,
                       int64_t width) {
      if (Tensor* out = ctx.OutOrNull(slot))
        ScatterRows(v.data(), to, width, out->mutable_data<T>(), derivatives);
    };
    scatter(kInput, g.input, source, 4 * d);
    scatter(kH0, g.h0, packing.order, p);
    scatter(kC0, g.c0, packing.order, d);
    for (int slot : {kWeight, kProjWeight, kBias}) {
      const std::vector<V>& v = slot == kWeight       ? g.weight
                                : slot == kProjWeight ? g.proj_weight
                                                      : g.bias;
      if (Tensor* out = ctx.OutOrNull(slot))
        Write(v.data(), out->numel(), out->mutable_data<T>(), derivatives);
    }
  }

  const LstmpAttrs& attrs;
  int64_t d, p;
  Packing packing;
  kernels::Act gate, candidate, cell_act, proj_act;
  std::vector<V> weight, proj_weight, bias, h0, c0;
  std::vector<V> gates, c, cell, hidden, r;  // gates: g, i, f, o
};

template <class T>
struct LstmpKernel {
  static void Compute(KernelContext& ctx) {
    Run<T> run(ctx, -1);
    Tensor &projection = ctx.Out(kProjection), &cell = ctx.Out(kCell);
    ScatterRows(run.r.data(), run.packing.source, run.p, projection.mutable_data<T>());
    ScatterRows(run.c.data(), run.packing.source, run.d, cell.mutable_data<T>());
    projection.SetLoD(ctx.In(kInput).lod_ref());
    cell.SetLoD(ctx.In(kInput).lod_ref());
    const std::vector<T>* batches[] = {&run.gates, &run.cell, &run.hidden};
    for (int slot = kBatchGate; slot <= kBatchHidden; ++slot) {
      const std::vector<T>& from = *batches[slot - kBatchGate];
      if (Tensor* out = ctx.OutOrNull(slot))
        std::copy(from.begin(), from.end(), out->mutable_data<T>());
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
    const std::vector<int64_t>& rows = run.packing.source;
    if (Tensor* out = ctx.OutOrNull(grad::kProjectionGrad))
      ScatterRows(run.r.data(), rows, run.p, out->mutable_data<T>(), true);
    if (Tensor* out = ctx.OutOrNull(grad::kCellGrad))
      ScatterRows(run.c.data(), rows, run.d, out->mutable_data<T>(), true);
  }
};
}  // namespace grad_grad
using grad_grad::LstmpThird;

REGISTER_OPERATOR(lstmp, DefineLstmp);
REGISTER_CPU_KERNEL(lstmp, LstmpKernel, float, double);
REGISTER_OPERATOR(lstmp_grad, grad::DefineLstmpGrad);
REGISTER_CPU_KERNEL(lstmp_grad, grad::LstmpGradKernel, float, double);
REGISTER_OPERATOR(lstmp_grad_grad, grad_grad::DefineLstmpGradGrad);
REGISTER_CPU_KERNEL(lstmp_grad_grad, grad_grad::LstmpGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(lstmp_grad_grad, LstmpThird);

}  // namespace
}  // namespace dygraph::recurrent
