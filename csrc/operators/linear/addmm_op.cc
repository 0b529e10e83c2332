#include "kernels/broadcast.h"
#include "kernels/matmul.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kInput = 0, kX = 1, kY = 2, kOut = 0;

struct AddmmAttrs {
  double Alpha = 1.0;
  double Beta = 1.0;
};

void InferShape(InferContext& ctx) {
  const Dims &input = ctx.dims(kInput), &x = ctx.dims(kX), &y = ctx.dims(kY);
  ENFORCE(x.rank() == 2 && y.rank() == 2, InvalidArgument, "X and Y must be matrices, got X ", x,
          " and Y ", y);
  ENFORCE(x[1] == y[0] || !BothKnown(x[1], y[0]), InvalidArgument, "the inner sizes of X ", x,
          " and Y ", y, " must be equal, got ", x[1], " and ", y[0]);
  Dims out = {x[0], y[1]};
  Dims common = BroadcastDims(input, out, "Input", "the product");
  ENFORCE(common == out || common.HasUnknown() || out.HasUnknown(), InvalidArgument,
          "Input must broadcast to the shape of the product, ", out, ", got ", input);
  ctx.SetOutput(kOut, out);
}

void DefineAddmm(OpDef& op) {
  op.Comment("Out = Alpha X Y + Beta Input, X Y being a matrix product.")
      .Example(
          ">>> x, y = to_variable([[1.0, 2.0]]), to_variable([[3.0], [4.0]])\n"
          ">>> F.addmm(to_variable([100.0]), x, y, Beta=0.5).tolist()\n"
          "[[61.0]]")
      .Input(kInput, "Input", "broadcasts to [m, n]")
      .Input(kX, "X", "[m, k]")
      .Input(kY, "Y", "[k, n]")
      .Output(kOut, "Out", "[m, n]")
      .Attr(&AddmmAttrs::Alpha, "Alpha", "factor on the product")
      .Attr(&AddmmAttrs::Beta, "Beta", "factor on Input")
      .ShareLoD(kInput)
      .Shape(InferShape)
      .Grad([](GradBuilder& g) {
        const AddmmAttrs& a = g.attrs<AddmmAttrs>();
        RecipeRef scaled = g.ApplyScale(g.OutputGrad(kOut), a.Beta);  // its shape serves as Y's
        g.Call("elementwise_add_grad", {g.InputShape(kInput), scaled, scaled},
               {g.InputGrad(kInput), {}});
        g.Call("matmul_v2_grad",
               {g.Wants(kY) ? g.Input(kX) : g.InputShape(kX),
                g.Wants(kX) ? g.Input(kY) : g.InputShape(kY),
                g.ApplyScale(g.OutputGrad(kOut), a.Alpha)},
               {g.InputGrad(kX), g.InputGrad(kY)});
      });
}

template <class T>
struct AddmmKernel {
  static void Compute(KernelContext& ctx) {
    const AddmmAttrs& a = ctx.attrs<AddmmAttrs>();
    const Tensor &input = ctx.In(kInput), &x = ctx.In(kX), &y = ctx.In(kY);
    Tensor& out = ctx.Out(kOut);
    if (out.numel() == 0) return;
    T* to = out.mutable_data<T>();
    Dims strides(2, 0), none(2, 0);
    kernels::BroadcastStrides(input.dims(), out.dims(), 2 - input.rank(), strides.data());
    using W = kernels::Wide<T>;
    W beta = static_cast<W>(a.Beta);
    const T* from = input.data<T>();
    kernels::Broadcast(out.dims(), from, strides, from, none, to,
                       [=] DYGRAPH_FN(W v, W) { return beta * v; });
    kernels::MatMul<T>(false, false, x.dim(0), y.dim(1), x.dim(1), static_cast<W>(a.Alpha),
                       x.data<T>(), x.dim(1), y.data<T>(), y.dim(1), T(1), to, y.dim(1));
  }
};

REGISTER_OPERATOR(addmm, DefineAddmm);
REGISTER_LOD_ALSO(addmm, kX);
REGISTER_KERNELS(addmm, AddmmKernel, float, double);
REGISTER_DEVICE_TYPES(addmm, AddmmKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph
