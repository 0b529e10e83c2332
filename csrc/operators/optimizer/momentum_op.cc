#include "op/number.h"
#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kGrad = 1, kVelocity = 2, kLearningRate = 3, kParamOut = 0,
              kVelocityOut = 1;

struct MomentumAttrs {
  double mu = 0.0;
  bool use_nesterov = false;
  std::string regularization_method;
  double regularization_coeff = 0.0;
  double rescale_grad = 1.0;
};

void InferShape(InferContext& ctx) {
  optimizer::InferStep(ctx, kParam, kGrad, {{kParam, kParamOut}, {kVelocity, kVelocityOut}},
                       {kLearningRate});
}

void DefineMomentum(OpDef& op) {
  op.Comment(
        "VelocityOut = mu * Velocity + Grad, where Grad was multiplied by rescale_grad and, with "
        "'l2_decay', has had regularization_coeff * Param added; ParamOut = Param - LearningRate * "
        "VelocityOut, or "
        "with use_nesterov Param - "
        "LearningRate * (Grad + mu * VelocityOut). Rows that a Grad of selected rows leaves out "
        "have a gradient of 0.")
      .Example(
          ">>> param, grad, velocity, rate = (to_variable([v]) for v in (1.0, 2.0, 1.0, 0.1))\n"
          ">>> param, velocity = F.momentum(param, grad, velocity, rate, mu=0.5)\n"
          ">>> round(param.item(), 4), velocity.item()\n"
          "(0.75, 2.5)")
      .Input(kParam, "Param", "any shape")
      .Input(kGrad, "Grad", "shape and type of Param; a tensor or selected rows", kTakesRows)
      .Input(kVelocity, "Velocity", "shape and type of Param")
      .Input(kLearningRate, "LearningRate", "[1] or []")
      .Output(kParamOut, "ParamOut", "shape of Param")
      .Output(kVelocityOut, "VelocityOut", "shape of Param")
      .Attr(&MomentumAttrs::mu, "mu", "how much of the velocity stays")
      .Attr(&MomentumAttrs::use_nesterov, "use_nesterov", "look one step ahead")
      .Attr(&MomentumAttrs::regularization_method, "regularization_method", "'' or 'l2_decay'",
            OneOf({"", "l2_decay"}))
      .Attr(&MomentumAttrs::regularization_coeff, "regularization_coeff", "strength of the decay")
      .Attr(&MomentumAttrs::rescale_grad, "rescale_grad", "factor on Grad")
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kParam, kParamOut)
      .InPlace(kVelocity, kVelocityOut)
      .NoGrad();
}

template <class T>
struct MomentumKernel {
  // Whether it looks ahead, and whether the gradient is changed first, are known to the loop.
  template <bool kNesterov, bool kChanged>
  static void Run(KernelContext& ctx, T scale, T decay) {
    const T *p = ctx.In(kParam).data<T>(), *v = ctx.In(kVelocity).data<T>();
    T *p_out = ctx.Out(kParamOut).mutable_data<T>(),
      *v_out = ctx.Out(kVelocityOut).mutable_data<T>();
    const T mu = static_cast<T>(ctx.attrs<MomentumAttrs>().mu);
    optimizer::ForEachElement<T>(
        ctx, kParam, kGrad, Number<T>(ctx.In(kLearningRate)),
        [=] DYGRAPH_FN(T rate, int64_t i, T given) {
          const T g = kChanged ? scale * given + decay * p[i] : given;
          const T velocity = mu * v[i] + g;
          v_out[i] = velocity;
          p_out[i] = p[i] - rate * (kNesterov ? g + mu * velocity : velocity);
        });
  }

  static void Compute(KernelContext& ctx) {
    const MomentumAttrs& a = ctx.attrs<MomentumAttrs>();
    const T scale = static_cast<T>(a.rescale_grad),
            decay = a.regularization_method.empty() ? T(0) : T(a.regularization_coeff);
    const bool changed = scale != T(1) || decay != T(0);
    if (a.use_nesterov)
      changed ? Run<true, true>(ctx, scale, decay) : Run<true, false>(ctx, scale, decay);
    else
      changed ? Run<false, true>(ctx, scale, decay) : Run<false, false>(ctx, scale, decay);
  }
};

REGISTER_OPERATOR(momentum, DefineMomentum);
REGISTER_KERNELS(momentum, MomentumKernel, float, double);

}  // namespace
}  // namespace dygraph
