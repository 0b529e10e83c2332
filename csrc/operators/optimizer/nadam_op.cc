#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kGrad = 1, kLearningRate = 2, kMomentumDecayPow = 3, kBeta2Pow = 4,
              kMuProduct = 5, kMoment1 = 6, kMoment2 = 7;
constexpr int kParamOut = 0, kMomentumDecayPowOut = 1, kBeta2PowOut = 2, kMuProductOut = 3,
              kMoment1Out = 4, kMoment2Out = 5;

struct NadamAttrs {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double momentum_decay = 0.004;
};

void InferShape(InferContext& ctx) {
  optimizer::InferStep(ctx, kParam, kGrad,
                       {{kParam, kParamOut}, {kMoment1, kMoment1Out}, {kMoment2, kMoment2Out}},
                       {kLearningRate, kMomentumDecayPow, kBeta2Pow, kMuProduct});
  optimizer::InferNumber(ctx, kMomentumDecayPow, kMomentumDecayPowOut);
  optimizer::InferNumber(ctx, kBeta2Pow, kBeta2PowOut);
  optimizer::InferNumber(ctx, kMuProduct, kMuProductOut);
}

void DefineNadam(OpDef& op) {
  op.Comment(
        "Adam with Nesterov's look ahead (Dozat, 2016). MomentumDecayPowOut = 0.96 * "
        "MomentumDecayPow; mu = beta1 * (1 - 0.5 * MomentumDecayPowOut^momentum_decay), and mu' "
        "the same one step later; MuProductOut = mu * MuProduct; Moment1Out = beta1 * Moment1 + (1 "
        "- beta1) * Grad; Moment2Out = beta2 * Moment2 + (1 - beta2) * Grad^2; Beta2PowOut = beta2 "
        "* Beta2Pow; m = mu' * Moment1Out / (1 - MuProductOut * mu') + (1 - mu) * Grad / (1 - "
        "MuProductOut); ParamOut = Param - LearningRate * m / (sqrt(Moment2Out / (1 - "
        "Beta2PowOut)) + epsilon). The three numbers start at 1.")
      .Example(
          ">>> one, zero, grad, rate = (to_variable([v]) for v in (1.0, 0.0, 2.0, 0.1))\n"
          ">>> param, *states = F.nadam(one, grad, rate, one, one, one, zero, zero)\n"
          ">>> [round(v.item(), 4) for v in (param, *states)]\n"
          "[0.8944, 0.96, 0.999, 0.4501, 0.2, 0.004]")
      .Input(kParam, "Param", "any shape")
      .Input(kGrad, "Grad", "shape and type of Param")
      .Input(kLearningRate, "LearningRate", "[1] or []")
      .Input(kMomentumDecayPow, "MomentumDecayPow", "[1]: 0.96 to the number of steps made")
      .Input(kBeta2Pow, "Beta2Pow", "[1]: beta2 to the number of steps made")
      .Input(kMuProduct, "MuProduct", "[1]: product of all mu")
      .Input(kMoment1, "Moment1", "shape and type of Param")
      .Input(kMoment2, "Moment2", "shape and type of Param")
      .Output(kParamOut, "ParamOut", "shape of Param")
      .Output(kMomentumDecayPowOut, "MomentumDecayPowOut", "shape of MomentumDecayPow")
      .Output(kBeta2PowOut, "Beta2PowOut", "shape of Beta2Pow")
      .Output(kMuProductOut, "MuProductOut", "shape of MuProduct")
      .Output(kMoment1Out, "Moment1Out", "shape of Param")
      .Output(kMoment2Out, "Moment2Out", "shape of Param")
      .Attr(&NadamAttrs::beta1, "beta1", "how much of the first moment stays", Between(0, 1))
      .Attr(&NadamAttrs::beta2, "beta2", "how much of the second moment stays", Between(0, 1))
      .Attr(&NadamAttrs::epsilon, "epsilon", "keeps the quotient finite", AtLeast(0))
      .Attr(&NadamAttrs::momentum_decay, "momentum_decay", "how fast the momentum grows")
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kParam, kParamOut)
      .InPlace(kMoment1, kMoment1Out)
      .InPlace(kMoment2, kMoment2Out)
      .InPlace(kMomentumDecayPow, kMomentumDecayPowOut)
      .InPlace(kBeta2Pow, kBeta2PowOut)
      .InPlace(kMuProduct, kMuProductOut)
      .NoGrad();
}

template <class T>
struct NadamNumbers {
  T rate, c2, of_moment, of_grad;
  double decay, power2, product;  // which go to the next step
};

template <class T>
struct NadamKernel {
  static void Compute(KernelContext& ctx) {
    const NadamAttrs& a = ctx.attrs<NadamAttrs>();
    const T b1 = static_cast<T>(a.beta1), b2 = static_cast<T>(a.beta2),
            eps = static_cast<T>(a.epsilon);
    const double growth = NumberFor<T>(a.momentum_decay);
    const Number<double> decay_pow(ctx.In(kMomentumDecayPow)), beta2_pow(ctx.In(kBeta2Pow)),
        mu_product(ctx.In(kMuProduct));
    const Number<T> given(ctx.In(kLearningRate));
    auto read = [=] DYGRAPH_FN() -> NadamNumbers<T> {
      const double decay = decay_pow() * 0.96, power2 = beta2_pow() * b2;
      const double mu = b1 * (1 - 0.5 * std::pow(decay, growth));
      const double next = b1 * (1 - 0.5 * std::pow(decay * 0.96, growth));
      const double product = mu_product() * mu;
      return {given(),
              static_cast<T>(1 - power2),
              static_cast<T>(next / (1 - product * next)),
              static_cast<T>((1 - mu) / (1 - product)),
              decay,
              power2,
              product};
    };
    const T* p = ctx.In(kParam).data<T>();
    const T* m1 = ctx.In(kMoment1).data<T>();
    const T* m2 = ctx.In(kMoment2).data<T>();
    T* p_out = ctx.Out(kParamOut).mutable_data<T>();
    T* m1_out = ctx.Out(kMoment1Out).mutable_data<T>();
    T* m2_out = ctx.Out(kMoment2Out).mutable_data<T>();
    optimizer::ForEachElement<T>(
        ctx, kParam, kGrad, read, [=] DYGRAPH_FN(const NadamNumbers<T>& s, int64_t i, T g) {
          T first = b1 * m1[i] + (1 - b1) * g, second = b2 * m2[i] + (1 - b2) * g * g;
          m1_out[i] = first;
          m2_out[i] = second;
          p_out[i] = p[i] - s.rate * (s.of_moment * first + s.of_grad * g) /
                                (std::sqrt(second / s.c2) + eps);
        });
    const optimizer::NumberTo decay_out(ctx.OutOrNull(kMomentumDecayPowOut)),
        power2_out(ctx.OutOrNull(kBeta2PowOut)), product_out(ctx.OutOrNull(kMuProductOut));
    optimizer::AfterStep(ctx, [=] DYGRAPH_FN() {
      const NadamNumbers<T> s = read();
      decay_out(s.decay);
      power2_out(s.power2);
      product_out(s.product);
    });
  }
};

REGISTER_OPERATOR(nadam, DefineNadam);
REGISTER_KERNELS(nadam, NadamKernel, float, double);

}  // namespace
}  // namespace dygraph
