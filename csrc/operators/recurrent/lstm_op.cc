#include "op/gradient_call.h"
#include "operators/recurrent/recurrent_higher.h"

namespace dygraph::recurrent {
namespace {

constexpr int kInput = 0, kH0 = 1, kC0 = 2, kWeight = 3, kBias = 4;
constexpr int kHidden = 0, kCell = 1, kBatchGate = 2, kBatchCellPreAct = 3;

struct LstmAttrs {
  bool use_peepholes = true;
  bool is_reverse = false;
  std::string gate_activation = "sigmoid", cell_activation = "tanh", candidate_activation = "tanh";
};

void CheckInputs(InferContext& ctx) {
  const Dims& x = ctx.dims(kInput);
  ENFORCE(x.rank() == 2 && (x[1] < 0 || (x[1] > 0 && x[1] % 4 == 0)), InvalidArgument,
          "Input must have shape [rows, 4 * D], got ", x);
  int64_t d = x[1] < 0 ? -1 : x[1] / 4;
  int64_t n = -1;
  if (ctx.runtime()) n = sequence::Count(sequence::LastLevel(ctx.value(kInput).tensor(), "Input"));
  CheckShape(ctx, kWeight, {d, x[1]}, "[D, 4 * D]");
  bool peepholes = ctx.attrs<LstmAttrs>().use_peepholes;
  CheckShape(ctx, kBias, {1, d < 0 ? -1 : (peepholes ? 7 : 4) * d},
             peepholes ? "[1, 7 * D] with use_peepholes" : "[1, 4 * D] without use_peepholes");
  CheckShape(ctx, kH0, {n, d}, "[sequences, D]");
  CheckShape(ctx, kC0, {n, d}, "[sequences, D]");
  ENFORCE(ctx.HasInput(kH0) == ctx.HasInput(kC0), InvalidArgument,
          "H0 and C0 must be given together, got ", ctx.HasInput(kH0) ? "H0" : "C0", " only");
}

void InferShape(InferContext& ctx) {
  CheckInputs(ctx);
  const Dims& x = ctx.dims(kInput);
  Dims state = {x[0], x[1] < 0 ? -1 : x[1] / 4};
  ctx.SetOutput(kHidden, state);
  ctx.SetOutput(kCell, state);
  ctx.SetOutput(kBatchGate, x);
  ctx.SetOutput(kBatchCellPreAct, state);
}

OpDef& AddInputs(OpDef& op) {
  return op
      .Input(kInput, "Input", "[rows, 4 * D] with LoD: x times the input weights, as c, i, f, o")
      .Input(kH0, "H0", "[sequences, D], the first hidden states; 0 where absent", kDispensable)
      .Input(kC0, "C0", "[sequences, D], the first cells", kDispensable)
      .Input(kWeight, "Weight", "[D, 4 * D], from the hidden state to c, i, f, o")
      .Input(kBias, "Bias", "[1, 4 * D] for c, i, f, o; [1, 7 * D] with the peepholes i, f, o");
}

void DefineLstm(OpDef& op) {
  AddInputs(
      op.Comment("Along each sequence, c' and h' being of the row before: i = gate(x_i + h' W_i + "
                 "p_i c' + b_i), f = gate(x_f + h' W_f + p_f c' + b_f), g = candidate(x_c + h' W_c "
                 "+ b_c), Cell = f c' + i g, o = gate(x_o + h' W_o + p_o Cell + b_o), Hidden = o "
                 "cell(Cell). Hochreiter and Schmidhuber, \"Long short-term memory\", 1997; "
                 "peepholes: Gers and Schmidhuber, 2000.")
          .Example(
              ">>> x = to_variable([[4.0, 0.0, 0.0, 0.0]] * 2, lod=[[0, 2]])  # the gates are 1/2\n"
              ">>> zero = to_variable([[0.0] * 4])\n"
              ">>> same = {k + \"_activation\": \"identity\" for k in (\"cell\", \"candidate\")}\n"
              ">>> [v.tolist() for v in F.lstm(x, zero, zero, use_peepholes=False, **same)]\n"
              "[[[1.0], [1.5]], [[2.0], [3.0]]]"))
      .Output(kHidden, "Hidden", "[rows, D], the LoD of Input")
      .Output(kCell, "Cell", "[rows, D], the LoD of Input")
      .Output(kBatchGate, "BatchGate", "the gates, by time step", kIntermediate)
      .Output(kBatchCellPreAct, "BatchCellPreAct", "cell(Cell), by time step", kIntermediate)
      .Attr(&LstmAttrs::use_peepholes, "use_peepholes", "gates see the cells")
      .Attr(&LstmAttrs::is_reverse, "is_reverse", "from the last row of a sequence to its first")
      .Attr(&LstmAttrs::gate_activation, "gate_activation", "of i, f and o", AnActivation())
      .Attr(&LstmAttrs::cell_activation, "cell_activation", "of the cell", AnActivation())
      .Attr(&LstmAttrs::candidate_activation, "candidate_activation", "of g", AnActivation())
      .Shape(InferShape)
      .Grad(CallGradient);
}

// One call's numbers in packed order.
template <class V>
struct Run {
  Run(const KernelContext& ctx, const Tensor& input)
      : attrs(ctx.attrs<LstmAttrs>()),
        d(input.dim(1) / 4),
        packing(PackLoD(sequence::LastLevel(input, "Input"), attrs.is_reverse)),
        source(packing.source),
        order(packing.order),
        place(ctx.place()),
        cell{packing.steps, d} {
    cell.candidate = 0;
    cell.input = 1;
    cell.forget = 2;
    cell.output = 3;
    cell.gate_act = ActOf(attrs.gate_activation);
    cell.candidate_act = ActOf(attrs.candidate_activation);
    cell.cell_act = ActOf(attrs.cell_activation);
  }
  int64_t rows() const { return packing.steps.rows(); }

