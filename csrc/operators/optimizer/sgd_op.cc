#include "kernels/touched_rows.h"
#include "op/number.h"
#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kLearningRate = 1, kGrad = 2, kParamOut = 0;

void InferShape(InferContext& ctx) {
  optimizer::CheckLikeParam(ctx, kParam, kGrad, "Grad");
  optimizer::CheckScalar(ctx, kParam, kLearningRate, "LearningRate");
  ctx.SetOutput(kParamOut, ctx.dims(kParam), ctx.dtype(kParam));
}

void DefineSgd(OpDef& op) {
  op.Comment(
        "ParamOut = Param - LearningRate * Grad. A Grad of selected rows touches these rows only; "
        "repeated ones add up.")
      .Example(
          ">>> param, grad = to_variable([1.0, 2.0]), to_variable([1.0, -1.0])\n"
          ">>> F.sgd(param, to_variable([0.5]), grad).tolist()\n"
          "[0.5, 2.5]")
      .Input(kParam, "Param", "any shape")
      .Input(kLearningRate, "LearningRate", "[1] or []")
      .Input(kGrad, "Grad", "shape and type of Param; a tensor or selected rows", kTakesRows)
      .Output(kParamOut, "ParamOut", "shape of Param")
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kParam, kParamOut)
      .NoGrad();
}

template <class T>
struct SgdKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& param = ctx.In(kParam);
    Tensor& out = ctx.Out(kParamOut);
    const Number<T> rate(ctx.In(kLearningRate));
    const T* p = param.data<T>();
    T* y = out.mutable_data<T>();
    if (!ctx.IsRows(kGrad)) {
      const T* g = ctx.In(kGrad).data<T>();
      return optimizer::EachElement<T>(
          ctx, param.numel(), 1, rate,
          [=] DYGRAPH_FN(T rate, int64_t i) { y[i] = p[i] - rate * g[i]; });
    }
    const SelectedRows& g = ctx.InRows(kGrad);
    if (p != y) ctx.device().CopyWithin(y, p, param.bytes());
    if (g.rows().empty()) return;
    const int64_t width = optimizer::RowWidth(param);
    const T* v = g.value().data<T>();
    kernels::ForEachTouched<T>(g.rows().data(), static_cast<int64_t>(g.rows().size()), width,
                               [=] DYGRAPH_FN(int64_t row, int64_t i, int64_t k) {
                                 y[row * width + k] -= rate() * v[i * width + k];
                               });
  }
};

REGISTER_OPERATOR(sgd, DefineSgd);
REGISTER_KERNELS(sgd, SgdKernel, float, double);

}  // namespace
}  // namespace dygraph
