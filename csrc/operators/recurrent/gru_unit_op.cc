#include "operators/recurrent/gru.h"

namespace dygraph::recurrent {
namespace {

struct GruUnitAttrs {
  int32_t activation = 2, gate_activation = 1;  // numbers of kernels::Act
  bool origin_mode = false;
};

struct Spec {
  static constexpr int kInput = 0, kH0 = 1, kWeight = 2, kBias = 3;
  static constexpr int kGate = 0, kReset = 1, kHidden = 2, kBatchHidden = -1;
  static constexpr bool kFirstMayBeAbsent = false;
  static constexpr const char *kType = "gru_unit", *kGateName = "Gate",
                              *kResetName = "ResetHiddenPrev";

  static const char* Name(int slot) {
    static const char* const names[] = {"Input", "HiddenPrev", "Weight", "Bias"};
    return names[slot];
  }
  static const char* Help(int slot) {
    static const char* const help[] = {
        "[rows, 3 * D]: x times the input weights, as u, r, m", "[rows, D], the states before",
        "[D, 3 * D]: its first 2 * D * D numbers are [D, 2 * D] for u and r, the rest [D, D] for m",
        "[1, 3 * D]"};
    return help[slot];
  }
  static GruForm Form(const void* attrs) {
    const GruUnitAttrs& a = *static_cast<const GruUnitAttrs*>(attrs);
    return {static_cast<kernels::Act>(a.gate_activation), static_cast<kernels::Act>(a.activation),
            a.origin_mode};
  }
  static Packing Pack(const Call& call) {
    std::vector<int64_t> one(sequence::TensorOf(call, kInput).dim(0), 1);
    return recurrent::Pack(one, false, [](int64_t s, int64_t) { return s; });
  }
  static void Check(InferContext& ctx) {
    const Dims& x = ctx.dims(kInput);
    ENFORCE(x.rank() == 2 && (x[1] < 0 || (x[1] > 0 && x[1] % 3 == 0)), InvalidArgument,
            "Input must have shape [rows, 3 * D], got ", x);
    int64_t d = x[1] < 0 ? -1 : x[1] / 3;
    CheckShape(ctx, kH0, {x[0], d}, "[rows, D]");
    CheckShape(ctx, kWeight, {d, x[1]}, "[D, 3 * D]");
    CheckShape(ctx, kBias, {1, x[1]}, "[1, 3 * D]");
  }
};
using Ops = GruOps<Spec>;

void DefineGruUnit(OpDef& op) {
  Ops::AddInputs(
      op.Comment("One step of a gated recurrent unit from h = HiddenPrev: u = gate(x_u + h W_u + "
                 "b_u), r = gate(x_r + h W_r + b_r), m = activation(x_m + (r h) W_m + b_m), Hidden "
                 "= (1 - u) h + u m; with origin_mode u h + (1 - u) m.")
          .Example(">>> x, h = to_variable([[0.0, 0.0, 4.0]]), to_variable([[2.0]])\n"
                   ">>> weight = to_variable([[0.0, 0.0, 0.0]])  # so u = 1/2, m = 4\n"
                   ">>> F.gru_unit(x, h, weight, activation=0).tolist()\n"
                   "[[3.0]]"),
      "", 0, kSingle)
      .Output(Spec::kGate, "Gate", "[rows, 3 * D]: u, r, m", kIntermediate)
      .Output(Spec::kReset, "ResetHiddenPrev", "[rows, D]: r h", kIntermediate)
      .Output(Spec::kHidden, "Hidden", "[rows, D]")
      .Attr(&GruUnitAttrs::activation, "activation", "of m: 0 identity, 1 sigmoid, 2 tanh, 3 relu",
            Between(0, 3))
      .Attr(&GruUnitAttrs::gate_activation, "gate_activation", "of u and r, the same numbers",
            Between(0, 3))
      .Attr(&GruUnitAttrs::origin_mode, "origin_mode", "u keeps the past, not the candidate")
      .Shape([](InferContext& ctx) {
        Spec::Check(ctx);
        ctx.SetOutput(Spec::kGate, ctx.dims(Spec::kInput));
        ctx.SetOutput(Spec::kReset, ctx.dims(Spec::kH0));
        ctx.SetOutput(Spec::kHidden, ctx.dims(Spec::kH0));
      })
      .Grad(CallGradient);
}

template <class T>
using GruUnitKernel = Ops::Forward<T>;
template <class T>
using GruUnitGradKernel = Ops::Backward<T>;
template <class T>
using GruUnitGradGradKernel = Ops::Again<T>;
using GruUnitThird = Ops::Third;

REGISTER_OPERATOR(gru_unit, DefineGruUnit);
REGISTER_KERNELS(gru_unit, GruUnitKernel, float, double);
REGISTER_OPERATOR(gru_unit_grad, Ops::DefineGrad);
REGISTER_KERNELS(gru_unit_grad, GruUnitGradKernel, float, double);
REGISTER_OPERATOR(gru_unit_grad_grad, Ops::DefineGradGrad);
REGISTER_KERNELS(gru_unit_grad_grad, GruUnitGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(gru_unit_grad_grad, GruUnitThird);

}  // namespace
}  // namespace dygraph::recurrent
