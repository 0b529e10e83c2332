#include "kernels/fold.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kY = 1, kSubResult = 0, kOut = 1;

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  bool fits = x.rank() == y.rank() && x.rank() >= 2;
  for (int i = 1; fits && i < x.rank(); ++i) fits = x[i] == y[i] || !BothKnown(x[i], y[i]);
  ENFORCE(fits && (x[0] == y[0] || y[0] == 1 || !BothKnown(x[0], y[0])), InvalidArgument,
          "Y must have the shape of X with as many rows or one, both with two axes or more, got X ",
          x, " and Y ", y);
  ctx.SetOutput(kSubResult, x);
  ctx.SetOutput(kOut, {x[0], 1});
}

void DefineSquaredL2Distance(OpDef& op) {
  op.Comment("Out[i] = the sum of (X[i] - Y[i])^2, of (X[i] - Y[0])^2 where Y has one row.")
      .Example(
          ">>> x = to_variable([[1.0, 2.0], [3.0, 4.0]])\n"
          ">>> F.squared_l2_distance(x, to_variable([[0.0, 0.0]])).tolist()\n"
          "[[5.0], [25.0]]")
      .Input(kX, "X", "[rows, ...]")
      .Input(kY, "Y", "[rows, ...] or [1, ...]")
      .Output(kSubResult, "sub_result", "X - Y", kIntermediate)
      .Output(kOut, "Out", "[rows, 1]")
      .ShareLoD(kX)
      .Shape(InferShape)
      .Grad([](GradBuilder& g) {
        RecipeRef each = g.Temp(), total = g.Temp();
        // Fluid's axis 0 lays the rows of [rows, 1] along those of X whatever its rank
        g.Call("elementwise_mul", {g.Output(kSubResult), g.OutputGrad(kOut)}, {each})
            .Attr("axis", int32_t{0});
        g.Call("sum", {RecipeSlot({g.ApplyScale(each, 2.0f), g.OutputGrad(kSubResult)})}, {total});
        g.Call("elementwise_sub_grad", {g.InputShape(kX), g.InputShape(kY), total},
               {g.InputGrad(kX), g.InputGrad(kY)});
      });
}

template <class T>
struct SquaredL2DistanceKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    Tensor& out = ctx.Out(kOut);
    int64_t rows = x.dim(0), n = rows > 0 ? x.numel() / rows : 0;
    const T *a = x.data<T>(), *b = y.data<T>();
    T *to = out.mutable_data<T>(), *sub = ctx.Out(kSubResult).mutable_data<T>();
    const bool one = y.dim(0) == 1;
    kernels::ForEachRowPlain(rows, n, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
      const T *mine = a + r * n, *other = b + (one ? 0 : r * n);
      T* differences = sub + r * n;
      const double sum = kernels::Fold(
          team, n, 0.0,
          [=](int64_t i) {
            const T d = differences[i] = mine[i] - other[i];
            return static_cast<double>(d) * d;
          },
          kernels::Sum());
      team.Once([=] { to[r] = static_cast<T>(sum); });
    });
  }
};

REGISTER_OPERATOR(squared_l2_distance, DefineSquaredL2Distance);
REGISTER_LOD_ALSO(squared_l2_distance, kY);
REGISTER_KERNELS(squared_l2_distance, SquaredL2DistanceKernel, float, double);

}  // namespace
}  // namespace dygraph
