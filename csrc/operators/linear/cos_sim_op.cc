#include <cmath>

#include "kernels/row_dots.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0, kXNorm = 1, kYNorm = 2;

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  bool fits = x.rank() >= 2 && y.rank() == x.rank() &&
              (x[0] == y[0] || y[0] == 1 || !BothKnown(x[0], y[0]));
  for (int i = 1; fits && i < x.rank(); ++i) fits = x[i] == y[i] || !BothKnown(x[i], y[i]);
  ENFORCE(fits, InvalidArgument,
          "X and Y must have at least two axes and rows of one shape, Y as many rows as X or one, "
          "got X ",
          x, " and Y ", y);
  ctx.SetOutput(kOut, {x[0], 1});
  ctx.SetOutput(kXNorm, {x[0], 1});
  ctx.SetOutput(kYNorm, {y[0], 1});
}

// X@GRAD = Out@GRAD (Y / (XNorm YNorm) - Out X / XNorm^2) + XNorm@GRAD X / XNorm, Y@GRAD likewise,
// summed over the rows where Y has one. X and Y go in as matrices.
void Gradient(GradBuilder& g) {
  auto matrix = [&g](RecipeRef v) {
    RecipeRef flat = g.Temp();
    g.Call("flatten2", {v}, {flat, {}}).Attr("axis", 1);
    return flat;
  };
  RecipeRef x = matrix(g.Input(kX)), y = matrix(g.Input(kY)), xn = g.Output(kXNorm),
            yn = g.Output(kYNorm);
  auto times = [&g](RecipeRef a, RecipeRef b) { return g.Apply("elementwise_mul", {a, b}); };
  auto over = [&g](RecipeRef a, RecipeRef b) { return g.Apply("elementwise_div", {a, b}); };
  auto minus = [&g](RecipeRef a, RecipeRef b) { return g.Apply("elementwise_sub", {a, b}); };
  RecipeRef factor = over(g.OutputGrad(kOut), times(xn, yn));
  RecipeRef turned = times(g.OutputGrad(kOut), g.Output(kOut));
  RecipeRef a = minus(times(factor, y), times(over(turned, times(xn, xn)), x));
  RecipeRef b = times(over(x, xn), g.OutputGrad(kXNorm));
  RecipeRef to_x = g.Temp(), to_y = g.Temp();
  g.Call("sum", {RecipeSlot({a, b})}, {to_x});
  g.Call("reshape2_grad", {g.InputShape(kX), to_x}, {g.InputGrad(kX)});
  RecipeRef negative = minus(times(over(turned, times(yn, yn)), y), times(factor, x));
  RecipeRef c = g.Temp(), d = times(over(y, yn), g.OutputGrad(kYNorm));
  g.Call("elementwise_sub_grad", {x, y, negative}, {{}, c});
  g.Call("sum", {RecipeSlot({c, d})}, {to_y});
  g.Call("reshape2_grad", {g.InputShape(kY), to_y}, {g.InputGrad(kY)});
}

void DefineCosSim(OpDef& op) {
  op.Comment(
        "Out = X Y / (|X| |Y|) for each row; a Y of one row goes with all rows of X. Axes behind "
        "the "
        "second belong to the row.")
      .Example(
          ">>> x, y = to_variable([[2.0, 0.0], [0.0, 5.0]]), to_variable([[3.0, 0.0]])\n"
          ">>> F.cos_sim(x, y).tolist()\n"
          "[[1.0], [0.0]]")
      .Input(kX, "X", "[rows, ...]")
      .Input(kY, "Y", "[rows, ...] or [1, ...]")
      .Output(kOut, "Out", "[rows, 1]")
      .Output(kXNorm, "XNorm", "lengths of the rows of X", kIntermediate)
      .Output(kYNorm, "YNorm", "lengths of the rows of Y", kIntermediate)
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad(Gradient);
}

template <class T>
void Lengths(const Tensor& x, T* to) {
  const int64_t n = Numel(x.dims(), 1, x.rank());
  const T* from = x.data<T>();
  kernels::RowDots(from, n, from, n, x.dim(0), n, [] DYGRAPH_FN(int64_t) { return 0.0; },
                   [=] DYGRAPH_FN(int64_t r, double sum) {
                     to[r] = static_cast<T>(std::sqrt(sum));
                   });
}

template <class T>
struct CosSimKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    const int64_t n = Numel(x.dims(), 1, x.rank());
    const bool one = y.dim(0) == 1;
    T *xn = ctx.Out(kXNorm).mutable_data<T>(), *yn = ctx.Out(kYNorm).mutable_data<T>();
    Lengths(x, xn);
    Lengths(y, yn);
    T* to = ctx.Out(kOut).mutable_data<T>();
    kernels::RowDots(x.data<T>(), n, y.data<T>(), one ? 0 : n, x.dim(0), n,
                     [] DYGRAPH_FN(int64_t) { return 0.0; },
                     [=] DYGRAPH_FN(int64_t r, double sum) {
                       const double lengths = static_cast<double>(xn[r]) * yn[one ? 0 : r];
                       to[r] = static_cast<T>(sum / lengths);
                     });
  }
};

REGISTER_OPERATOR(cos_sim, DefineCosSim);
REGISTER_LOD_ALSO(cos_sim, kY);
REGISTER_KERNELS(cos_sim, CosSimKernel, float, double);

}  // namespace
}  // namespace dygraph
