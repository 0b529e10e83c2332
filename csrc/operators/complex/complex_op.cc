#include "op/lod_rule.h"
#include "operators/arithmetic/binary.h"
#include "operators/complex/parts.h"

namespace dygraph::complex {
namespace {

constexpr int kY = 1;

void DefineComplex(OpDef& op) {
  op.Comment("Out = X + i Y, elementwise. Shapes broadcast as NumPy's.")
      .Example(
          ">>> F.complex(to_variable([1.0, 3.0]), to_variable([2.0, -4.0])).tolist()\n"
          "[(1+2j), (3-4j)]")
      .Input(kX, "X", "any shape: the real part")
      .Input(kY, "Y", "broadcasts with X: the imaginary part")
      .Output(kOut, "Out", "the common shape; complex64 of float32, complex128 of float64")
      .Shape([](InferContext& ctx) {
        CheckReal(ctx.dtype(kX), "X");
        ctx.SetOutput(kOut, BroadcastDims(ctx.dims(kX), ctx.dims(kY)), ComplexOf(ctx.dtype(kX)));
      })
      .KeepsLayout()
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        RecipeRef x = g.InputShape(kX), y = g.InputShape(kY);
        g.Call("elementwise_add_grad", {x, y, g.Apply("real", {g.OutputGrad(kOut)})},
               {g.InputGrad(kX), {}});
        g.Call("elementwise_add_grad", {x, y, g.Apply("imag", {g.OutputGrad(kOut)})},
               {{}, g.InputGrad(kY)});
      });
}

template <class T>
struct ComplexKernel {
  static void Compute(KernelContext& ctx) {
    elementwise::Apply<T, std::complex<T>>(
        ctx.In(kX), ctx.In(kY), -1, &ctx.Out(kOut),
        [] DYGRAPH_FN(T a, T b) { return std::complex<T>(a, b); });
  }
};

REGISTER_OPERATOR(complex, DefineComplex);
REGISTER_LOD_RULE(complex, [](const LoDCall& c) { return c.out.rank() <= c.from.rank(); });
REGISTER_LOD_ALSO(complex, kY);
REGISTER_KERNELS(complex, ComplexKernel, float, double);

}  // namespace
}  // namespace dygraph::complex
