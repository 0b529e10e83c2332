#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kGrad = 1, kLearningRate = 2, kBeta1Pow = 3, kBeta2Pow = 4, kRho = 5,
              kMoment1 = 6, kMoment2 = 7;
constexpr int kParamOut = 0, kBeta1PowOut = 1, kBeta2PowOut = 2, kRhoOut = 3, kMoment1Out = 4,
              kMoment2Out = 5;

struct RadamAttrs {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

void InferShape(InferContext& ctx) {
  optimizer::InferStep(ctx, kParam, kGrad,
                       {{kParam, kParamOut}, {kMoment1, kMoment1Out}, {kMoment2, kMoment2Out}},
                       {kLearningRate, kBeta1Pow, kBeta2Pow, kRho});
  optimizer::InferNumber(ctx, kBeta1Pow, kBeta1PowOut);
  optimizer::InferNumber(ctx, kBeta2Pow, kBeta2PowOut);
  optimizer::InferNumber(ctx, kRho, kRhoOut);
}

void DefineRadam(OpDef& op) {
  op.Comment(
        "Adam whose first steps are plain where the variance of the second moment is not bounded "
        "yet (Liu and others, 2020). Beta1PowOut = beta1 * Beta1Pow, Beta2PowOut = beta2 * "
        "Beta2Pow; RhoOut = (Rho * (beta2 - Beta2PowOut) + Beta2PowOut) / (1 - Beta2PowOut), which "
        "is t beta2^t / (1 - beta2^t) in step t; n = 2 / (1 - beta2) - 1, rho = n - 2 * RhoOut; "
        "moments as in adam, m = Moment1Out / (1 - Beta1PowOut). Where rho > 5, ParamOut = Param - "
        "LearningRate * m * sqrt((rho - 4)(rho - 2) n / ((n - 4)(n - 2) rho)) * sqrt(1 - "
        "Beta2PowOut) / (sqrt(Moment2Out) + epsilon), else Param - LearningRate * m. The powers "
        "start at 1, Rho at 0.")
      .Example(
          ">>> one, zero, grad, rate = (to_variable([v]) for v in (1.0, 0.0, 2.0, 0.1))\n"
          ">>> param, *states = F.radam(one, grad, rate, one, one, zero, zero, zero, beta2=0.5)\n"
          ">>> [round(v.item(), 4) for v in (param, *states)]  # the first step is plain\n"
          "[0.8, 0.9, 0.5, 1.0, 0.2, 2.0]")
      .Input(kParam, "Param", "any shape")
      .Input(kGrad, "Grad", "shape and type of Param")
      .Input(kLearningRate, "LearningRate", "[1] or []")
      .Input(kBeta1Pow, "Beta1Pow", "[1]: beta1 to the number of steps made")
      .Input(kBeta2Pow, "Beta2Pow", "[1]: beta2 to the number of steps made")
      .Input(kRho, "Rho", "[1]")
      .Input(kMoment1, "Moment1", "shape and type of Param")
      .Input(kMoment2, "Moment2", "shape and type of Param")
      .Output(kParamOut, "ParamOut", "shape of Param")
      .Output(kBeta1PowOut, "Beta1PowOut", "shape of Beta1Pow")
      .Output(kBeta2PowOut, "Beta2PowOut", "shape of Beta2Pow")
      .Output(kRhoOut, "RhoOut", "shape of Rho")
      .Output(kMoment1Out, "Moment1Out", "shape of Param")
      .Output(kMoment2Out, "Moment2Out", "shape of Param")
      .Attr(&RadamAttrs::beta1, "beta1", "how much of the first moment stays", Between(0, 1))
      .Attr(&RadamAttrs::beta2, "beta2", "how much of the second moment stays", Between(0, 1))
      .Attr(&RadamAttrs::epsilon, "epsilon", "keeps the quotient finite", AtLeast(0))
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kParam, kParamOut)
      .InPlace(kMoment1, kMoment1Out)
      .InPlace(kMoment2, kMoment2Out)
      .InPlace(kBeta1Pow, kBeta1PowOut)
      .InPlace(kBeta2Pow, kBeta2PowOut)
      .InPlace(kRho, kRhoOut)
      .NoGrad();
}

template <class T>
struct RadamNumbers {
  T rate;
  bool adapt;
  double power1, power2, rho;  // which go to the next step
};

template <class T>
struct RadamKernel {
  static void Compute(KernelContext& ctx) {
    const RadamAttrs& a = ctx.attrs<RadamAttrs>();
    const T b1 = static_cast<T>(a.beta1), b2 = static_cast<T>(a.beta2),
            eps = static_cast<T>(a.epsilon);
    const Number<double> beta1_pow(ctx.In(kBeta1Pow)), beta2_pow(ctx.In(kBeta2Pow)),
        given_rho(ctx.In(kRho)), given_rate(ctx.In(kLearningRate));
    auto read = [=] DYGRAPH_FN() -> RadamNumbers<T> {
      const double power1 = beta1_pow() * b1, power2 = beta2_pow() * b2;
      const double rho_out = (given_rho() * (b2 - power2) + power2) / (1 - power2);
      const double n = 2 / (1 - double{b2}) - 1, rho = n - 2 * rho_out;
      double scaled = given_rate() / (1 - power1);
      const bool adapt = rho > 5;
      if (adapt) {
        scaled *= std::sqrt((rho - 4) * (rho - 2) * n / ((n - 4) * (n - 2) * rho));
        scaled *= std::sqrt(1 - power2);
      }
      return {static_cast<T>(scaled), adapt, power1, power2, rho_out};
    };
    const T* p = ctx.In(kParam).data<T>();
    const T* m1 = ctx.In(kMoment1).data<T>();
    const T* m2 = ctx.In(kMoment2).data<T>();
    T* p_out = ctx.Out(kParamOut).mutable_data<T>();
    T* m1_out = ctx.Out(kMoment1Out).mutable_data<T>();
    T* m2_out = ctx.Out(kMoment2Out).mutable_data<T>();
    optimizer::ForEachElement<T>(
        ctx, kParam, kGrad, read, [=] DYGRAPH_FN(const RadamNumbers<T>& s, int64_t i, T g) {
          T first = b1 * m1[i] + (1 - b1) * g, second = b2 * m2[i] + (1 - b2) * g * g;
          m1_out[i] = first;
          m2_out[i] = second;
          p_out[i] = p[i] - (s.adapt ? s.rate * first / (std::sqrt(second) + eps) : s.rate * first);
        });
    const optimizer::NumberTo power1_out(ctx.OutOrNull(kBeta1PowOut)),
        power2_out(ctx.OutOrNull(kBeta2PowOut)), rho_out(ctx.OutOrNull(kRhoOut));
    optimizer::AfterStep(ctx, [=] DYGRAPH_FN() {
      const RadamNumbers<T> s = read();
      power1_out(s.power1);
      power2_out(s.power2);
      rho_out(s.rho);
    });
  }
};

REGISTER_OPERATOR(radam, DefineRadam);
REGISTER_KERNELS(radam, RadamKernel, float, double);

}  // namespace
}  // namespace dygraph
