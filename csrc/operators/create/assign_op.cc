#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineAssign(OpDef& op) {
  op.Comment(
        "Out = X. The two share storage until one of them is written in place. Selected rows stay "
        "selected rows, an array an array of the same elements.")
      .Example(
          ">>> x = to_variable([1.0, 2.0])\n"
          ">>> y = F.assign(x)\n"
          ">>> x.fill_(0.0).tolist(), y.tolist()\n"
          "([0.0, 0.0], [1.0, 2.0])")
      .Input(kX, "X", "a tensor, selected rows or an array", kTakesRows | kTakesArray)
      .Output(kOut, "Out", "shape of X")
      .VarType([](InferContext& ctx) {
        Value* out = ctx.call().out.at(kOut);
        if (out && !ctx.value(kX).is_tensor()) *out = ctx.value(kX);
      })
      .Shape([](InferContext& ctx) {
        if (ctx.value(kX).is_tensor()) ctx.SetOutput(kOut, ctx.dims(kX), ctx.dtype(kX));
      })
      .KeepsLayout()
      .ShareLoD(kX)
      .KernelAllocates()
      .MayShare(kX, kOut)
      .Grad([](GradBuilder& g) { g.Call("assign", {g.OutputGrad(kOut)}, {g.InputGrad(kX)}); });
}

template <class T>
struct AssignKernel {
  static void Compute(KernelContext& ctx) {
    if (!ctx.InValue(kX).is_tensor()) return;  // the rule of types shared the object
    ctx.Out(kOut).ShareData(ctx.In(kX));
    ctx.Out(kOut).SetLoD(ctx.In(kX).lod_ref());
  }
};

REGISTER_OPERATOR(assign, DefineAssign);
REGISTER_KERNELS(assign, AssignKernel, AllTypes);

}  // namespace
}  // namespace dygraph