  // `along`: the slot with the direction of Input, those of H0, C0, Weight and Bias follow; or -1.
  void ReadInputs(const KernelContext& ctx, int along) {
    auto at = [&](int slot) { return along < 0 ? nullptr : ctx.InOrNull(along + slot); };
    weight = Read<V>(place, ctx.In(kWeight), at(kWeight));
    bias = Read<V>(place, ctx.In(kBias), at(kBias));
    h0 = Packed<V>(place, ctx.InOrNull(kH0), at(kH0), order);
    c0 = Packed<V>(place, ctx.InOrNull(kC0), at(kC0), order);
    cell.h0 = h0.data();
    cell.c0 = c0.data();
    if (attrs.use_peepholes) cell.peephole = bias.data() + 4 * d;
  }

  void Forward(const KernelContext& ctx, int along) {
    using T = Real<V>;
    const Tensor* direction = along < 0 ? nullptr : ctx.InOrNull(along + kInput);
    GatherRows<V>(ctx.In(kInput).data<T>(), direction ? direction->data<T>() : nullptr, source,
                  4 * d, cell.gates);
    cell.bias = bias.data();
    cell.Forward({weight.data(), false});
  }

  struct Gradients {
    Numbers<V> gates, h0, c0, weight, bias;
  };
  // From the gradients of hidden states and cells in two slots.
  Gradients Backward(const KernelContext& ctx, int d_hidden, int d_cell) const {
    int64_t n = packing.steps.batch;
    Gradients g{{place, rows() * 4 * d},
                Zeros<V>(place, n * d),
                Zeros<V>(place, n * d),
                {place, 4 * d * d},
                {place, bias.size()}};
    Numbers<V> before(place, rows() * d);
    cell.Backward({weight.data(), false},
                  Packed<V>(place, ctx.InOrNull(d_hidden), nullptr, source).data(),
                  Packed<V>(place, ctx.InOrNull(d_cell), nullptr, source).data(), g.gates.data(),
                  g.h0.data(), g.c0.data(), attrs.use_peepholes ? g.bias.data() + 4 * d : nullptr);
    kernels::PreviousRows(packing.steps, cell.h0, cell.h, d, before.data());
    kernels::Product(true, false, d, 4 * d, rows(), before.data(), d, g.gates.data(), 4 * d, false,
                     g.weight.data(), 4 * d);
    kernels::ColumnSums(g.gates.data(), rows(), 4 * d, 4 * d, g.bias.data());
    return g;
  }

  // To the outputs Input, H0, C0, Weight, Bias from slot `first` on.
  void WriteGradients(KernelContext& ctx, const Gradients& g, bool derivatives) const {
    using T = Real<V>;
    auto scatter = [&](int slot, const Numbers<V>& v, const RowTable& to, int64_t width) {
      if (Tensor* out = ctx.OutOrNull(slot))
        ScatterRows(v.data(), to, width, out->mutable_data<T>(), derivatives);
    };
    scatter(kInput, g.gates, source, 4 * d);
    scatter(kH0, g.h0, order, d);
    scatter(kC0, g.c0, order, d);
    for (int slot : {kWeight, kBias}) {
      const Numbers<V>& v = slot == kWeight ? g.weight : g.bias;
      if (Tensor* out = ctx.OutOrNull(slot))
        Write(v.data(), out->numel(), out->mutable_data<T>(), derivatives);
    }
  }

