#include <cmath>

#include "kernels/fold.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kNorm = 0, kOut = 1;

struct NormAttrs {
  int32_t axis = -1;
  double epsilon = 1.0e-10;
};

void DefineNorm(OpDef& op) {
  op.Comment("Out = X / Norm, Norm = the root of epsilon + the sum of X^2 along an axis.")
      .Input(kX, "X", "any shape")
      .Output(kNorm, "Norm", "shape of X with 1 along the axis", kIntermediate)
      .Output(kOut, "Out", "shape of X")
      .Attr(&NormAttrs::axis, "axis", "the axis; negative ones count from the end")
      .Attr(&NormAttrs::epsilon, "epsilon", "keeps the root from 0", AtLeast(0))
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) {
        Dims norm = ctx.dims(kX);
        int axis = NormalizeAxis(ctx.attrs<NormAttrs>().axis, norm.rank());
        ctx.SetOutput(kOut, norm);
        if (!norm.empty()) norm[axis] = 1;
        ctx.SetOutput(kNorm, norm);
      })
      .Grad([](GradBuilder& g) {
        // X@GRAD = (Out@GRAD - Out sum(Out@GRAD Out)) / Norm + Norm@GRAD Out
        RecipeRef incoming = g.OutputGrad(kOut), out = g.Output(kOut), along = g.Temp();
        g.Call("reduce_sum", {g.Apply("elementwise_mul", {incoming, out})}, {along})
            .Attr("dim", std::vector<int32_t>{g.attrs<NormAttrs>().axis})
            .Attr("keep_dim", true);
        RecipeRef across =
            g.Apply("elementwise_sub", {incoming, g.Apply("elementwise_mul", {out, along})});
        RecipeRef a = g.Apply("elementwise_div", {across, g.Output(kNorm)});
        RecipeRef b = g.Apply("elementwise_mul", {out, g.OutputGrad(kNorm)});
        g.Call("sum", {RecipeSlot({a, b})}, {g.InputGrad(kX)});
      });
}

template <class T>
struct NormKernel {
  static void Compute(KernelContext& ctx) {
    const NormAttrs& a = ctx.attrs<NormAttrs>();
    const Tensor& x = ctx.In(kX);
    int axis = NormalizeAxis(a.axis, x.rank());
    int64_t n = x.rank() == 0 ? 1 : x.dim(axis),
            inner = Numel(x.dims(), std::min(axis + 1, x.rank()), x.rank());
    Tensor& norm = ctx.Out(kNorm);
    const T* from = x.data<T>();
    T *to = ctx.Out(kOut).mutable_data<T>(), *roots = norm.mutable_data<T>();
    double epsilon = NumberFor<T>(a.epsilon);
    kernels::ForEachRowPlain(
        norm.numel(), n,
        [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
          const int64_t first = r / inner * n * inner + r % inner;
          const double sum = kernels::SumFrom(team, n, epsilon, [=](int64_t i) {
            const double v = from[first + i * inner];
            return v * v;
          });
          const T root = static_cast<T>(std::sqrt(sum));
          team.Once([=] { roots[r] = root; });
          team.Each(n, [=](int64_t i) { to[first + i * inner] = from[first + i * inner] / root; });
        },
        4);
  }
};

REGISTER_OPERATOR(norm, DefineNorm);
REGISTER_KERNELS(norm, NormKernel, float, double);

}  // namespace
}  // namespace dygraph
