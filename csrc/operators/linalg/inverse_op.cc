#include "operators/linalg/factor_loops.h"

namespace dygraph::linalg {
namespace {

constexpr int kInput = 0, kOutput = 0;

void DefineInverse(OpDef& op) {
  op.Comment("Output = Input^-1, of each matrix. One that is singular raises.")
      .Example(">>> F.inverse(to_variable([[4.0]])).tolist()\n[[0.25]]")
      .Input(kInput, "Input", "[..., n, n]")
      .Output(kOutput, "Output", "shape of Input")
      .Shape([](InferContext& ctx) {
        Stack s = SquareOf(ctx.dims(kInput), "Input");
        ctx.SetOutput(kOutput, s.With({s.n, s.n}));
      })
      // Giles, "Collected matrix derivative results" (2008), 2.2.3: -Output^T Output@GRAD Output^T
      .Grad([](GradBuilder& g) {
        Formula f(g);
        RecipeRef y = g.Output(kOutput);
        RecipeRef product = f.MatMul(f.MatMul(y, g.OutputGrad(kOutput), true), y, false, true);
        g.Call("scale", {product}, {g.InputGrad(kInput)}).Attr("scale", -1.0);
      });
}

template <class T>
struct InverseKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kInput);
    InvertAll(SquareOf(x.dims(), "Input"), x.data<T>(), "Input",
              ctx.Out(kOutput).mutable_data<T>());
  }
};

REGISTER_OPERATOR(inverse, DefineInverse);
REGISTER_KERNELS(inverse, InverseKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg
