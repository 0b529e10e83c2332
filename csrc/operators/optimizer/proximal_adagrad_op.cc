#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kMoment = 1, kGrad = 2, kLearningRate = 3;
constexpr int kParamOut = 0, kMomentOut = 1;

struct ProximalAdagradAttrs {
  double l1 = 0.0;
  double l2 = 0.0;
};

void InferShape(InferContext& ctx) {
  optimizer::InferStep(ctx, kParam, kGrad, {{kParam, kParamOut}, {kMoment, kMomentOut}},
                       {kLearningRate});
}

void DefineProximalAdagrad(OpDef& op) {
  op.Comment(
        "MomentOut = Moment + Grad^2; moved = Param - LearningRate * Grad / sqrt(MomentOut), Param "
        "where MomentOut is 0; ParamOut = sign(moved) * max(|moved| - LearningRate * l1, 0) / (1 + "
        "LearningRate * l2) (Duchi and others, 2011).")
      .Example(
          ">>> param, moment, grad, rate = (to_variable([v]) for v in (1.0, 0.0, 2.0, 0.1))\n"
          ">>> param, moment = F.proximal_adagrad(param, moment, grad, rate, l1=1.0)\n"
          ">>> round(param.item(), 4), moment.item()\n"
          "(0.8, 4.0)")
      .Input(kParam, "Param", "any shape")
      .Input(kMoment, "Moment", "shape and type of Param")
      .Input(kGrad, "Grad", "shape and type of Param")
      .Input(kLearningRate, "LearningRate", "[1] or []")
      .Output(kParamOut, "ParamOut", "shape of Param")
      .Output(kMomentOut, "MomentOut", "shape of Param")
      .Attr(&ProximalAdagradAttrs::l1, "l1", "strength of the L1 penalty", AtLeast(0))
      .Attr(&ProximalAdagradAttrs::l2, "l2", "strength of the L2 penalty", AtLeast(0))
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kParam, kParamOut)
      .InPlace(kMoment, kMomentOut)
      .NoGrad();
}

template <class T>
struct ProximalAdagradKernel {
  static void Compute(KernelContext& ctx) {
    const ProximalAdagradAttrs& a = ctx.attrs<ProximalAdagradAttrs>();
    const Number<T> given(ctx.In(kLearningRate));
    const T l1 = static_cast<T>(a.l1), l2 = static_cast<T>(a.l2);
    auto read = [=] DYGRAPH_FN() -> optimizer::ProximalNumbers<T> {
      const T rate = given();
      return {rate, rate * l1, 1 + rate * l2};
    };
    const T* p = ctx.In(kParam).data<T>();
    const T* m = ctx.In(kMoment).data<T>();
    T* p_out = ctx.Out(kParamOut).mutable_data<T>();
    T* m_out = ctx.Out(kMomentOut).mutable_data<T>();
    optimizer::ForEachElement<T>(
        ctx, kParam, kGrad, read,
        [=] DYGRAPH_FN(const optimizer::ProximalNumbers<T>& s, int64_t i, T g) {
          T sum = m[i] + g * g;
          m_out[i] = sum;
          T moved = sum == 0 ? p[i] : p[i] - s.rate * g / std::sqrt(sum);
          p_out[i] = optimizer::Shrunk(moved, s.low) / s.shrink;
        });
  }
};

REGISTER_OPERATOR(proximal_adagrad, DefineProximalAdagrad);
REGISTER_KERNELS(proximal_adagrad, ProximalAdagradKernel, float, double);

}  // namespace
}  // namespace dygraph
