#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kGrad = 1, kLearningRate = 2;
constexpr int kParamOut = 0;

struct ProximalGdAttrs {
  double l1 = 0.0;
  double l2 = 0.0;
};

void InferShape(InferContext& ctx) {
  optimizer::InferStep(ctx, kParam, kGrad, {{kParam, kParamOut}}, {kLearningRate});
}

void DefineProximalGd(OpDef& op) {
  op.Comment(
        "moved = Param - LearningRate * Grad; ParamOut = sign(moved) * max(|moved| - LearningRate "
        "* l1, 0) / (1 + LearningRate * l2) (Duchi and Singer, 2009).")
      .Example(
          ">>> param, grad = to_variable([1.0, 0.05]), to_variable([1.0, 0.0])\n"
          ">>> out = F.proximal_gd(param, grad, to_variable([0.1]), l1=1.0)\n"
          ">>> [round(v, 4) for v in out.tolist()]\n"
          "[0.8, 0.0]")
      .Input(kParam, "Param", "any shape")
      .Input(kGrad, "Grad", "shape and type of Param")
      .Input(kLearningRate, "LearningRate", "[1] or []")
      .Output(kParamOut, "ParamOut", "shape of Param")
      .Attr(&ProximalGdAttrs::l1, "l1", "strength of the L1 penalty", AtLeast(0))
      .Attr(&ProximalGdAttrs::l2, "l2", "strength of the L2 penalty", AtLeast(0))
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kParam, kParamOut)
      .NoGrad();
}

template <class T>
struct ProximalGdKernel {
  static void Compute(KernelContext& ctx) {
    const ProximalGdAttrs& a = ctx.attrs<ProximalGdAttrs>();
    const Number<T> given(ctx.In(kLearningRate));
    const T l1 = static_cast<T>(a.l1), l2 = static_cast<T>(a.l2);
    auto read = [=] DYGRAPH_FN() -> optimizer::ProximalNumbers<T> {
      const T rate = given();
      return {rate, rate * l1, 1 + rate * l2};
    };
    const T* p = ctx.In(kParam).data<T>();
    T* p_out = ctx.Out(kParamOut).mutable_data<T>();
    optimizer::ForEachElement<T>(
        ctx, kParam, kGrad, read,
        [=] DYGRAPH_FN(const optimizer::ProximalNumbers<T>& s, int64_t i, T g) {
          p_out[i] = optimizer::Shrunk(p[i] - s.rate * g, s.low) / s.shrink;
        });
  }
};

REGISTER_OPERATOR(proximal_gd, DefineProximalGd);
REGISTER_KERNELS(proximal_gd, ProximalGdKernel, float, double);

}  // namespace
}  // namespace dygraph
