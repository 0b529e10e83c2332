#include "op/gradient_call.h"
#include "operators/recurrent/recurrent_higher.h"
#include "operators/recurrent/rnn.h"

namespace dygraph::recurrent {
namespace {

constexpr int kInput = kRnnInput, kPreState = kRnnPreState, kWeights = kRnnWeights,
              kLengths = kRnnLengths;
constexpr int kOut = 0, kDropoutState = 1, kState = 2, kReserve = 3;

void CheckWeights(InferContext& ctx, const RnnAttrs& a) {
  int64_t h = a.hidden_size, g = a.gates() * h;
  int count = static_cast<int>(4 * a.cells());
  ENFORCE(
      ctx.InputCount(kWeights) == count, InvalidArgument, "WeightList must hold ", count,
      " tensors, w_ih and w_hh of each layer and direction and then b_ih and b_hh of each, got ",
      ctx.InputCount(kWeights));
  for (int i = 0; i < count; ++i) {
    bool bias = i >= count / 2, recurrent = i % 2 == 1;
    int layer = i / 2 / a.directions();
    int64_t columns = recurrent ? h : layer == 0 ? a.input_size : a.directions() * h;
    Dims must = bias ? Dims{g} : Dims{g, columns};
    ENFORCE(ctx.dims(kWeights, i) == must || ctx.dims(kWeights, i).HasUnknown(), InvalidArgument,
            "WeightList[", i, "] must have shape ", must, " for mode ", a.mode, ", got ",
            ctx.dims(kWeights, i));
  }
}

// Sequences side by side.
int64_t BatchOf(InferContext& ctx) {
  const Dims& x = ctx.dims(kInput);
  if (x.rank() == 3) return x[1];
  return ctx.runtime() ? sequence::Count(sequence::LastLevel(ctx.value(kInput).tensor(), "Input"))
                       : -1;
}

// Rows of all time steps together.
int64_t RowsOf(const Dims& x) { return x.rank() == 3 ? MulSizes(x[0], x[1]) : x[0]; }

Dims OutShape(const Dims& x, const RnnAttrs& a) {
  Dims out = x;
  out[x.rank() - 1] = int64_t{a.directions()} * a.hidden_size;
  return out;
}

void CheckInputs(InferContext& ctx) {
  const RnnAttrs& a = ctx.attrs<RnnAttrs>();
  const Dims& x = ctx.dims(kInput);
  int64_t width = x.rank() < 2 ? 0 : x[x.rank() - 1];
  ENFORCE((x.rank() == 3 || x.rank() == 2) && (width == a.input_size || width < 0), InvalidArgument,
          "Input must have shape [time, batch, input_size], or [rows, input_size] with LoD, "
          "input_size being ",
          a.input_size, ", got ", x);
  ENFORCE(x.rank() == 3 || !ctx.HasInput(kLengths), InvalidArgument,
          "SequenceLength must be left out where the LoD of Input ", x, " has the lengths");
  int64_t batch = BatchOf(ctx);
  ENFORCE(ctx.InputCount(kPreState) == a.states(), InvalidArgument, "PreState must hold ",
          a.states(), " tensors for mode ", a.mode, ", got ", ctx.InputCount(kPreState));
  Dims state = {a.cells(), batch, a.hidden_size};
  for (int s = 0; s < a.states(); ++s) {
    ENFORCE(ctx.dims(kPreState, s) == state || ctx.dims(kPreState, s).HasUnknown() || batch < 0,
            InvalidArgument, "PreState[", s,
            "] must have shape [num_layers * directions, batch, hidden_size], ", state, ", got ",
            ctx.dims(kPreState, s));
  }
  CheckWeights(ctx, a);
  if (ctx.HasInput(kLengths)) {
    CheckShape(ctx, kLengths, {batch}, "[batch]");
    DType type = ctx.dtype(kLengths);
    ENFORCE(type == DType::kInt32 || type == DType::kInt64, Type,
            "SequenceLength must hold int32 or int64 numbers, got ", type);
  }
}

OpDef& AddInputs(OpDef& op) {
  return op
      .Input(kInput, "Input", "[time, batch, input_size], or ragged: [rows, input_size] with LoD")
      .Input(kPreState, "PreState",
             "the first states, h and for LSTM c, each [num_layers * directions, batch, "
             "hidden_size]",
             kDuplicable)
      .Input(kWeights, "WeightList",
             "w_ih [gates * hidden_size, width of the layer's input] and w_hh [gates * "
             "hidden_size, hidden_size] of each layer and direction, then b_ih and b_hh [gates * "
             "hidden_size] of each",
             kDuplicable)
      .Input(kLengths, "SequenceLength", "[batch], int32 or int64; absent: all time steps",
             kDispensable | kOnHost);
}

void InferShape(InferContext& ctx) {
  CheckInputs(ctx);
  const RnnAttrs& a = ctx.attrs<RnnAttrs>();
  int states = ctx.OutputCount(kState);
  ENFORCE(states == 0 || states == a.states(), InvalidArgument, "State must hold ", a.states(),
          " tensors for mode ", a.mode, ", got a request for ", states);
  const Dims& x = ctx.dims(kInput);
  int64_t rows = RowsOf(x), width = int64_t{a.directions()} * a.hidden_size;
  ctx.SetOutput(kOut, OutShape(x, a));
  ctx.SetOutput(kDropoutState, {a.drops() ? MulSizes(rows, (a.num_layers - 1) * width) : 0},
                DType::kUInt8);
  for (int s = 0; s < ctx.OutputCount(kState); ++s)
    ctx.SetOutputAt(kState, s, {a.cells(), BatchOf(ctx), a.hidden_size});
  ctx.SetOutput(kReserve, {MulSizes(rows, a.cells() * a.hidden_size * a.kept())});
}

void DefineRnn(OpDef& op) {
  AddInputs(
      op.Comment(
            "A stack of recurrent layers over time. RNN_TANH, RNN_RELU: h = act(w_ih x + b_ih + "
            "w_hh h' + b_hh). LSTM, gates i, f, g, o in w and b: c = sigmoid(f) c' + "
            "sigmoid(i) tanh(g), h = sigmoid(o) tanh(c). GRU, gates r, z, m: m = tanh(w_im x + "
            "b_im + r (w_hm h' + b_hm)), h = (1 - z) m + z h'. Steps beyond a sequence's "
            "length are not computed: Out is 0 there and State is that of its last step.")
          .Example(
              ">>> x, h = to_variable([[[1.0]], [[2.0]]]), to_variable([[[0.0]]])  # two steps\n"
              ">>> weights = [to_variable(w) for w in ([[1.0]], [[0.5]], [0.0], [0.0])]\n"
              ">>> sizes = {\"input_size\": 1, \"hidden_size\": 1, \"num_layers\": 1}\n"
              ">>> out, (last,) = F.rnn(x, [h], weights, mode=\"RNN_RELU\", **sizes)\n"
              ">>> out.tolist(), last.tolist()  # 1, then 2 + 0.5 * 1\n"
              "([[[1.0]], [[2.5]]], [[[2.5]]])"))
      .Output(
          kOut, "Out",
          "[time, batch, directions * hidden_size], or [rows, ...] with LoD: the last layer's h")
      .Output(kDropoutState, "DropoutState", "uint8, what dropout left", kIntermediate)
      .Output(kState, "State", "the last states, shapes of PreState", kDuplicable)
      .Output(kReserve, "Reserve", "what the backward pass reads", kIntermediate)
      .Attr(&RnnAttrs::dropout_prob, "dropout_prob",
            "of dropout between layers while training, which divides by 1 - dropout_prob",
            Between(0, 1))
      .Attr(&RnnAttrs::is_bidirec, "is_bidirec", "a second cell reads each layer's input backwards")
      .Attr(&RnnAttrs::input_size, "input_size", "width of Input", AtLeast(1))
      .Attr(&RnnAttrs::hidden_size, "hidden_size", "width of h", AtLeast(1))
      .Attr(&RnnAttrs::num_layers, "num_layers", "layers on top of each other", Between(1, 1000))
      .Attr(&RnnAttrs::mode, "mode", "the cell", OneOf({"LSTM", "GRU", "RNN_TANH", "RNN_RELU"}))
      .Attr(&RnnAttrs::seed, "seed", "of dropout; 0: the generator's")
      .Attr(&RnnAttrs::is_test, "is_test", "no dropout")
      .OutputCount([](int, const Call& call) { return call.in.count(kPreState); })
      .Shape(InferShape)
      .MixedDTypes()
      .Random()
      .Grad(CallGradient);
}

void DrawMask(const KernelContext& ctx, const RnnAttrs& a, Tensor* mask) {
  kernels::Philox generator =
      a.seed ? kernels::Philox(static_cast<uint64_t>(a.seed), 0)
             : kernels::Philox::OfCall(ctx.random_seed(), ctx.random_stream());
  double threshold = NumberFor(ctx.In(kInput).dtype(), a.dropout_prob) * 0x1p32;
  uint8_t* to = mask->mutable_data<uint8_t>();
  generator.EachRaw<uint32_t>(
      mask->numel(), [=] DYGRAPH_FN(int64_t i, uint32_t bits) { to[i] = bits >= threshold; });
}

template <class T>
struct RnnKernel {
  static void Compute(KernelContext& ctx) {
    Rnn<T> net(ctx, -1);
    Tensor& mask = ctx.Out(kDropoutState);
    bool drops = ctx.attrs<RnnAttrs>().drops();
    if (drops) DrawMask(ctx, ctx.attrs<RnnAttrs>(), &mask);
    T* kept = ctx.Out(kReserve).template mutable_data<T>();
    const int64_t used = net.KeptNumbers();
    kernels::Fill(kept + used, ctx.Out(kReserve).numel() - used, T(0));
    net.Use(kept, drops ? mask.data<uint8_t>() : nullptr);
    net.Forward();
    if (Tensor* out = ctx.OutOrNull(kOut)) {
      net.WriteOut(out, false);
      if (out->rank() == 2) out->SetLoD(ctx.In(kInput).lod_ref());
    }
    for (int s = 0; s < ctx.OutputCount(kState); ++s) {
      if (Tensor* out = ctx.OutOrNull(kState, s)) net.WriteState(s, out, false);
    }
  }
};

namespace grad {
constexpr int kDropoutState = 4, kReserve = 5, kOutGrad = 6, kStateGrad = 7;

OpDef& AddGradients(OpDef& op) {
  return op.Output(kInput, "Input@GRAD", "shape of Input")
      .Output(kPreState, "PreState@GRAD", "shapes of PreState", kDuplicable)
      .Output(kWeights, "WeightList@GRAD", "shapes of WeightList", kDuplicable)
      .AttrsOf("rnn");
}

void CheckArriving(InferContext& ctx, int out, int state) {
  const RnnAttrs& a = ctx.attrs<RnnAttrs>();
  ENFORCE(!ctx.HasInput(out) || ctx.dims(out) == OutShape(ctx.dims(kInput), a) ||
              ctx.dims(kInput).HasUnknown(),
          InvalidArgument, "Out@GRAD must have the shape of Out, ", OutShape(ctx.dims(kInput), a),
          ", got ", ctx.dims(out));
  if (!ctx.HasInput(state)) return;
  ENFORCE(ctx.InputCount(state) == a.states(), InvalidArgument, "there must be ", a.states(),
          " State@GRAD, got ", ctx.InputCount(state));
  for (int s = 0; s < a.states(); ++s) {
    const Value* g = ctx.call().in.at(state, s);
    ENFORCE(!g || g->dims() == ctx.dims(kPreState, s), InvalidArgument, "State@GRAD[", s,
            "] must have the shape of PreState, got ", g->dims());
  }
}

void SetGradients(InferContext& ctx) {
  ctx.SetOutput(kInput, ctx.dims(kInput), ctx.dtype(kInput));
  for (int slot : {kPreState, kWeights}) {
    for (int i = 0; i < ctx.OutputCount(slot) && i < ctx.InputCount(slot); ++i)
      ctx.SetOutputAt(slot, i, ctx.dims(slot, i), ctx.dtype(kInput));
  }
}

void InferGradShape(InferContext& ctx) {
  CheckInputs(ctx);
  CheckArriving(ctx, kOutGrad, kStateGrad);
  const RnnAttrs& a = ctx.attrs<RnnAttrs>();
  const Dims& x = ctx.dims(kInput);
  int64_t rows = RowsOf(x);
  CheckShape(ctx, kReserve, {MulSizes(rows, a.cells() * a.hidden_size * a.kept())}, "rnn gave it");
  int64_t width = int64_t{a.directions()} * a.hidden_size;
  CheckShape(ctx, kDropoutState, {a.drops() ? MulSizes(rows, (a.num_layers - 1) * width) : 0},
             "rnn gave it");
  SetGradients(ctx);
}

void DefineRnnGrad(OpDef& op) {
  AddInputs(op.Comment("The gradients of rnn, backwards through layers and steps."))
      .Input(kDropoutState, "DropoutState", "result of rnn")
      .Input(kReserve, "Reserve", "result of rnn")
      .Input(kOutGrad, "Out@GRAD", "shape of Out", kDispensable)
      .Input(kStateGrad, "State@GRAD", "shapes of State, elements may be absent",
             kDuplicable | kDispensable);
  AddGradients(op).Shape(InferGradShape).MixedDTypes().Grad(CallGradient);
}

template <class T>
struct RnnGradKernel {
  static void Compute(KernelContext& ctx) {
    Rnn<T> net(ctx, -1);
    const Tensor& mask = ctx.In(kDropoutState);
    net.Use(const_cast<T*>(ctx.In(kReserve).template data<T>()),
            ctx.attrs<RnnAttrs>().drops() ? mask.data<uint8_t>() : nullptr);
    net.WriteGradients(ctx, net.Backward(ctx, kOutGrad, kStateGrad), false);
  }
};
}  // namespace grad

// In dual numbers along the incoming directions, see kernels/dual.h.
namespace grad_grad {
constexpr int kDropoutState = 4, kOutGrad = 5, kStateGrad = 6, kAlong = 7;
constexpr int kToOut = 3, kToState = 4;

void DefineRnnGradGrad(OpDef& op);

struct RnnThird {
  static constexpr uint32_t kServes =
      higher::Slots(kInput, kPreState, kWeights, kOutGrad, kStateGrad, kAlong + kInput,
                    kAlong + kPreState, kAlong + kWeights);
  static void Define(OpDef& op) { DefineRnnGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext& ctx) {
    std::vector<higher::Input> list = {{kInput, kAlong + kInput, kInput}};
    for (int slot : {kPreState, kWeights}) {
      for (int i = 0; i < ctx.InputCount(slot); ++i)
        list.push_back({{slot, i}, {kAlong + slot, i}, {slot, i}});
    }
    return list;
  }
  static std::vector<higher::Result> Results(const KernelContext& ctx) {
    std::vector<higher::Result> list = {{kOutGrad, kToOut}};
    for (int i = 0; i < ctx.InputCount(kPreState); ++i)
      list.push_back({{kStateGrad, i}, {kToState, i}});
    return list;
  }

