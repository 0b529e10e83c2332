#include "op/lod_rule.h"
#include "operators/arithmetic/closeness.h"

namespace dygraph::elementwise {
namespace {

void DefineIsclose(OpDef& op) {
  op.Comment(
        "Out = |Input - Other| <= atol + rtol * |Other|, elementwise. Infinities are close to "
        "themselves alone. Shapes broadcast as NumPy's.")
      .Example(
          ">>> F.isclose(to_variable([1.0, 2.0]), to_variable([1.0, 2.1])).tolist()\n"
          "[True, False]");
  closeness::Define(op)
      .Output(kOut, "Out", "the common shape, bool")
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOut, closeness::Check(ctx), DType::kBool); });
}

template <class T>
struct IscloseKernel {
  static void Compute(KernelContext& ctx) { closeness::Compare<T>(ctx, &ctx.Out(kOut)); }
};

REGISTER_OPERATOR(isclose, DefineIsclose);
REGISTER_LOD_RULE(isclose, [](const LoDCall& c) { return c.out.rank() <= c.from.rank(); });
REGISTER_LOD_ALSO(isclose, kY);
REGISTER_KERNELS(isclose, IscloseKernel, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::elementwise
