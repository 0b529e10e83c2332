#include "kernels/reduce.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineSquaredL2Norm(OpDef& op) {
  op.Comment("Out = the sum of X^2 over all elements. Selected rows are merged first.")
      .Example(
          ">>> F.squared_l2_norm(to_variable([[1.0, 2.0], [3.0, 4.0]])).item()\n"
          "30.0")
      .Input(kX, "X", "any shape; a tensor or selected rows", kTakesRows)
      .Output(kOut, "Out", "shape []")
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOut, Dims()); })
      .Grad([](GradBuilder& g) {
        RecipeRef product = g.Apply("elementwise_mul", {g.Input(kX), g.OutputGrad(kOut)});
        g.Call("scale", {product}, {g.InputGrad(kX)}).Attr("scale", 2.0f);
      });
}

template <class T>
struct Square {
  DYGRAPH_INLINE T operator()(T v) const { return v * v; }
};

template <class T>
struct SquaredL2NormKernel {
  static void Compute(KernelContext& ctx) {
    Ref<SelectedRows> merged = ctx.IsRows(kX) ? ctx.InRows(kX).Merged() : Ref<SelectedRows>();
    const Tensor& x = merged ? merged->value() : ctx.In(kX);
    int64_t n = x.numel();
    bool all = true;
    kernels::Reduce<kernels::SumOfOp<T, Square<T>>>(x.data<T>(), Span<const int64_t>(&n, 1),
                                                 Span<const bool>(&all, 1),
                                                 ctx.Out(kOut).mutable_data<T>());
  }
};

REGISTER_OPERATOR(squared_l2_norm, DefineSquaredL2Norm);
REGISTER_KERNELS(squared_l2_norm, SquaredL2NormKernel, float, double);

}  // namespace
}  // namespace dygraph
