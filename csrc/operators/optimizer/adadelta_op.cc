#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kGrad = 1, kAvgSquaredGrad = 2, kAvgSquaredUpdate = 3, kLearningRate = 4;
constexpr int kParamOut = 0, kAvgSquaredGradOut = 1, kAvgSquaredUpdateOut = 2;

struct AdadeltaAttrs {
  double rho = 0.95;
  double epsilon = 1e-6;
};

void InferShape(InferContext& ctx) {
  optimizer::InferStep(ctx, kParam, kGrad,
                       {{kParam, kParamOut},
                        {kAvgSquaredGrad, kAvgSquaredGradOut},
                        {kAvgSquaredUpdate, kAvgSquaredUpdateOut}},
                       {kLearningRate});
}

void DefineAdadelta(OpDef& op) {
  op.Comment(
        "AvgSquaredGradOut = rho * AvgSquaredGrad + (1 - rho) * Grad^2; update = "
        "-sqrt((AvgSquaredUpdate + epsilon) / (AvgSquaredGradOut + epsilon)) * Grad; "
        "AvgSquaredUpdateOut = rho * AvgSquaredUpdate + (1 - rho) * update^2; ParamOut = Param + "
        "update (Zeiler, 2012), or Param + LearningRate * update, as Paddle 2 has it.")
      .Example(
          ">>> param, grad = to_variable([3.0]), to_variable([2.0])\n"
          ">>> squares, updates = to_variable([2.0]), to_variable([0.0])\n"
          ">>> out = F.adadelta(param, grad, squares, updates, rho=0.5, epsilon=1.0)\n"
          ">>> [v.tolist() for v in out]  # (2 + 2^2) / 2 = 3, a step of 2 * sqrt(1 / 4)\n"
          "[[2.0], [3.0], [0.5]]")
      .Input(kParam, "Param", "any shape")
      .Input(kGrad, "Grad", "shape and type of Param")
      .Input(kAvgSquaredGrad, "AvgSquaredGrad", "shape and type of Param")
      .Input(kAvgSquaredUpdate, "AvgSquaredUpdate", "shape and type of Param")
      .Input(kLearningRate, "LearningRate", "[1] or []; none: 1", kDispensable)
      .Output(kParamOut, "ParamOut", "shape of Param")
      .Output(kAvgSquaredGradOut, "AvgSquaredGradOut", "shape of Param")
      .Output(kAvgSquaredUpdateOut, "AvgSquaredUpdateOut", "shape of Param")
      .Attr(&AdadeltaAttrs::rho, "rho", "how much of the means stays", Between(0, 1))
      .Attr(&AdadeltaAttrs::epsilon, "epsilon", "keeps the quotient finite", AtLeast(0))
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kParam, kParamOut)
      .InPlace(kAvgSquaredGrad, kAvgSquaredGradOut)
      .InPlace(kAvgSquaredUpdate, kAvgSquaredUpdateOut)
      .NoGrad();
}

template <class T>
struct AdadeltaKernel {
  static void Compute(KernelContext& ctx) {
    const AdadeltaAttrs& a = ctx.attrs<AdadeltaAttrs>();
    T rho = static_cast<T>(a.rho), eps = static_cast<T>(a.epsilon);
    const Tensor* given = ctx.InOrNull(kLearningRate);
    const Number<T> rate = given ? Number<T>(*given) : Number<T>(T(1));
    const T* p = ctx.In(kParam).data<T>();
    const T* s = ctx.In(kAvgSquaredGrad).data<T>();
    const T* u = ctx.In(kAvgSquaredUpdate).data<T>();
    T* p_out = ctx.Out(kParamOut).mutable_data<T>();
    T* s_out = ctx.Out(kAvgSquaredGradOut).mutable_data<T>();
    T* u_out = ctx.Out(kAvgSquaredUpdateOut).mutable_data<T>();
    optimizer::ForEachElement<T>(ctx, kParam, kGrad, rate, [=] DYGRAPH_FN(T rate, int64_t i, T g) {
      T mean = rho * s[i] + (1 - rho) * g * g;
      T update = -std::sqrt((u[i] + eps) / (mean + eps)) * g;
      s_out[i] = mean;
      u_out[i] = rho * u[i] + (1 - rho) * update * update;
      p_out[i] = p[i] + rate * update;
    });
  }
};

REGISTER_OPERATOR(adadelta, DefineAdadelta);
REGISTER_KERNELS(adadelta, AdadeltaKernel, float, double);

}  // namespace
}  // namespace dygraph
