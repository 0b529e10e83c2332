#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kGrad = 1, kMoment = 2, kLearningRate = 3;
constexpr int kParamOut = 0, kMomentOut = 1;

struct AdagradAttrs {
  double epsilon = 1e-6;
};

void InferShape(InferContext& ctx) {
  optimizer::InferStep(ctx, kParam, kGrad, {{kParam, kParamOut}, {kMoment, kMomentOut}},
                       {kLearningRate});
}

void DefineAdagrad(OpDef& op) {
  op.Comment(
        "MomentOut = Moment + Grad^2; ParamOut = Param - LearningRate * Grad / (sqrt(MomentOut) + "
        "epsilon) (Duchi and others, 2011). A Grad of selected rows touches these rows only, after "
        "repeated ones have been added.")
      .Example(
          ">>> param, grad, moment = (to_variable([v]) for v in (1.0, 3.0, 16.0))\n"
          ">>> param, moment = F.adagrad(param, grad, moment, to_variable([0.5]))\n"
          ">>> round(param.item(), 4), moment.item()  # 1 - 0.5 * 3 / sqrt(25)\n"
          "(0.7, 25.0)")
      .Input(kParam, "Param", "any shape")
      .Input(kGrad, "Grad", "shape and type of Param; a tensor or selected rows", kTakesRows)
      .Input(kMoment, "Moment", "shape and type of Param")
      .Input(kLearningRate, "LearningRate", "[1] or []")
      .Output(kParamOut, "ParamOut", "shape of Param")
      .Output(kMomentOut, "MomentOut", "shape of Param")
      .Attr(&AdagradAttrs::epsilon, "epsilon", "keeps the quotient finite", AtLeast(0))
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kParam, kParamOut)
      .InPlace(kMoment, kMomentOut)
      .NoGrad();
}

template <class T>
struct AdagradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &param = ctx.In(kParam), &moment = ctx.In(kMoment);
    const Number<T> rate(ctx.In(kLearningRate));
    T eps = static_cast<T>(ctx.attrs<AdagradAttrs>().epsilon);
    const T *p = param.data<T>(), *m = moment.data<T>();
    T* p_out = ctx.Out(kParamOut).mutable_data<T>();
    T* m_out = ctx.Out(kMomentOut).mutable_data<T>();
    auto step = [=] DYGRAPH_FN(T rate, int64_t i, T g) {
      T sum = m[i] + g * g;
      m_out[i] = sum;
      p_out[i] = p[i] - rate * g / (std::sqrt(sum) + eps);
    };
    if (!ctx.IsRows(kGrad)) return optimizer::ForEachElement<T>(ctx, kParam, kGrad, rate, step);
    optimizer::CopyThrough(param, &ctx.Out(kParamOut));
    optimizer::CopyThrough(moment, &ctx.Out(kMomentOut));
    optimizer::ForEachTouchedElement<T>(ctx, kParam, kGrad, rate, step);
  }
};

REGISTER_OPERATOR(adagrad, DefineAdagrad);
REGISTER_KERNELS(adagrad, AdagradKernel, float, double);

}  // namespace
}  // namespace dygraph