  const LstmAttrs& attrs;
  int64_t d;
  Packing packing;
  RowTable source, order;
  Place place;
  kernels::Lstm<V> cell;
  Numbers<V> weight, bias, h0, c0;
};

template <class T>
struct LstmKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& input = ctx.In(kInput);
    Run<T> run(ctx, input);
    run.ReadInputs(ctx, -1);
    Tensor &hidden = ctx.Out(kHidden), &cell = ctx.Out(kCell);
    Numbers<T> h(run.place, hidden.numel()), c(run.place, cell.numel());
    run.cell.gates = ctx.Out(kBatchGate).template mutable_data<T>();
    run.cell.cell = ctx.Out(kBatchCellPreAct).template mutable_data<T>();
    run.cell.h = h.data();
    run.cell.c = c.data();
    run.Forward(ctx, -1);
    ScatterRows(h.data(), run.source, run.d, hidden.mutable_data<T>());
    ScatterRows(c.data(), run.source, run.d, cell.mutable_data<T>());
    hidden.SetLoD(input.lod_ref());
    cell.SetLoD(input.lod_ref());
  }
};

namespace grad {
constexpr int kHidden = 5, kCell = 6, kBatchGate = 7, kBatchCellPreAct = 8, kHiddenGrad = 9,
              kCellGrad = 10;

void InferGradShape(InferContext& ctx) {
  CheckInputs(ctx);
  const Dims& x = ctx.dims(kInput);
  Dims state = {x[0], x[1] < 0 ? -1 : x[1] / 4};
  for (int slot : {kHidden, kCell, kBatchCellPreAct, kHiddenGrad, kCellGrad})
    CheckShape(ctx, slot, {state[0], state[1]}, "[rows, D]");
  CheckShape(ctx, kBatchGate, {x[0], x[1]}, "[rows, 4 * D]");
  for (int slot = kInput; slot <= kBias; ++slot) {
    if (ctx.HasInput(slot)) ctx.SetOutput(slot, ctx.dims(slot));
  }
}

OpDef& AddGradients(OpDef& op, const char* help) {
  return op.Output(kInput, "Input@GRAD", help)
      .Output(kH0, "H0@GRAD", help)
      .Output(kC0, "C0@GRAD", help)
      .Output(kWeight, "Weight@GRAD", help)
      .Output(kBias, "Bias@GRAD", help);
}

void DefineLstmGrad(OpDef& op) {
  AddInputs(op.Comment("The gradients of lstm, backwards through its steps."))
      .Input(kHidden, "Hidden", "result of lstm")
      .Input(kCell, "Cell", "result of lstm")
      .Input(kBatchGate, "BatchGate", "result of lstm")
      .Input(kBatchCellPreAct, "BatchCellPreAct", "result of lstm")
      .Input(kHiddenGrad, "Hidden@GRAD", "shape of Hidden", kDispensable)
      .Input(kCellGrad, "Cell@GRAD", "shape of Cell", kDispensable);
  AddGradients(op, "shape of the input").AttrsOf("lstm").Shape(InferGradShape).Grad(CallGradient);
}

template <class T>
struct LstmGradKernel {
  static void Compute(KernelContext& ctx) {
    Run<T> run(ctx, ctx.In(kInput));
    run.ReadInputs(ctx, -1);
    Numbers<T> h = Packed<T>(run.place, &ctx.In(kHidden), nullptr, run.source),
               c = Packed<T>(run.place, &ctx.In(kCell), nullptr, run.source);
    run.cell.gates = const_cast<T*>(ctx.In(kBatchGate).template data<T>());
    run.cell.cell = const_cast<T*>(ctx.In(kBatchCellPreAct).template data<T>());
    run.cell.h = h.data();
    run.cell.c = c.data();
    run.WriteGradients(ctx, run.Backward(ctx, kHiddenGrad, kCellGrad), false);
  }
};
}  // namespace grad

