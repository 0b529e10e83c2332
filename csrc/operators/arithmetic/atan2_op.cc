#include <cmath>

#include "kernels/trigonometry.h"
#include "op/gradient_call.h"
#include "op/pointwise.h"
#include "operators/arithmetic/binary.h"

namespace dygraph::elementwise {
namespace {

constexpr int64_t kAtan2Cost = 20;

void DefineAtan2(OpDef& op) {
  op.Comment(
        "Out = the angle of the point (X2, X1), in [-pi, pi]: arctan(X1 / X2) in the quadrant of "
        "the signs, elementwise. Shapes broadcast as NumPy's.")
      .Example(
          ">>> y, x = to_variable([1.0, -1.0]), to_variable([0.0, -1.0])\n"
          ">>> [round(v, 4) for v in F.atan2(y, x).tolist()]\n"
          "[1.5708, -2.3562]")
      .Input(kX, "X1", "any shape: the coordinate upwards")
      .Input(kY, "X2", "broadcasts with X1: the coordinate to the right")
      .Output(kOut, "Out", "the common shape")
      .Shape(
          [](InferContext& ctx) { ctx.SetOutput(kOut, BroadcastDims(ctx.dims(kX), ctx.dims(kY))); })
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad(CallGradient);
}

template <class T>
struct Atan2Kernel {
  static void Compute(KernelContext& ctx) {
    Apply<T, T>(
        ctx.In(kX), ctx.In(kY), -1, &ctx.Out(kOut),
        [] DYGRAPH_FN(T a, T b) { return kernels::Atan2(a, b); }, kAtan2Cost);
  }
};

namespace grad {
constexpr int kX1 = 0, kX2 = 1, kOutGrad = 2, kX1Grad = 0, kX2Grad = 1;

// With v1 and v2 arriving for X1@GRAD = G X2 / r^2 and X2@GRAD = -G X1 / r^2, r^2 = X1^2 + X2^2:
// G gets P / r^2, P = v1 X2 - v2 X1; X1 gets -G (v2 + 2 X1 P / r^2) / r^2, X2 the like with v1.
void Atan2GradRecipe(GradBuilder& g) {
  RecipeRef x1 = g.Input(kX1), x2 = g.Input(kX2);
  RecipeRef v1 = g.OutputGrad(kX1Grad), v2 = g.OutputGrad(kX2Grad);
  auto times = [&](RecipeRef a, RecipeRef b) { return g.Apply("elementwise_mul", {a, b}); };
  RecipeRef squares =
      g.Apply("elementwise_add", {g.Apply("square", {x1}), g.Apply("square", {x2})});
  RecipeRef q = g.Apply("reciprocal", {squares});
  RecipeRef p = g.Apply("elementwise_sub", {times(v1, x2), times(x1, v2)});
  RecipeRef to_g = times(p, q);
  g.Call("scale", {to_g}, {g.InputGrad(kOutGrad)});
  RecipeRef scaled = times(g.Input(kOutGrad), q);
  RecipeRef twice = g.ApplyScale(times(scaled, to_g), 2.0f);
  RecipeRef one = g.Apply("elementwise_add", {times(scaled, v2), times(twice, x1)});
  RecipeRef two = g.Apply("elementwise_sub", {times(scaled, v1), times(twice, x2)});
  g.Call("elementwise_add_grad", {g.InputShape(kX1), g.InputShape(kX2), g.ApplyScale(one, -1.0f)},
         {g.InputGrad(kX1), {}});
  g.Call("elementwise_add_grad", {g.InputShape(kX1), g.InputShape(kX2), two},
         {{}, g.InputGrad(kX2)});
}

void DefineAtan2Grad(OpDef& op) {
  op.Comment(
        "X1@GRAD = Out@GRAD * X2 / (X1^2 + X2^2), X2@GRAD = -Out@GRAD * X1 / (X1^2 + X2^2), each "
        "summed over the axes it was broadcast along; 0 where both are 0.")
      .Input(kX1, "X1", "the coordinate upwards")
      .Input(kX2, "X2", "the coordinate to the right")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kX1Grad, "X1@GRAD", "shape of X1")
      .Output(kX2Grad, "X2@GRAD", "shape of X2")
      .Shape(InferGradShape)
      .KeepsLayout()
      .Grad(Atan2GradRecipe);
}

template <class T>
struct Atan2GradKernel {
  // The greater one is divided by first: no square overflows or vanishes.
  static DYGRAPH_INLINE T Slope(T d, T along, T across) {
    T size = std::max(std::abs(along), std::abs(across));
    if (size == 0) return T(0);
    T u = along / size, w = across / size;
    return d * (u / (u * u + w * w)) / size;
  }
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX1), &y = ctx.In(kX2), &g = ctx.In(kOutGrad);
    Tensor a = Expanded<T>(x, x.dims(), g), b = Expanded<T>(y, y.dims(), g);
    GradOf3<T>(
        g, b, a, x.dims(), ctx.OutOrNull(kX1Grad),
        [] DYGRAPH_FN(T d, T along, T across) { return Slope(d, along, across); }, kAtan2Cost);
    GradOf3<T>(
        g, a, b, y.dims(), ctx.OutOrNull(kX2Grad),
        [] DYGRAPH_FN(T d, T along, T across) { return -Slope(d, along, across); }, kAtan2Cost);
  }
};
}  // namespace grad

REGISTER_OPERATOR(atan2, DefineAtan2);
REGISTER_POINTWISE(atan2);
REGISTER_LOD_RULE(atan2, [](const LoDCall& c) { return c.out.rank() <= c.from.rank(); });
REGISTER_LOD_ALSO(atan2, elementwise::kY);
REGISTER_KERNELS(atan2, Atan2Kernel, float, double);
REGISTER_OPERATOR(atan2_grad, grad::DefineAtan2Grad);
REGISTER_POINTWISE(atan2_grad);
REGISTER_KERNELS(atan2_grad, grad::Atan2GradKernel, float, double);

}  // namespace
}  // namespace dygraph::elementwise
