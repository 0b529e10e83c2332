#include "operators/complex/parts.h"

namespace dygraph::complex {
namespace {

void DefineConj(OpDef& op) {
  op.Comment("Out = the complex conjugate of X, elementwise.")
      .Example(
          ">>> F.conj(to_variable([1 + 2j, 3 - 4j])).tolist()\n"
          "[(1-2j), (3+4j)]")
      .Input(kX, "X", "any shape, complex")
      .Output(kOut, "Out", "shape of X")
      .Shape([](InferContext& ctx) {
        CheckComplex(ctx.dtype(kX), "X");
        ctx.SetOutput(kOut, ctx.dims(kX));
      })
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad([](GradBuilder& g) { g.Call("conj", {g.OutputGrad(kOut)}, {g.InputGrad(kX)}); });
}

template <class T>
struct ConjKernel {
  static void Compute(KernelContext& ctx) {
    MapTo<T, T>(ctx, [](T v) { return kernels::Conj(v); });
  }
};

REGISTER_OPERATOR(conj, DefineConj);
REGISTER_CPU_KERNEL(conj, ConjKernel, complex64, complex128);

}  // namespace
}  // namespace dygraph::complex
