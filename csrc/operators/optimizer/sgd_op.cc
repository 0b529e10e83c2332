#include <cstring>

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
    T rate = static_cast<T>(Item(ctx.In(kLearningRate)));
    const T* p = param.data<T>();
    T* y = out.mutable_data<T>();
    if (!ctx.IsRows(kGrad)) {
      const T* g = ctx.In(kGrad).data<T>();
      return optimizer::Elements(ctx, param.numel(), 1, [=](int64_t begin, int64_t end) {
        kernels::SimdFor<T>([=] {
          DYGRAPH_IVDEP
          for (int64_t i = begin; i < end; ++i) y[i] = p[i] - rate * g[i];
        });
      });
    }
    const SelectedRows& g = ctx.InRows(kGrad);
    if (p != y && param.numel() > 0) std::memcpy(y, p, param.bytes());
    if (g.rows().empty()) return;
    int64_t width = optimizer::RowWidth(param);
    const T* v = g.value().data<T>();
    const int64_t* rows = g.rows().data();
    int64_t count = static_cast<int64_t>(g.rows().size());
    // A row belongs to one thread, which adds its occurrences in order.
    int64_t pieces = count * width <= kernels::Grain() ? 1 : NumThreads();
    ParallelBlocks(pieces, [=](int64_t piece) {
      kernels::Simd([=] {
        for (int64_t i = 0; i < count; ++i) {
          if (pieces > 1 && rows[i] % pieces != piece) continue;
          T* to = y + rows[i] * width;
          const T* from = v + i * width;
          DYGRAPH_IVDEP
          for (int64_t k = 0; k < width; ++k) to[k] -= rate * from[k];
        }
      });
    });
  }
};

REGISTER_OPERATOR(sgd, DefineSgd);
REGISTER_CPU_KERNEL(sgd, SgdKernel, float, double);

}  // namespace
}  // namespace dygraph
