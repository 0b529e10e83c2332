#include "operators/recurrent/gru.h"

namespace dygraph::recurrent {
namespace {

struct GruAttrs {
  std::string activation = "tanh", gate_activation = "sigmoid";
  bool is_reverse = false, origin_mode = false;
};

struct Spec {
  static constexpr int kInput = 0, kH0 = 1, kWeight = 2, kBias = 3;
  static constexpr int kGate = 0, kReset = 1, kBatchHidden = 2, kHidden = 3;
  static constexpr bool kFirstMayBeAbsent = true;
  static constexpr const char *kType = "gru", *kGateName = "BatchGate",
                              *kResetName = "BatchResetHiddenPrev";

  static const char* Name(int slot) {
    static const char* const names[] = {"Input", "H0", "Weight", "Bias"};
    return names[slot];
  }
  static const char* Help(int slot) {
    static const char* const help[] = {
        "[rows, 3 * D] with LoD: x times the input weights, as u, r, m",
        "[sequences, D], the first hidden states; 0 where absent",
        "[D, 3 * D]: its first 2 * D * D numbers are [D, 2 * D] for u and r, the rest [D, D] for m",
        "[1, 3 * D]"};
    return help[slot];
  }
  static GruForm Form(const void* attrs) {
    const GruAttrs& a = *static_cast<const GruAttrs*>(attrs);
    return {ActOf(a.gate_activation), ActOf(a.activation), a.origin_mode};
  }
  static Packing Pack(const Call& call) {
    return PackLoD(sequence::LastLevel(sequence::TensorOf(call, kInput), "Input"),
                   static_cast<const GruAttrs*>(call.attrs)->is_reverse);
  }
  static void Check(InferContext& ctx) {
    const Dims& x = ctx.dims(kInput);
    ENFORCE(x.rank() == 2 && (x[1] < 0 || (x[1] > 0 && x[1] % 3 == 0)), InvalidArgument,
            "Input must have shape [rows, 3 * D], got ", x);
    int64_t d = x[1] < 0 ? -1 : x[1] / 3, n = -1;
    if (ctx.runtime())
      n = sequence::Count(sequence::LastLevel(ctx.value(kInput).tensor(), "Input"));
    CheckShape(ctx, kWeight, {d, x[1]}, "[D, 3 * D]");
    CheckShape(ctx, kBias, {1, x[1]}, "[1, 3 * D]");
    CheckShape(ctx, kH0, {n, d}, "[sequences, D]");
  }
};
using Ops = GruOps<Spec>;

void DefineGru(OpDef& op) {
  Ops::AddInputs(
      op.Comment("Along each sequence, h' being Hidden of the row before: u = gate(x_u + h' W_u + "
                 "b_u), r = gate(x_r + h' W_r + b_r), m = activation(x_m + (r h') W_m + b_m), "
                 "Hidden = (1 - u) h' + u m; with origin_mode u h' + (1 - u) m, as in Cho et al., "
                 "\"Learning phrase representations using RNN encoder-decoder\", 2014.")
          .Example(">>> x = to_variable([[0.0, 0.0, 4.0], [0.0, 0.0, 4.0]], lod=[[0, 2]])\n"
                   ">>> weight = to_variable([[0.0, 0.0, 0.0]])  # so u = 1/2, m = 4\n"
                   ">>> F.gru(x, weight, activation=\"identity\").tolist()\n"
                   "[[2.0], [3.0]]"),
      "", 0, kSingle)
      .Output(Spec::kGate, "BatchGate", "u, r, m by time step", kIntermediate)
      .Output(Spec::kReset, "BatchResetHiddenPrev", "r h' by time step", kIntermediate)
      .Output(Spec::kBatchHidden, "BatchHidden", "Hidden by time step", kIntermediate)
      .Output(Spec::kHidden, "Hidden", "[rows, D], the LoD of Input")
      .Attr(&GruAttrs::activation, "activation", "of the candidate m", AnActivation())
      .Attr(&GruAttrs::gate_activation, "gate_activation", "of u and r", AnActivation())
      .Attr(&GruAttrs::is_reverse, "is_reverse", "from the last row of a sequence to its first")
      .Attr(&GruAttrs::origin_mode, "origin_mode", "u keeps the past, not the candidate")
      .Shape([](InferContext& ctx) {
        Spec::Check(ctx);
        const Dims& x = ctx.dims(Spec::kInput);
        Dims state = {x[0], x[1] < 0 ? -1 : x[1] / 3};
        ctx.SetOutput(Spec::kGate, x);
        for (int slot : {Spec::kReset, Spec::kBatchHidden, Spec::kHidden})
          ctx.SetOutput(slot, state);
      })
      .Grad(CallGradient);
}

template <class T>
using GruKernel = Ops::Forward<T>;
template <class T>
using GruGradKernel = Ops::Backward<T>;
template <class T>
using GruGradGradKernel = Ops::Again<T>;
using GruThird = Ops::Third;

REGISTER_OPERATOR(gru, DefineGru);
REGISTER_KERNELS(gru, GruKernel, float, double);
REGISTER_OPERATOR(gru_grad, Ops::DefineGrad);
REGISTER_KERNELS(gru_grad, GruGradKernel, float, double);
REGISTER_OPERATOR(gru_grad_grad, Ops::DefineGradGrad);
REGISTER_KERNELS(gru_grad_grad, GruGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(gru_grad_grad, GruThird);

}  // namespace
}  // namespace dygraph::recurrent
