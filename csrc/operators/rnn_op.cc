#include "operators/rnn.h"

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
             kDispensable);
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
      .Grad([](GradBuilder& g) {
        g.Call("rnn_grad",
               {g.Input(kInput), g.Inputs(kPreState), g.Inputs(kWeights), g.Input(kLengths),
                g.Output(kDropoutState), g.Output(kReserve), g.OutputGrad(kOut),
                g.OutputGrads(kState)},
               {g.InputGrad(kInput), g.InputGrads(kPreState), g.InputGrads(kWeights)})
            .SameAttrs();
      });
}

void DrawMask(const KernelContext& ctx, const RnnAttrs& a, Tensor* mask) {
  kernels::Philox generator = a.seed ? kernels::Philox(static_cast<uint64_t>(a.seed), 0)
                                     : kernels::Philox(ctx.random_seed(), ctx.random_stream());
  double threshold = double{a.dropout_prob} * 0x1p32;
  std::vector<uint32_t> bits(mask->numel());
  generator.Raw(bits.data(), mask->numel());
  uint8_t* to = mask->mutable_data<uint8_t>();
  for (size_t i = 0; i < bits.size(); ++i) to[i] = bits[i] >= threshold;
}

template <class T>
struct RnnKernel {
  static void Compute(KernelContext& ctx) {
    Rnn<T> net(ctx, -1);
    Tensor& mask = ctx.Out(kDropoutState);
    bool drops = ctx.attrs<RnnAttrs>().drops();
    if (drops) DrawMask(ctx, ctx.attrs<RnnAttrs>(), &mask);
    T* kept = ctx.Out(kReserve).template mutable_data<T>();
    std::fill(kept + net.KeptNumbers(), kept + ctx.Out(kReserve).numel(), T(0));
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
  AddGradients(op).Shape(InferGradShape).MixedDTypes().Grad([](GradBuilder& g) {
    g.Call("rnn_grad_grad",
           {g.Input(kInput), g.Inputs(kPreState), g.Inputs(kWeights), g.Input(kLengths),
            g.Input(kDropoutState), g.Input(kOutGrad), g.Inputs(kStateGrad), g.OutputGrad(kInput),
            g.OutputGrads(kPreState), g.OutputGrads(kWeights)},
           {g.InputGrad(kInput), g.InputGrads(kPreState), g.InputGrads(kWeights),
            g.InputGrad(kOutGrad), g.InputGrads(kStateGrad)})
        .SameAttrs();
  });
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
      .Grad([](GradBuilder& g) { RefuseThirdOrder(g, 10, 5); });
}

template <class T>
struct RnnGradGradKernel {
  static void Compute(KernelContext& ctx) {
    using V = Dual<T>;
    Rnn<V> net(ctx, kAlong);
    std::vector<V> kept(net.KeptNumbers());
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

REGISTER_OPERATOR(rnn, DefineRnn);
REGISTER_CPU_KERNEL(rnn, RnnKernel, float, double);
REGISTER_OPERATOR(rnn_grad, grad::DefineRnnGrad);
REGISTER_CPU_KERNEL(rnn_grad, grad::RnnGradKernel, float, double);
REGISTER_OPERATOR(rnn_grad_grad, grad_grad::DefineRnnGradGrad);
REGISTER_CPU_KERNEL(rnn_grad_grad, grad_grad::RnnGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph::recurrent
