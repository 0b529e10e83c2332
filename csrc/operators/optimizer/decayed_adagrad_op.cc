#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kGrad = 1, kMoment = 2, kLearningRate = 3;
constexpr int kParamOut = 0, kMomentOut = 1;

struct DecayedAdagradAttrs {
  double decay = 0.95;
  double epsilon = 1e-6;
};

void InferShape(InferContext& ctx) {
  optimizer::InferStep(ctx, kParam, kGrad, {{kParam, kParamOut}, {kMoment, kMomentOut}},
                       {kLearningRate});
}

void DefineDecayedAdagrad(OpDef& op) {
  op.Comment(
        "MomentOut = decay * Moment + (1 - decay) * Grad^2; ParamOut = Param - LearningRate * Grad "
        "/ (sqrt(MomentOut) + epsilon).")
      .Example(
          ">>> param, grad, moment = (to_variable([v]) for v in (1.0, 2.0, 14.0))\n"
          ">>> out = F.decayed_adagrad(param, grad, moment, to_variable([0.3]), decay=0.5)\n"
          ">>> [round(v.item(), 4) for v in out]  # 1 - 0.3 * 2 / sqrt(9)\n"
          "[0.8, 9.0]")
      .Input(kParam, "Param", "any shape")
      .Input(kGrad, "Grad", "shape and type of Param")
      .Input(kMoment, "Moment", "shape and type of Param")
      .Input(kLearningRate, "LearningRate", "[1] or []")
      .Output(kParamOut, "ParamOut", "shape of Param")
      .Output(kMomentOut, "MomentOut", "shape of Param")
      .Attr(&DecayedAdagradAttrs::decay, "decay", "how much of the moment stays", Between(0, 1))
      .Attr(&DecayedAdagradAttrs::epsilon, "epsilon", "keeps the quotient finite", AtLeast(0))
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kParam, kParamOut)
      .InPlace(kMoment, kMomentOut)
      .NoGrad();
}

template <class T>
struct DecayedAdagradKernel {
  static void Compute(KernelContext& ctx) {
    const DecayedAdagradAttrs& a = ctx.attrs<DecayedAdagradAttrs>();
    const Number<T> rate(ctx.In(kLearningRate));
    T decay = static_cast<T>(a.decay), eps = static_cast<T>(a.epsilon);
    const T* p = ctx.In(kParam).data<T>();
    const T* m = ctx.In(kMoment).data<T>();
    T* p_out = ctx.Out(kParamOut).mutable_data<T>();
    T* m_out = ctx.Out(kMomentOut).mutable_data<T>();
    optimizer::ForEachElement<T>(ctx, kParam, kGrad, rate, [=] DYGRAPH_FN(T rate, int64_t i, T g) {
      T mean = decay * m[i] + (1 - decay) * g * g;
      m_out[i] = mean;
      p_out[i] = p[i] - rate * g / (std::sqrt(mean) + eps);
    });
  }
};

REGISTER_OPERATOR(decayed_adagrad, DefineDecayedAdagrad);
REGISTER_KERNELS(decayed_adagrad, DecayedAdagradKernel, float, double);

}  // namespace
}  // namespace dygraph
