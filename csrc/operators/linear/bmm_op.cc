#include "op/lod_rule.h"
#include "operators/linear/matrix_products.h"

namespace dygraph::matmul {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  ENFORCE(x.rank() == 3 && y.rank() == 3, InvalidArgument, "X and Y must have three axes, got X ",
          x, " and Y ", y);
  ENFORCE(x[0] == y[0] || !BothKnown(x[0], y[0]), InvalidArgument,
          "X and Y must hold equally many matrices, got X ", x, " and Y ", y);
  Product p = Describe(x, y, false, false);
  ctx.SetOutput(kOut, {x[0] < 0 ? y[0] : x[0], p.m, p.n});
}

void DefineBmm(OpDef& op) {
  op.Comment("Out[i] = X[i] Y[i], a matrix product for each i.")
      .Example(
          ">>> x = to_variable([[[1.0, 2.0]], [[3.0, 4.0]]])\n"
          ">>> F.bmm(x, to_variable([[[1.0], [1.0]], [[2.0], [2.0]]])).tolist()\n"
          "[[[3.0]], [[14.0]]]")
      .Input(kX, "X", "[b, m, k]")
      .Input(kY, "Y", "[b, k, n]")
      .Output(kOut, "Out", "[b, m, n]")
      .ShareLoD(kX)
      .Shape(InferShape)
      .Grad([](GradBuilder& g) {
        g.Call("matmul_v2_grad",
               {g.Wants(kY) ? g.Input(kX) : g.InputShape(kX),
                g.Wants(kX) ? g.Input(kY) : g.InputShape(kY), g.OutputGrad(kOut)},
               {g.InputGrad(kX), g.InputGrad(kY)});
      });
}

template <class T>
struct BmmKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    Multiply<T>(Describe(x.dims(), y.dims(), false, false), T(1), x.data<T>(), y.data<T>(),
                ctx.Out(kOut).mutable_data<T>());
  }
};

REGISTER_OPERATOR(bmm, DefineBmm);
REGISTER_LOD_ALSO(bmm, kY);
REGISTER_KERNELS(bmm, BmmKernel, float, double);
REGISTER_DEVICE_TYPES(bmm, BmmKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::matmul