// In dual numbers along the incoming directions: the derivatives of the results are what arrives at
// Hidden@GRAD and Cell@GRAD, those of the gradients what arrives at the inputs.
namespace grad_grad {
constexpr int kHiddenGrad = 5, kCellGrad = 6, kAlong = 7;

void InferShape(InferContext& ctx) {
  CheckInputs(ctx);
  for (int slot = kInput; slot <= kCellGrad; ++slot) {
    if (ctx.HasInput(slot)) ctx.SetOutput(slot, ctx.dims(slot));
  }
}

void DefineLstmGradGrad(OpDef& op);

struct LstmThird {
  static constexpr uint32_t kServes = higher::kAllSlots;
  static void Define(OpDef& op) { DefineLstmGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    std::vector<higher::Input> list;
    for (int slot = kInput; slot <= kBias; ++slot) list.push_back({slot, kAlong + slot, slot});
    return list;
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kHiddenGrad, kHiddenGrad}, {kCellGrad, kCellGrad}};
  }
  static void Run(higher::Problem& p) {
    const LstmAttrs& a = p.ctx.attrs<LstmAttrs>();
    const Tensor& x = p.ctx.In(kInput);
    const int64_t d = x.dim(1) / 4;
    Packing packing = PackLoD(sequence::LastLevel(x, "Input"), a.is_reverse);
    Matrix weight{p.Leaves(kWeight, 0, 4 * d * d), 4 * d};
    Row bias = p.Leaves(kBias, 0, p.ctx.In(kBias).numel());
    LstmCell cell{d,
                  ActOf(a.gate_activation),
                  ActOf(a.candidate_activation),
                  ActOf(a.cell_activation),
                  weight,
                  bias,
                  a.use_peepholes};
    std::vector<Row> h, c;
    for (int64_t s = 0; s < packing.steps.batch; ++s) {
      h.push_back(RowOf(p, kH0, s, d));
      c.push_back(RowOf(p, kC0, s, d));
    }
    ForEachStep(packing, [&](int64_t s, int64_t row) {
      h[s] = cell.Step(p.Leaves(kInput, row * 4 * d, 4 * d), h[s], &c[s]);
      for (int64_t j = 0; j < d; ++j) {
        p.Set(0, row * d + j, h[s][j]);
        p.Set(1, row * d + j, c[s][j]);
      }
    });
  }
};

void DefineLstmGradGrad(OpDef& op) {
  AddInputs(op.Comment("The gradients of lstm_grad, by dual numbers."))
      .Input(kHiddenGrad, "Hidden@GRAD", "shape of Hidden", kDispensable)
      .Input(kCellGrad, "Cell@GRAD", "shape of Cell", kDispensable)
      .Input(kAlong + kInput, "Input@GRAD@GRAD", "shape of Input", kDispensable)
      .Input(kAlong + kH0, "H0@GRAD@GRAD", "shape of H0", kDispensable)
      .Input(kAlong + kC0, "C0@GRAD@GRAD", "shape of C0", kDispensable)
      .Input(kAlong + kWeight, "Weight@GRAD@GRAD", "shape of Weight", kDispensable)
      .Input(kAlong + kBias, "Bias@GRAD@GRAD", "shape of Bias", kDispensable);
  grad::AddGradients(op, "shape of the input")
      .Output(kHiddenGrad, "Hidden@GRAD@GRAD", "shape of Hidden")
      .Output(kCellGrad, "Cell@GRAD@GRAD", "shape of Cell")
      .AttrsOf("lstm")
      .Shape(InferShape)
      .Grad(higher::Recipe<LstmThird>);
}

template <class T>
struct LstmGradGradKernel {
  static void Compute(KernelContext& ctx) {
    using V = Dual<T>;
    Run<V> run(ctx, ctx.In(kInput));
    run.ReadInputs(ctx, kAlong);
    const int64_t size = run.rows() * run.d;
    Numbers<V> gates(run.place, 4 * size), h(run.place, size), c(run.place, size),
        cell(run.place, size);
    run.cell.gates = gates.data();
    run.cell.h = h.data();
    run.cell.c = c.data();
    run.cell.cell = cell.data();
    run.Forward(ctx, kAlong);
    run.WriteGradients(ctx, run.Backward(ctx, kHiddenGrad, kCellGrad), true);
    if (Tensor* out = ctx.OutOrNull(kHiddenGrad))
      ScatterRows(h.data(), run.source, run.d, out->template mutable_data<T>(), true);
    if (Tensor* out = ctx.OutOrNull(kCellGrad))
      ScatterRows(c.data(), run.source, run.d, out->template mutable_data<T>(), true);
  }
};
}  // namespace grad_grad
using grad_grad::LstmThird;

REGISTER_OPERATOR(lstm, DefineLstm);
REGISTER_KERNELS(lstm, LstmKernel, float, double);
REGISTER_OPERATOR(lstm_grad, grad::DefineLstmGrad);
REGISTER_KERNELS(lstm_grad, grad::LstmGradKernel, float, double);
REGISTER_OPERATOR(lstm_grad_grad, grad_grad::DefineLstmGradGrad);
REGISTER_KERNELS(lstm_grad_grad, grad_grad::LstmGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(lstm_grad_grad, LstmThird);

}  // namespace
}  // namespace dygraph::recurrent
