#include "kernels/elementwise.h"
#include "kernels/integer.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"
#include "op/pointwise.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  bool same = x.rank() == y.rank();
  for (int i = 0; same && i < x.rank(); ++i) same = !BothKnown(x[i], y[i]) || x[i] == y[i];
  ENFORCE(same, InvalidArgument, "X and Y must have one shape, got ", x, " and ", y,
          ". elementwise_sub broadcasts");
  ctx.SetOutput(kOut, x);
}

void DefineMinus(OpDef& op) {
  op.Comment("Out = X - Y, of one shape.")
      .Example(
          ">>> F.minus(to_variable([3.0, 5.0]), to_variable([1.0, 7.0])).tolist()\n"
          "[2.0, -2.0]")
      .Input(kX, "X", "any shape")
      .Input(kY, "Y", "shape of X")
      .Output(kOut, "Out", "shape of X")
      .Shape(InferShape)
      .KeepsLayout()
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        g.Call("scale", {g.OutputGrad(kOut)}, {g.InputGrad(kX)});
        g.Call("scale", {g.OutputGrad(kOut)}, {g.InputGrad(kY)}).Attr("scale", -1.0f);
      });
}

template <class T>
struct MinusKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    kernels::Zip(x.data<T>(), ctx.In(kY).data<T>(), ctx.Out(kOut).mutable_data<T>(), x.numel(),
                 [] DYGRAPH_FN(T a, T b) { return kernels::Minus(a, b); });
  }
};

REGISTER_OPERATOR(minus, DefineMinus);
REGISTER_POINTWISE(minus);
REGISTER_LOD_ALSO(minus, kY);
REGISTER_KERNELS(minus, MinusKernel, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph
