#include "kernels/row_dots.h"
#include "kernels/simd.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  ENFORCE(x.rank() == 1 || x.rank() == 2, InvalidArgument, "X must have one axis or two, got ", x);
  ENFORCE(x == y || x.HasUnknown() || y.HasUnknown(), InvalidArgument,
          "X and Y must have one shape, got ", x, " and ", y);
  ctx.SetOutput(kOut, Dims(x.begin(), x.end() - 1));
}

void DefineDot(OpDef& op) {
  op.Comment("Out = the sum of X Y over the last axis.")
      .Example(
          ">>> F.dot(to_variable([1.0, 2.0, 3.0]), to_variable([4.0, 5.0, 6.0])).item()\n"
          "32.0")
      .Input(kX, "X", "[n] or [rows, n]")
      .Input(kY, "Y", "shape of X")
      .Output(kOut, "Out", "[] or [rows]")
      .ShareLoD(kX)
      .Shape(InferShape)
      .Grad([](GradBuilder& g) {
        RecipeRef each = g.Temp();
        g.Call("unsqueeze2", {g.OutputGrad(kOut)}, {each}).Attr("axes", std::vector<int32_t>{-1});
        g.Call("elementwise_mul", {each, g.Input(kY)}, {g.InputGrad(kX)});
        g.Call("elementwise_mul", {each, g.Input(kX)}, {g.InputGrad(kY)});
      });
}

template <class T>
struct DotKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    Tensor& out = ctx.Out(kOut);
    int64_t n = x.dims().back();
    kernels::Dots(x.data<T>(), ctx.In(kY).data<T>(), out.numel(), n, out.mutable_data<T>());
  }
};

REGISTER_OPERATOR(dot, DefineDot);
REGISTER_LOD_ALSO(dot, kY);
REGISTER_LOD_RULE(dot, [](const LoDCall& c) { return c.from.rank() > 1; });
REGISTER_KERNELS(dot, DotKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph
