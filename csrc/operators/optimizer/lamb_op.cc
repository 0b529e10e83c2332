#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kGrad = 1, kLearningRate = 2, kMoment1 = 3, kMoment2 = 4, kBeta1Pow = 5,
              kBeta2Pow = 6;
constexpr int kParamOut = 0, kMoment1Out = 1, kMoment2Out = 2, kBeta1PowOut = 3, kBeta2PowOut = 4;

struct LambAttrs {
  double weight_decay = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  bool always_adapt = true;
};

void InferShape(InferContext& ctx) {
  optimizer::InferStep(ctx, kParam, kGrad,
                       {{kParam, kParamOut}, {kMoment1, kMoment1Out}, {kMoment2, kMoment2Out}},
                       {kLearningRate, kBeta1Pow, kBeta2Pow});
  optimizer::InferNumber(ctx, kBeta1Pow, kBeta1PowOut);
  optimizer::InferNumber(ctx, kBeta2Pow, kBeta2PowOut);
}

void DefineLamb(OpDef& op) {
  op.Comment(
        "Moment1Out = beta1 * Moment1 + (1 - beta1) * Grad; Moment2Out = beta2 * Moment2 + (1 - "
        "beta2) * Grad^2; r = Moment1Out / (1 - Beta1Pow) / (sqrt(Moment2Out / (1 - Beta2Pow)) + "
        "epsilon) + weight_decay * Param; ParamOut = Param - LearningRate * (|Param| / |r|, or 1 "
        "where a norm is 0, or without always_adapt where weight_decay is) * r (You and others, "
        "2020). Rows that a Grad of selected rows leaves "
        "out have a gradient of 0.")
      .Example(
          ">>> param, grad, rate = (to_variable([v]) for v in (2.0, 3.0, 0.1))\n"
          ">>> zero, *powers = (to_variable([v]) for v in (0.0, 0.9, 0.999))\n"
          ">>> out = F.lamb(param, grad, rate, zero, zero, *powers)\n"
          ">>> [round(v.item(), 4) for v in out]  # 2 - 0.1 * |2| / |1| * 1\n"
          "[1.8, 0.3, 0.009]")
      .Input(kParam, "Param", "any shape")
      .Input(kGrad, "Grad", "shape and type of Param; a tensor or selected rows", kTakesRows)
      .Input(kLearningRate, "LearningRate", "[1] or []")
      .Input(kMoment1, "Moment1", "shape and type of Param")
      .Input(kMoment2, "Moment2", "shape and type of Param")
      .Input(kBeta1Pow, "Beta1Pow", "[1]: beta1 to the number of this step")
      .Input(kBeta2Pow, "Beta2Pow", "[1]: beta2 to the number of this step")
      .Output(kParamOut, "ParamOut", "shape of Param")
      .Output(kMoment1Out, "Moment1Out", "shape of Param")
      .Output(kMoment2Out, "Moment2Out", "shape of Param")
      .Output(kBeta1PowOut, "Beta1PowOut", "Beta1Pow * beta1, made where it is asked for", kExtra)
      .Output(kBeta2PowOut, "Beta2PowOut", "Beta2Pow * beta2, made where it is asked for", kExtra)
      .Attr(&LambAttrs::weight_decay, "weight_decay", "how much of Param is added to the direction",
            AtLeast(0))
      .Attr(&LambAttrs::beta1, "beta1", "how much of the first moment stays", Between(0, 1))
      .Attr(&LambAttrs::beta2, "beta2", "how much of the second moment stays", Between(0, 1))
      .Attr(&LambAttrs::epsilon, "epsilon", "keeps the quotient finite", AtLeast(0))
      .Attr(&LambAttrs::always_adapt, "always_adapt",
            "False, as Paddle 2's programs say: no quotient of norms where weight_decay is 0")
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kParam, kParamOut)
      .InPlace(kMoment1, kMoment1Out)
      .InPlace(kMoment2, kMoment2Out)
      .InPlace(kBeta1Pow, kBeta1PowOut)
      .InPlace(kBeta2Pow, kBeta2PowOut)
      .NoGrad();
}

template <class T>
struct LambCorrections {
  T first, second;
};

template <class T>
struct LambKernel {
  static void Compute(KernelContext& ctx) {
    const LambAttrs& a = ctx.attrs<LambAttrs>();
    const Tensor& param = ctx.In(kParam);
    const Number<double> power1(ctx.In(kBeta1Pow)), power2(ctx.In(kBeta2Pow)),
        given(ctx.In(kLearningRate));
    T b1 = static_cast<T>(a.beta1), b2 = static_cast<T>(a.beta2), eps = static_cast<T>(a.epsilon),
      decay = static_cast<T>(a.weight_decay);
    const T* p = ctx.In(kParam).data<T>();
    const T* m1 = ctx.In(kMoment1).data<T>();
    const T* m2 = ctx.In(kMoment2).data<T>();
    T* p_out = ctx.Out(kParamOut).mutable_data<T>();
    T* m1_out = ctx.Out(kMoment1Out).mutable_data<T>();
    T* m2_out = ctx.Out(kMoment2Out).mutable_data<T>();
    Scratch space = ctx.Workspace(param.bytes());
    T* direction = space.as<T>();
    auto corrections = [=] DYGRAPH_FN() -> LambCorrections<T> {
      return {static_cast<T>(1 - power1()), static_cast<T>(1 - power2())};
    };
    optimizer::ForEachElement<T>(
        ctx, kParam, kGrad, corrections,
        [=] DYGRAPH_FN(const LambCorrections<T>& c, int64_t i, T g) {
          T first = b1 * m1[i] + (1 - b1) * g, second = b2 * m2[i] + (1 - b2) * g * g;
          m1_out[i] = first;
          m2_out[i] = second;
          direction[i] = first / c.first / (std::sqrt(second / c.second) + eps) + decay * p[i];
        },
        true);
    const optimizer::Length of_param(ctx, p, param.numel()),
        of_direction(ctx, static_cast<const T*>(direction), param.numel());
    const Number<double> size = of_param.number(), length = of_direction.number();
    const bool adapt = a.always_adapt || decay > 0;
    auto trusted = [=] DYGRAPH_FN() -> T {
      const double trust = adapt && size() > 0 && length() > 0 ? size() / length() : 1;
      return static_cast<T>(given() * trust);
    };
    optimizer::EachElement<T>(
        ctx, param.numel(), 1, trusted,
        [=] DYGRAPH_FN(T rate, int64_t i) { p_out[i] = p[i] - rate * direction[i]; },
        true);  // `direction` is gone afterwards
    const optimizer::NumberTo power1_out(ctx.OutOrNull(kBeta1PowOut)),
        power2_out(ctx.OutOrNull(kBeta2PowOut));
    optimizer::AfterStep(ctx, [=] DYGRAPH_FN() {
      power1_out(power1() * b1);
      power2_out(power2() * b2);
    });
  }
};

REGISTER_OPERATOR(lamb, DefineLamb);
REGISTER_KERNELS(lamb, LambKernel, float, double);

}  // namespace
}  // namespace dygraph
