#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineAssign(OpDef& op) {
  op.Comment(
        "Out = X. The two share storage until one of them is written in place. Selected rows stay "
        "selected rows.")
      .Example(
          ">>> x = to_variable([1.0, 2.0])\n"
          ">>> y = F.assign(x)\n"
          ">>> x.fill_(0.0).tolist(), y.tolist()\n"
          "([0.0, 0.0], [1.0, 2.0])")
      .Input(kX, "X", "a tensor or selected rows")
      .Output(kOut, "Out", "shape of X")
      .VarType([](InferContext& ctx) {
        Value* out = ctx.call().out.at(kOut);
        if (out && ctx.value(kX).is_rows()) *out = ctx.value(kX);
      })
      .Shape([](InferContext& ctx) {
        if (!ctx.value(kX).is_rows()) ctx.SetOutput(kOut, ctx.dims(kX), ctx.dtype(kX));
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
    if (ctx.IsRows(kX)) return;  // rows are never changed in place: the rule of types shared them
    ctx.Out(kOut).ShareData(ctx.In(kX));
    ctx.Out(kOut).SetLoD(ctx.In(kX).lod_ref());
  }
};

REGISTER_OPERATOR(assign, DefineAssign);
REGISTER_CPU_KERNEL(assign, AssignKernel, bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float16,
                    bfloat16, float, double);

}  // namespace
}  // namespace dygraph
