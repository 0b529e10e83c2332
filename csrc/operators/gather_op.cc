#include "operators/gather.h"

namespace dygraph::gather {
namespace {

struct GatherAttrs {
  bool overwrite = true;
  int32_t axis = 0;
};

void DefineGather(OpDef& op) {
  DefineSlots(op.Comment("Out[i] = X[Index[i]]: slices of X along the axis, by number. Gradients "
                         "of a slice taken more than once add up.")
                  .Example(">>> x = to_variable([[1, 2], [3, 4], [5, 6]])\n"
                           ">>> F.gather(x, to_variable([2, 0])).tolist()\n"
                           "[[5, 6], [1, 2]]"))
      .Attr(&GatherAttrs::overwrite, "overwrite",
            "accepted from old programs, without effect: the gradient always adds")
      .Attr(&GatherAttrs::axis, "axis", "the axis to take along")
      .Shape([](InferContext& ctx) { InferShape(ctx, ctx.attrs<GatherAttrs>().axis); })
      .Grad([](GradBuilder& g) {
        g.Call("gather_grad", {g.InputShape(kX), g.Input(kIndex), g.OutputGrad(kOut)},
               {g.InputGrad(kX)})
            .SameAttrs();
      });
}

void DefineGatherGrad(OpDef& op) {
  DefineGradSlots(op, "gather").Grad([](GradBuilder& g) {
    g.Call("gather", {g.OutputGrad(grad::kXGrad), g.Input(grad::kIndex)},
           {g.InputGrad(grad::kOutGrad)})
        .SameAttrs();
  });
}

template <class T>
struct GatherKernel {
  static void Compute(KernelContext& ctx) { Take(ctx, ctx.attrs<GatherAttrs>().axis); }
};

template <class T>
struct GatherGradKernel {
  static void Compute(KernelContext& ctx) { AddBack<T>(ctx, ctx.attrs<GatherAttrs>().axis); }
};

REGISTER_OPERATOR(gather, DefineGather);
REGISTER_CPU_KERNEL(gather, GatherKernel, bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float16,
                    bfloat16, float, double);
REGISTER_OPERATOR(gather_grad, DefineGatherGrad);
REGISTER_CPU_KERNEL(gather_grad, GatherGradKernel, float, double);

}  // namespace
}  // namespace dygraph::gather