  // One cell over all steps: a layer in one direction. `states` are h and c of each sequence.
  struct Cell {
    const RnnAttrs& a;
    Matrix in, recurrent;  // [gates * hidden, width]
    Row in_bias, bias;

    Scalar FromInput(const Row& x, int64_t k) const { return in.TimesRow(in_bias[k], x, k); }
    Scalar FromState(const Row& h, int64_t k) const { return recurrent.TimesRow(bias[k], h, k); }
    void Step(const Row& x, std::vector<Row>* states) const {
      const int64_t n = a.hidden_size;
      const Row h = (*states)[0];
      auto pre = [&](int64_t k) { return FromInput(x, k) + FromState(h, k); };
      for (int64_t j = 0; j < n; ++j) {
        Scalar& to = (*states)[0][j];
        if (a.mode == "LSTM") {
          Scalar& c = (*states)[1][j];
          c = Sigmoid(pre(n + j)) * c + Sigmoid(pre(j)) * Tanh(pre(2 * n + j));
          to = Sigmoid(pre(3 * n + j)) * Tanh(c);
        } else if (a.mode == "GRU") {
          Scalar r = Sigmoid(pre(j)), z = Sigmoid(pre(n + j));
          Scalar m = Tanh(FromInput(x, 2 * n + j) + r * FromState(h, 2 * n + j));
          to = m + z * (h[j] - m);
        } else {
          to = Activate(a.mode == "RNN_TANH" ? kernels::Act::kTanh : kernels::Act::kRelu, pre(j));
        }
      }
    }
  };

