#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kGrad = 1, kLearningRate = 2, kMoment = 3, kInfNorm = 4, kBeta1Pow = 5;
constexpr int kParamOut = 0, kMomentOut = 1, kInfNormOut = 2, kBeta1PowOut = 3;

struct AdamaxAttrs {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

void InferShape(InferContext& ctx) {
  optimizer::InferStep(ctx, kParam, kGrad,
                       {{kParam, kParamOut}, {kMoment, kMomentOut}, {kInfNorm, kInfNormOut}},
                       {kLearningRate, kBeta1Pow});
  optimizer::InferNumber(ctx, kBeta1Pow, kBeta1PowOut);
}

void DefineAdamax(OpDef& op) {
  op.Comment(
        "MomentOut = beta1 * Moment + (1 - beta1) * Grad; InfNormOut = max(|Grad|, beta2 * InfNorm "
        "+ epsilon); ParamOut = Param - LearningRate / (1 - Beta1Pow) * MomentOut / InfNormOut "
        "(Kingma and Ba, 2015).")
      .Example(
          ">>> param, grad, rate = (to_variable([v]) for v in (1.0, 2.0, 0.5))\n"
          ">>> zero = to_variable([0.0])\n"
          ">>> out = F.adamax(param, grad, rate, zero, zero, to_variable([0.9]))\n"
          ">>> [round(v.item(), 4) for v in out]  # 1 - 0.5 / 0.1 * 0.2 / 2\n"
          "[0.5, 0.2, 2.0]")
      .Input(kParam, "Param", "any shape")
      .Input(kGrad, "Grad", "shape and type of Param")
      .Input(kLearningRate, "LearningRate", "[1] or []")
      .Input(kMoment, "Moment", "shape and type of Param")
      .Input(kInfNorm, "InfNorm", "shape and type of Param")
      .Input(kBeta1Pow, "Beta1Pow", "[1]: beta1 to the number of this step")
      .Output(kParamOut, "ParamOut", "shape of Param")
      .Output(kMomentOut, "MomentOut", "shape of Param")
      .Output(kInfNormOut, "InfNormOut", "shape of Param")
      .Output(kBeta1PowOut, "Beta1PowOut", "Beta1Pow * beta1, made where it is asked for", kExtra)
      .Attr(&AdamaxAttrs::beta1, "beta1", "how much of the first moment stays", Between(0, 1))
      .Attr(&AdamaxAttrs::beta2, "beta2", "how much of the norm stays", Between(0, 1))
      .Attr(&AdamaxAttrs::epsilon, "epsilon", "keeps the quotient finite", AtLeast(0))
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kParam, kParamOut)
      .InPlace(kMoment, kMomentOut)
      .InPlace(kInfNorm, kInfNormOut)
      .InPlace(kBeta1Pow, kBeta1PowOut)
      .NoGrad();
}

template <class T>
struct AdamaxKernel {
  static void Compute(KernelContext& ctx) {
    const AdamaxAttrs& a = ctx.attrs<AdamaxAttrs>();
    const Number<double> power(ctx.In(kBeta1Pow)), given(ctx.In(kLearningRate));
    T b1 = static_cast<T>(a.beta1), b2 = static_cast<T>(a.beta2), eps = static_cast<T>(a.epsilon);
    const T* p = ctx.In(kParam).data<T>();
    const T* m = ctx.In(kMoment).data<T>();
    const T* n = ctx.In(kInfNorm).data<T>();
    T* p_out = ctx.Out(kParamOut).mutable_data<T>();
    T* m_out = ctx.Out(kMomentOut).mutable_data<T>();
    T* n_out = ctx.Out(kInfNormOut).mutable_data<T>();
    auto read = [=] DYGRAPH_FN() -> T { return static_cast<T>(given() / (1 - power())); };
    optimizer::ForEachElement<T>(ctx, kParam, kGrad, read, [=] DYGRAPH_FN(T rate, int64_t i, T g) {
      T first = b1 * m[i] + (1 - b1) * g, decayed = b2 * n[i] + eps, size = std::abs(g);
      T norm = size > decayed || size != size ? size : decayed;  // a NaN passes
      m_out[i] = first;
      n_out[i] = norm;
      p_out[i] = p[i] - rate * first / norm;
    });
    const optimizer::NumberTo power_out(ctx.OutOrNull(kBeta1PowOut));
    optimizer::AfterStep(ctx, [=] DYGRAPH_FN() { power_out(power() * b1); });
  }
};

REGISTER_OPERATOR(adamax, DefineAdamax);
REGISTER_KERNELS(adamax, AdamaxKernel, float, double);

}  // namespace
}  // namespace dygraph
