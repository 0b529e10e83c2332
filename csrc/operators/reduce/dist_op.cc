#include "operators/arithmetic/binary.h"
#include "operators/reduce/norms.h"

namespace dygraph::norms {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

struct DistAttrs {
  double p = 2.0;
};

void DefineDist(OpDef& op) {
  op.Comment("Out = the p-norm of X - Y over all elements, X and Y broadcasting.")
      .Example(
          ">>> x, y = to_variable([1.0, 2.0]), to_variable([4.0, 6.0])\n"
          ">>> F.dist(x, y).item(), F.dist(x, y, p=1.0).item()\n"
          "(5.0, 7.0)")
      .Input(kX, "X", "any shape")
      .Input(kY, "Y", "broadcasts with X")
      .Output(kOut, "Out", "shape []")
      .Attr(&DistAttrs::p, "p", "order of the norm; 0, inf and -inf too",
            [](const std::string& name, const AttrValue& value) {
              const double p = NumberOf(value);
              ENFORCE(p == p, InvalidArgument, name, " must be a number or infinite, got nan");
            })
      .Shape([](InferContext& ctx) {
        BroadcastDims(ctx.dims(kX), ctx.dims(kY));
        ctx.SetOutput(kOut, Dims());
      })
      .Grad([](GradBuilder& g) {
        RecipeRef difference = g.Apply("elementwise_sub", {g.Input(kX), g.Input(kY)});
        RecipeRef slope = g.Temp();
        g.Call("p_norm_grad", {difference, g.Output(kOut), g.OutputGrad(kOut)}, {slope})
            .Attr("porder", g.attrs<DistAttrs>().p)
            .Attr("asvector", true);
        g.Call("elementwise_sub_grad", {g.InputShape(kX), g.InputShape(kY), slope},
               {g.InputGrad(kX), g.InputGrad(kY)});
      });
}

template <class T>
struct DistKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    Tensor difference(BroadcastDims(x.dims(), y.dims()), x.dtype(), x.place());
    elementwise::Apply<T, T>(x, y, -1, &difference, [] DYGRAPH_FN(T a, T b) { return a - b; });
    Norm norm{NumberFor<T>(ctx.attrs<DistAttrs>().p), {}};
    norm.over.reduce_all = true;
    norms::Compute<T>(difference, norm, &ctx.Out(kOut));
  }
};

REGISTER_OPERATOR(dist, DefineDist);
REGISTER_KERNELS(dist, DistKernel, float, double);

}  // namespace
}  // namespace dygraph::norms
