#include "op/number.h"
#include "operators/arithmetic/binary.h"

namespace dygraph::elementwise {
namespace {

constexpr int kWeight = 2;

// Y@GRAD = Weight * Out@GRAD, X@GRAD = Out@GRAD - Y@GRAD, Weight@GRAD = (Y - X) * Out@GRAD, each
// summed to its shape.
void LerpRecipe(GradBuilder& g) {
  RecipeRef x = g.InputShape(kX), y = g.InputShape(kY), w = g.Input(kWeight),
            out = g.OutputGrad(kOut);
  RecipeRef to_y = g.Apply("elementwise_mul", {out, w});
  RecipeRef x1 = g.Temp(), x2 = g.Temp();
  g.Call("elementwise_add_grad", {y, out, to_y}, {g.InputGrad(kY)});
  g.Call("elementwise_add_grad", {x, out, out}, {x1});
  g.Call("elementwise_sub_grad", {out, x, to_y}, {{}, x2});
  g.Call("sum", {RecipeSlot({x1, x2})}, {g.InputGrad(kX)});
  RecipeRef between = g.Apply("elementwise_sub", {g.Input(kY), g.Input(kX)});
  g.Call("elementwise_mul_grad", {w, between, out}, {g.InputGrad(kWeight)});
}

void DefineLerp(OpDef& op) {
  op.Comment(
        "Out = X + Weight * (Y - X), elementwise: the point between X and Y, exactly X for 0 and Y "
        "for 1. Shapes broadcast as NumPy's.")
      .Example(
          ">>> x, y = to_variable([1.0, 2.0]), to_variable([3.0, 6.0])\n"
          ">>> F.lerp(x, y, 0.5).tolist()\n"
          "[2.0, 4.0]")
      .Input(kX, "X", "any shape")
      .Input(kY, "Y", "broadcasts with X")
      .Input(kWeight, "Weight", "broadcasts with both")
      .Output(kOut, "Out", "the common shape")
      .Shape([](InferContext& ctx) {
        Dims both = BroadcastDims(ctx.dims(kX), ctx.dims(kY));
        ctx.SetOutput(kOut, BroadcastDims(both, ctx.dims(kWeight)));
      })
      .KeepsLayout()
      .ShareLoD(kX)
      .Grad(LerpRecipe);
}

template <class T>
struct LerpKernel {
  static DYGRAPH_INLINE T Between(T x, T y, T w) {  // exact at both ends
    T d = y - x;
    return w < T(0.5) ? x + w * d : y - d * (T(1) - w);
  }
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY), &w = ctx.In(kWeight);
    Tensor& out = ctx.Out(kOut);
    if (out.numel() == 0) return;
    if (w.numel() == 1 && w.rank() <= BroadcastDims(x.dims(), y.dims()).rank()) {
      const Number<T> weight(w);
      return Apply<T, T>(x, y, -1, &out,
                         [weight] DYGRAPH_FN(T a, T b) { return Between(a, b, weight()); });
    }
    Tensor a = Expanded<T>(x, x.dims(), out), b = Expanded<T>(y, y.dims(), out),
           c = Expanded<T>(w, w.dims(), out);
    kernels::Zip3(a.data<T>(), b.data<T>(), c.data<T>(), out.mutable_data<T>(), out.numel(),
                  [] DYGRAPH_FN(T u, T v, T t) { return Between(u, v, t); });
  }
};

REGISTER_OPERATOR(lerp, DefineLerp);
REGISTER_LOD_RULE(lerp, [](const LoDCall& c) { return c.out.rank() <= c.from.rank(); });
REGISTER_LOD_ALSO(lerp, kY, kWeight);
REGISTER_KERNELS(lerp, LerpKernel, float, double);

}  // namespace
}  // namespace dygraph::elementwise