  static void Run(higher::Problem& p) {
    const RnnAttrs& a = p.ctx.attrs<RnnAttrs>();
    const Tensor& input = p.ctx.In(kInput);
    const int64_t width = input.dim(input.rank() - 1), n = a.hidden_size, dirs = a.directions(),
                  rows = width ? input.numel() / width : 0;
    const Packing forward = Rnn<double>::PackInput(p.ctx, input, false);
    const uint8_t* mask = a.drops() ? p.ctx.In(kDropoutState).data<uint8_t>() : nullptr;
    const double dropped = NumberFor(input.dtype(), a.dropout_prob);
    const double factor = dropped < 1 ? 1 / (1 - dropped) : 0;
    std::vector<Row> x(rows);
    for (int64_t row : forward.source) x[row] = p.Leaves(0, row * width, width);
    for (int layer = 0; layer < a.num_layers; ++layer) {
      std::vector<Row> out(rows);
      for (int64_t row : forward.source) out[row].resize(dirs * n);
      for (int dir = 0; dir < dirs; ++dir) RunCell(p, a, layer * dirs + dir, dir, x, &out);
      if (mask && layer + 1 < a.num_layers) {
        for (int64_t row : forward.source) {
          for (Scalar& v : out[row]) v = *mask++ ? v * factor : kernels::Constant(0);
        }
      }
      x = std::move(out);
    }
    for (int64_t row : forward.source) {
      for (int64_t j = 0; j < dirs * n; ++j) p.Set(0, row * dirs * n + j, x[row][j]);
    }
  }

