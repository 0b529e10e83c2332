#include "op/pointwise.h"
#include "operators/arithmetic/binary.h"

namespace dygraph::elementwise {
namespace {

// X@GRAD = 0. Y@GRAD = Out@GRAD where X is 0: the difference of the steps of 1 and 0 there.
void HeavisideRecipe(GradBuilder& g) {
  g.Call("fill_zeros_like", {g.InputShape(kX)}, {g.InputGrad(kX)});
  if (!g.Wants(kY)) return;
  auto step = [&](float at_zero) {
    RecipeRef value = g.Temp(), out = g.Temp();
    g.Call("fill_any_like", {g.InputShape(kY)}, {value}).Attr("value", at_zero);
    g.Call("elementwise_heaviside", {g.Input(kX), value}, {out}).SameAttrs();
    return out;
  };
  RecipeRef at_zero = g.Apply("elementwise_sub", {step(1), step(0)});
  RecipeRef kept = g.Apply("elementwise_mul", {at_zero, g.OutputGrad(kOut)});
  g.Call("elementwise_add_grad", {g.InputShape(kX), g.InputShape(kY), kept}, {{}, g.InputGrad(kY)})
      .SameAttrs();
}

void DefineHeaviside(OpDef& op) {
  DefineBinary(op,
               "Out = 0 where X < 0, Y where X = 0, 1 where X > 0, elementwise; NaN where X is. "
               "Shapes broadcast as NumPy's; axis >= 0 lays Y along X from that axis on.")
      .Example(
          ">>> x = to_variable([-1.0, 0.0, 2.0])\n"
          ">>> F.elementwise_heaviside(x, to_variable([0.5])).tolist()\n"
          "[0.0, 0.5, 1.0]")
      .Grad(HeavisideRecipe);
}

template <class T>
struct HeavisideKernel {
  static void Compute(KernelContext& ctx) {
    Apply<T, T>(ctx.In(kX), ctx.In(kY), ctx.attrs<ElementwiseAttrs>().axis, &ctx.Out(kOut),
                [] DYGRAPH_FN(T a, T b) {
                  return a > T(0) ? T(1) : a < T(0) ? T(0) : a == T(0) ? b : a;
                });
  }
};

REGISTER_OPERATOR(elementwise_heaviside, DefineHeaviside);
REGISTER_POINTWISE(elementwise_heaviside);
REGISTER_LOD_RULE(elementwise_heaviside, elementwise::KeepsRows);
REGISTER_LOD_ALSO(elementwise_heaviside, elementwise::kY);
REGISTER_KERNELS(elementwise_heaviside, HeavisideKernel, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::elementwise
