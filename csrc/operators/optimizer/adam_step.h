// What adam and adamw share: slots, shapes and the loop. They differ in a step's numbers.
#pragma once

#include <cmath>

#include "operators/optimizer/optimizer.h"

namespace dygraph::optimizer {

constexpr int kParam = 0, kGrad = 1, kLearningRate = 2, kMoment1 = 3, kMoment2 = 4, kBeta1Pow = 5,
              kBeta2Pow = 6, kBeta1Tensor = 7, kBeta2Tensor = 8, kEpsilonTensor = 9;
constexpr int kParamOut = 0, kMoment1Out = 1, kMoment2Out = 2, kBeta1PowOut = 3, kBeta2PowOut = 4;

template <class Attrs>
OpDef& DefineAdamStep(OpDef& op) {
  return op.Input(kParam, "Param", "any shape")
      .Input(kGrad, "Grad", "shape and type of Param; a tensor or selected rows", kTakesRows)
      .Input(kLearningRate, "LearningRate", "[1] or []")
      .Input(kMoment1, "Moment1", "shape and type of Param")
      .Input(kMoment2, "Moment2", "shape and type of Param")
      .Input(kBeta1Pow, "Beta1Pow", "[1]: beta1 to the number of this step")
      .Input(kBeta2Pow, "Beta2Pow", "[1]: beta2 to the number of this step")
      .Input(kBeta1Tensor, "Beta1Tensor", "[1], in place of beta1", kDispensable)
      .Input(kBeta2Tensor, "Beta2Tensor", "[1], in place of beta2", kDispensable)
      .Input(kEpsilonTensor, "EpsilonTensor", "[1], in place of epsilon", kDispensable)
      .Output(kParamOut, "ParamOut", "shape of Param")
      .Output(kMoment1Out, "Moment1Out", "shape of Param")
      .Output(kMoment2Out, "Moment2Out", "shape of Param")
      .Output(kBeta1PowOut, "Beta1PowOut", "shape of Beta1Pow")
      .Output(kBeta2PowOut, "Beta2PowOut", "shape of Beta2Pow")
      .Shape([](InferContext& ctx) {
        InferStep(
            ctx, kParam, kGrad,
            {{kParam, kParamOut}, {kMoment1, kMoment1Out}, {kMoment2, kMoment2Out}},
            {kLearningRate, kBeta1Pow, kBeta2Pow, kBeta1Tensor, kBeta2Tensor, kEpsilonTensor});
        InferNumber(ctx, kBeta1Pow, kBeta1PowOut);
        InferNumber(ctx, kBeta2Pow, kBeta2PowOut);
      })
      .MixedDTypes()
      .InPlace(kParam, kParamOut)
      .InPlace(kMoment1, kMoment1Out)
      .InPlace(kMoment2, kMoment2Out)
      .InPlace(kBeta1Pow, kBeta1PowOut)
      .InPlace(kBeta2Pow, kBeta2PowOut)
      .NoGrad()
      .Attr(&Attrs::beta1, "beta1", "how much of the first moment stays", Between(0, 1))
      .Attr(&Attrs::beta2, "beta2", "how much of the second moment stays", Between(0, 1))
      .Attr(&Attrs::epsilon, "epsilon", "keeps the quotient finite", AtLeast(0));
}

// ParamOut = keep * Param - rate * Moment1Out / (sqrt(Moment2Out) * correction + epsilon)
struct AdamScales {
  double keep, rate, correction;
};

template <class T>
struct AdamNumbers {
  T b1, b2, c1, c2, epsilon, keep, rate, correction;
};

// `rule` makes the scales of LearningRate, Beta1Pow and Beta2Pow.
template <class T, class Attrs, class Rule>
void AdamStep(KernelContext& ctx, const Attrs& a, Rule rule) {
  auto number = [&](int slot, double attr) {
    const Tensor* given = ctx.InOrNull(slot);
    return given ? Number<double>(*given) : Number<double>(NumberFor<T>(attr));
  };
  const Number<double> beta1 = number(kBeta1Tensor, a.beta1), beta2 = number(kBeta2Tensor, a.beta2),
                       epsilon = number(kEpsilonTensor, a.epsilon), rate(ctx.In(kLearningRate)),
                       power1(ctx.In(kBeta1Pow)), power2(ctx.In(kBeta2Pow));
  const Tensor &param = ctx.In(kParam), &moment1 = ctx.In(kMoment1), &moment2 = ctx.In(kMoment2);
  const T *p = param.data<T>(), *m1 = moment1.data<T>(), *m2 = moment2.data<T>();
  T* p_out = ctx.Out(kParamOut).mutable_data<T>();
  T* m1_out = ctx.Out(kMoment1Out).mutable_data<T>();
  T* m2_out = ctx.Out(kMoment2Out).mutable_data<T>();
  auto read = [=] DYGRAPH_FN() -> AdamNumbers<T> {
    const AdamScales s = rule(rate(), power1(), power2());
    const T b1 = static_cast<T>(beta1()), b2 = static_cast<T>(beta2());
    return {b1,
            b2,
            1 - b1,
            1 - b2,
            static_cast<T>(epsilon()),
            static_cast<T>(s.keep),
            static_cast<T>(s.rate),
            static_cast<T>(s.correction)};
  };
  auto element = [=] DYGRAPH_FN(const AdamNumbers<T>& n, int64_t i, T g) {
    const T first = n.b1 * m1[i] + n.c1 * g, second = n.b2 * m2[i] + n.c2 * g * g;
    m1_out[i] = first;
    m2_out[i] = second;
    p_out[i] = n.keep * p[i] - n.rate * first / (std::sqrt(second) * n.correction + n.epsilon);
  };
  if (!a.lazy_mode || !ctx.IsRows(kGrad)) {
    ForEachElement<T>(ctx, kParam, kGrad, read, element);
  } else {
    CopyThrough(param, &ctx.Out(kParamOut));
    CopyThrough(moment1, &ctx.Out(kMoment1Out));
    CopyThrough(moment2, &ctx.Out(kMoment2Out));
    ForEachTouchedElement<T>(ctx, kParam, kGrad, read, element);
  }
  const NumberTo power1_out(ctx.OutOrNull(kBeta1PowOut)), power2_out(ctx.OutOrNull(kBeta2PowOut));
  AfterStep(ctx, [=] DYGRAPH_FN() {
    power1_out(power1() * beta1());
    power2_out(power2() * beta2());
  });
}

}  // namespace dygraph::optimizer
