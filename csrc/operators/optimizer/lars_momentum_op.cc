#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kGrad = 1, kVelocity = 2, kLearningRate = 3;
constexpr int kParamOut = 0, kVelocityOut = 1;

struct LarsMomentumAttrs {
  double mu = 0.0;
  double lars_coeff = 0.001;
  double lars_weight_decay = 0.0005;
  double epsilon = 0.0;
  double rescale_grad = 1.0;
};

void InferShape(InferContext& ctx) {
  optimizer::InferStep(ctx, kParam, kGrad, {{kParam, kParamOut}, {kVelocity, kVelocityOut}},
                       {kLearningRate});
}

void DefineLarsMomentum(OpDef& op) {
  op.Comment(
        "rate = LearningRate * lars_coeff * |Param| / (|Grad| + lars_weight_decay * |Param| + "
        "epsilon), Grad having been multiplied by rescale_grad, or LearningRate where a norm or "
        "lars_weight_decay is 0; VelocityOut = mu * Velocity + rate * "
        "(Grad + lars_weight_decay * Param); ParamOut = Param - VelocityOut (You and others, "
        "2017).")
      .Example(
          ">>> param, grad = to_variable([3.0, 4.0]), to_variable([0.6, 0.8])\n"
          ">>> zero, rate = to_variable([0.0, 0.0]), to_variable([1.0])\n"
          ">>> param, _ = F.lars_momentum(\n"
          "...     param, grad, zero, rate, lars_coeff=0.1, lars_weight_decay=0.1)\n"
          ">>> [round(v, 4) for v in param.tolist()]  # rate 0.1 * 5 / (1 + 0.1 * 5)\n"
          "[2.7, 3.6]")
      .Input(kParam, "Param", "any shape")
      .Input(kGrad, "Grad", "shape and type of Param")
      .Input(kVelocity, "Velocity", "shape and type of Param")
      .Input(kLearningRate, "LearningRate", "[1] or []")
      .Output(kParamOut, "ParamOut", "shape of Param")
      .Output(kVelocityOut, "VelocityOut", "shape of Param")
      .Attr(&LarsMomentumAttrs::mu, "mu", "how much of the velocity stays")
      .Attr(&LarsMomentumAttrs::lars_coeff, "lars_coeff", "trust in a layer's own rate", AtLeast(0))
      .Attr(&LarsMomentumAttrs::lars_weight_decay, "lars_weight_decay", "strength of the decay",
            AtLeast(0))
      .Attr(&LarsMomentumAttrs::epsilon, "epsilon", "keeps the quotient finite", AtLeast(0))
      .Attr(&LarsMomentumAttrs::rescale_grad, "rescale_grad", "factor on Grad")
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kParam, kParamOut)
      .InPlace(kVelocity, kVelocityOut)
      .NoGrad();
}

template <class T>
struct LarsMomentumKernel {
  static void Compute(KernelContext& ctx) {
    const LarsMomentumAttrs& a = ctx.attrs<LarsMomentumAttrs>();
    const T mu = static_cast<T>(a.mu), decay = static_cast<T>(a.lars_weight_decay),
            scale = static_cast<T>(a.rescale_grad);
    int64_t n = ctx.In(kParam).numel();
    const T* p = ctx.In(kParam).data<T>();
    const T* v = ctx.In(kVelocity).data<T>();
    const optimizer::Length of_param(ctx, p, n), of_grad(ctx, ctx.In(kGrad).data<T>(), n);
    const Number<double> length = of_param.number(), steepness = of_grad.number(),
                         given(ctx.In(kLearningRate));
    const double coeff = NumberFor<T>(a.lars_coeff), epsilon = NumberFor<T>(a.epsilon);
    auto read = [=] DYGRAPH_FN() -> T {
      const double size = length(), slope = std::abs(scale) * steepness();
      double own = given();
      if (decay > 0 && size > 0 && slope > 0)
        own *= coeff * size / (slope + decay * size + epsilon);
      return static_cast<T>(own);
    };
    T* p_out = ctx.Out(kParamOut).mutable_data<T>();
    T* v_out = ctx.Out(kVelocityOut).mutable_data<T>();
    optimizer::ForEachElement<T>(ctx, kParam, kGrad, read, [=] DYGRAPH_FN(T rate, int64_t i, T g) {
      T velocity = mu * v[i] + rate * (scale * g + decay * p[i]);
      v_out[i] = velocity;
      p_out[i] = p[i] - velocity;
    });
  }
};

REGISTER_OPERATOR(lars_momentum, DefineLarsMomentum);
REGISTER_KERNELS(lars_momentum, LarsMomentumKernel, float, double);

}  // namespace
}  // namespace dygraph
