#include "operators/reduce/norms.h"

namespace dygraph::norms {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineL1Norm(OpDef& op) {
  op.Comment("Out = the sum of |X| over all elements.")
      .Example(
          ">>> F.l1_norm(to_variable([[1.0, -2.0], [3.0, 0.0]])).item()\n"
          "6.0")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape []")
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOut, Dims()); })
      .Grad([](GradBuilder& g) {
        g.Call("p_norm_grad", {g.Input(kX), g.Output(kOut), g.OutputGrad(kOut)}, {g.InputGrad(kX)})
            .Attr("porder", 1.0f)
            .Attr("asvector", true);
      });
}

template <class T>
struct Abs {
  DYGRAPH_INLINE T operator()(T v) const { return v < T(0) ? -v : v; }
};

template <class T>
struct L1NormKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    int64_t n = x.numel();
    bool all = true;
    kernels::Reduce<kernels::SumOfOp<T, Abs<T>>>(x.data<T>(), Span<const int64_t>(&n, 1),
                                              Span<const bool>(&all, 1),
                                              ctx.Out(kOut).mutable_data<T>());
  }
};

REGISTER_OPERATOR(l1_norm, DefineL1Norm);
REGISTER_KERNELS(l1_norm, L1NormKernel, float, double);

}  // namespace
}  // namespace dygraph::norms
