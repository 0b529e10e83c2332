#include "operators/fused/fused.h"

namespace dygraph::fused {
namespace {

constexpr int kX = 0, kY = 1, kSquaredX = 0, kSquaredY = 1, kSquaredXY = 2, kOut = 3;

struct SquaredMatSubAttrs {
  double scalar = 1.0;
};

void DefineFusionSquaredMatSub(OpDef& op) {
  op.Comment(
        "Out = scalar * ((X Y)^2 - X^2 Y^2), X Y being a matrix product and squares elementwise: "
        "the interactions of a factorization machine. For inference: no gradient passes.")
      .Example(
          ">>> x, y = to_variable([[1.0, 2.0]]), to_variable([[3.0], [1.0]])\n"
          ">>> F.fusion_squared_mat_sub(x, y, scalar=0.5).tolist()\n"
          "[[6.0]]")
      .Input(kX, "X", "[m, k]")
      .Input(kY, "Y", "[k, n]")
      .Output(kSquaredX, "SquaredX", "[m, k]", kIntermediate)
      .Output(kSquaredY, "SquaredY", "[k, n]", kIntermediate)
      .Output(kSquaredXY, "SquaredXY", "[m, n], (X Y)^2", kIntermediate)
      .Output(kOut, "Out", "[m, n]")
      .Attr(&SquaredMatSubAttrs::scalar, "scalar", "the factor")
      .Shape([](InferContext& ctx) {
        const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
        ENFORCE(x.rank() == 2 && y.rank() == 2 && (x[1] == y[0] || !BothKnown(x[1], y[0])),
                InvalidArgument, "X and Y must be matrices [m, k] and [k, n], got ", x, " and ", y);
        ctx.SetOutput(kSquaredX, x);
        ctx.SetOutput(kSquaredY, y);
        ctx.SetOutput(kSquaredXY, {x[0], y[1]});
        ctx.SetOutput(kOut, {x[0], y[1]});
      })
      .ShareLoD(kX)
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct FusionSquaredMatSubKernel {
  static void Compute(KernelContext& ctx) {
    const Value &x = ctx.InValue(kX), &y = ctx.InValue(kY);
    Value own_x, own_y, own_xy, product, rest, difference;
    Value *xx = OutputOr(ctx, kSquaredX, &own_x), *yy = OutputOr(ctx, kSquaredY, &own_y),
          *xy = OutputOr(ctx, kSquaredXY, &own_xy);
    PartCall(ctx, "square").In(x).Out(xx).Run();
    PartCall(ctx, "square").In(y).Out(yy).Run();
    PartCall(ctx, "matmul_v2").In(x).In(y).Out(&product).Run();
    PartCall(ctx, "square").In(product).Out(xy).Run();
    PartCall(ctx, "matmul_v2").In(*xx).In(*yy).Out(&rest).Run();
    PartCall(ctx, "elementwise_sub").In(*xy).In(rest).Out(&difference).Run();
    PartCall(ctx, "scale")
        .In(difference)
        .Out(&ctx.OutValue(kOut))
        .Attr("scale", ctx.attrs<SquaredMatSubAttrs>().scalar)
        .Run();
  }
};

bool IsOut(const LoDCall& c) { return c.out_slot == kOut; }

REGISTER_OPERATOR(fusion_squared_mat_sub, DefineFusionSquaredMatSub);
REGISTER_LOD_RULE(fusion_squared_mat_sub, IsOut);
REGISTER_KERNELS(fusion_squared_mat_sub, FusionSquaredMatSubKernel, float, double);

}  // namespace
}  // namespace dygraph::fused
