#include "operators/arithmetic/floor_division.h"

namespace dygraph::elementwise {
namespace {

void DefineMod(OpDef& op) {
  DefineBinary(op,
               "Out = X - Y * floor(X / Y), elementwise: the remainder has the sign of Y, as in "
               "Python. Integers are divided by zero never. Shapes broadcast as NumPy's; axis >= "
               "0 lays Y along X from that axis on.")
      .Example(
          ">>> F.elementwise_mod(to_variable([7, -7]), to_variable([3, 3])).tolist()\n"
          "[1, 2]")
      .Grad([](GradBuilder& g) {  // X@GRAD = Out@GRAD, Y@GRAD = -floor(X / Y) Out@GRAD
        g.Call("elementwise_add_grad", {g.InputShape(kX), g.InputShape(kY), g.OutputGrad(kOut)},
               {g.InputGrad(kX), {}})
            .SameAttrs();
        if (!g.Wants(kY)) return;
        RecipeRef quotient = g.Temp();
        g.Call("elementwise_floordiv", {g.Input(kX), g.Input(kY)}, {quotient}).SameAttrs();
        RecipeRef steps = g.Apply("elementwise_mul", {quotient, g.OutputGrad(kOut)});
        g.Call("elementwise_add_grad",
               {g.InputShape(kX), g.InputShape(kY), g.ApplyScale(steps, -1.0f)},
               {{}, g.InputGrad(kY)})
            .SameAttrs();
      });
}

template <class T>
using ModKernel = FloorDivisionKernel<Mod, T>;

REGISTER_OPERATOR(elementwise_mod, DefineMod);
REGISTER_LOD_RULE(elementwise_mod, elementwise::KeepsRows);
REGISTER_LOD_ALSO(elementwise_mod, elementwise::kY);
REGISTER_KERNELS(elementwise_mod, ModKernel, float, double, uint8_t, int8_t, int16_t, int32_t,
                 int64_t);

}  // namespace
}  // namespace dygraph::elementwise
