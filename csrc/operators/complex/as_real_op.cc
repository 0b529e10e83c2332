// as_real and as_complex: a complex number is two real ones, side by side.
#include "op/lod_rule.h"
#include "operators/complex/parts.h"

namespace dygraph::complex {
namespace {

void DefineAsReal(OpDef& op) {
  op.Comment("Out = the real and the imaginary part of X along a new last axis.")
      .Example(
          ">>> F.as_real(to_variable([1 + 2j, 3 - 4j])).tolist()\n"
          "[[1.0, 2.0], [3.0, -4.0]]")
      .Input(kX, "X", "any shape, complex")
      .Output(kOut, "Out", "shape of X and a last axis of 2; the type of the parts")
      .Shape([](InferContext& ctx) {
        CheckComplex(ctx.dtype(kX), "X");
        Dims dims = ctx.dims(kX);
        dims.push_back(2);
        ctx.SetOutput(kOut, dims, RealOf(ctx.dtype(kX)));
      })
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) { g.Call("as_complex", {g.OutputGrad(kOut)}, {g.InputGrad(kX)}); });
}

void DefineAsComplex(OpDef& op) {
  op.Comment("Out = X[..., 0] + i X[..., 1].")
      .Example(
          ">>> F.as_complex(to_variable([[1.0, 2.0], [3.0, -4.0]])).tolist()\n"
          "[(1+2j), (3-4j)]")
      .Input(kX, "X", "a last axis of 2")
      .Output(kOut, "Out", "shape of X without its last axis")
      .Shape([](InferContext& ctx) {
        CheckReal(ctx.dtype(kX), "X");
        Dims dims = ctx.dims(kX);
        ENFORCE(dims.rank() > 0 && (dims.back() == 2 || dims.back() < 0), InvalidArgument,
                "X must have a last axis of 2, the real and the imaginary part, got shape ", dims);
        dims.pop_back();
        ctx.SetOutput(kOut, dims, ComplexOf(ctx.dtype(kX)));
      })
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) { g.Call("as_real", {g.OutputGrad(kOut)}, {g.InputGrad(kX)}); });
}

// The same bytes.
template <class T>
struct CopyKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    if (x.numel() == 0) return;
    ctx.device().CopyWithin(ctx.Out(kOut).mutable_raw_data(), x.raw_data(), x.bytes());
  }
};

REGISTER_OPERATOR(as_real, DefineAsReal);
REGISTER_LOD_RULE(as_real, RowsOfFirstAxis);
REGISTER_CPU_KERNEL(as_real, CopyKernel, complex64, complex128);
REGISTER_OPERATOR(as_complex, DefineAsComplex);
REGISTER_LOD_RULE(as_complex, [](const LoDCall& c) { return c.from.rank() > 1; });
REGISTER_KERNELS(as_complex, CopyKernel, float, double);

}  // namespace
}  // namespace dygraph::complex
