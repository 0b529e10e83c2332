// Operators that are linear in X and in Y, like a product: the recipes of their first and higher
// gradients, of operators T and T_grad alone.
#pragma once

#include "op/gradient_call.h"
#include "op/op_registry.h"

namespace dygraph::two_factors {

constexpr int kX = 0, kY = 1, kOut = 0;
namespace grad {
constexpr int kOutGrad = 2, kXGrad = 0, kYGrad = 1;
}

// Named T_grad; slots X, Y, Out@GRAD.
template <const char* kType>
void DefineGrad(OpDef& op) {
  op.Comment("What the one factor and Out@GRAD give for the other.")
      .Input(kX, "X", "input of the forward call")
      .Input(kY, "Y", "input of the forward call")
      .Input(grad::kOutGrad, "Out@GRAD", "shape of Out")
      .Output(grad::kXGrad, "X@GRAD", "shape of X")
      .Output(grad::kYGrad, "Y@GRAD", "shape of Y")
      .AttrsOf(kType)
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(grad::kXGrad, ctx.dims(kX));
        ctx.SetOutput(grad::kYGrad, ctx.dims(kY));
      })
      .Grad([](GradBuilder& g) {
        const std::string back = std::string(kType) + "_grad";
        RecipeRef ddx = g.OutputGrad(grad::kXGrad), ddy = g.OutputGrad(grad::kYGrad),
                  incoming = g.Input(grad::kOutGrad);
        RecipeRef a = g.Temp(), b = g.Temp();
        g.Call(kType, {ddx, g.Input(kY)}, {a});
        g.Call(kType, {g.Input(kX), ddy}, {b});
        g.Call("sum", {RecipeSlot({a, b})}, {g.InputGrad(grad::kOutGrad)});
        g.CallLists(back, {g.InputShape(kX), ddy, incoming}, {g.InputGrad(kX), {}});
        g.CallLists(back, {ddx, g.InputShape(kY), incoming}, {{}, g.InputGrad(kY)});
      });
}

// Each gradient reads the values of the other factor.
template <const char* kType>
void Recipe(GradBuilder& g) {
  g.CallLists(std::string(kType) + "_grad",
              {g.Wants(kY) ? g.Input(kX) : g.InputShape(kX),
               g.Wants(kX) ? g.Input(kY) : g.InputShape(kY), g.OutputGrad(kOut)},
              {g.InputGrad(kX), g.InputGrad(kY)});
}

}  // namespace dygraph::two_factors