  static void RunCell(higher::Problem& p, const RnnAttrs& a, int64_t k, int dir,
                      const std::vector<Row>& x, std::vector<Row>* out) {
    const int states = a.states(), first = 1 + states;
    const int64_t n = a.hidden_size, all = a.gates() * n, half = 2 * a.cells();
    auto whole = [&](int64_t i) {
      const int at = static_cast<int>(i);
      return p.Leaves(first + at, 0, p.ctx.In(kWeights, at).numel());
    };
    const int64_t width = p.ctx.In(kWeights, static_cast<int>(2 * k)).numel() / all;
    Cell cell{a,
              {whole(2 * k), width},
              {whole(2 * k + 1), n},
              whole(half + 2 * k),
              whole(half + 2 * k + 1)};
    const Packing packing = Rnn<double>::PackInput(p.ctx, p.ctx.In(kInput), dir == 1);
    const int64_t batch = packing.steps.batch;
    std::vector<std::vector<Row>> now(batch, std::vector<Row>(states));
    for (int64_t s = 0; s < batch; ++s) {
      for (int i = 0; i < states; ++i) now[s][i] = p.Leaves(1 + i, (k * batch + s) * n, n);
    }
    ForEachStep(packing, [&](int64_t s, int64_t row) {
      cell.Step(x[row], &now[s]);
      std::copy(now[s][0].begin(), now[s][0].end(), (*out)[row].begin() + dir * n);
    });
    for (int64_t s = 0; s < batch; ++s) {
      for (int i = 0; i < states; ++i) {
        for (int64_t j = 0; j < n; ++j) p.Set(1 + i, (k * batch + s) * n + j, now[s][i][j]);
      }
    }
  }
};

void DefineRnnGradGrad(OpDef& op) {
  AddInputs(op.Comment("The gradients of rnn_grad, by dual numbers."))
      .Input(kDropoutState, "DropoutState", "result of rnn")
      .Input(kOutGrad, "Out@GRAD", "shape of Out", kDispensable)
      .Input(kStateGrad, "State@GRAD", "shapes of State", kDuplicable | kDispensable)
      .Input(kAlong + kInput, "Input@GRAD@GRAD", "shape of Input", kDispensable)
      .Input(kAlong + kPreState, "PreState@GRAD@GRAD", "shapes of PreState",
             kDuplicable | kDispensable)
      .Input(kAlong + kWeights, "WeightList@GRAD@GRAD", "shapes of WeightList",
             kDuplicable | kDispensable);
  grad::AddGradients(op)
      .Output(kToOut, "Out@GRAD@GRAD", "shape of Out")
      .Output(kToState, "State@GRAD@GRAD", "shapes of State", kDuplicable)
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        grad::CheckArriving(ctx, kOutGrad, kStateGrad);
        grad::SetGradients(ctx);
        const RnnAttrs& a = ctx.attrs<RnnAttrs>();
        ctx.SetOutput(kToOut, OutShape(ctx.dims(kInput), a), ctx.dtype(kInput));
        for (int s = 0; s < ctx.OutputCount(kToState); ++s)
          ctx.SetOutputAt(kToState, s, ctx.dims(kPreState, s), ctx.dtype(kInput));
      })
      .MixedDTypes()
      .Grad(higher::Recipe<RnnThird>);
}

template <class T>
struct RnnGradGradKernel {
  static void Compute(KernelContext& ctx) {
    using V = Dual<T>;
    Rnn<V> net(ctx, kAlong);
    Numbers<V> kept(ctx.place(), net.KeptNumbers());
    const Tensor& mask = ctx.In(kDropoutState);
    net.Use(kept.data(), ctx.attrs<RnnAttrs>().drops() ? mask.data<uint8_t>() : nullptr);
    net.Forward();
    net.WriteGradients(ctx, net.Backward(ctx, kOutGrad, kStateGrad), true);
    if (Tensor* out = ctx.OutOrNull(kToOut)) net.WriteOut(out, true);
    for (int s = 0; s < ctx.OutputCount(kToState); ++s) {
      if (Tensor* out = ctx.OutOrNull(kToState, s)) net.WriteState(s, out, true);
    }
  }
};
}  // namespace grad_grad
using grad_grad::RnnThird;

REGISTER_OPERATOR(rnn, DefineRnn);
REGISTER_KERNELS(rnn, RnnKernel, float, double);
REGISTER_OPERATOR(rnn_grad, grad::DefineRnnGrad);
REGISTER_KERNELS(rnn_grad, grad::RnnGradKernel, float, double);
REGISTER_OPERATOR(rnn_grad_grad, grad_grad::DefineRnnGradGrad);
REGISTER_KERNELS(rnn_grad_grad, grad_grad::RnnGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(rnn_grad_grad, RnnThird);

}  // namespace
}  // namespace dygraph::recurrent
