#include "op/lod_rule.h"
#include "operators/reduce/chosen.h"
#include "operators/reduce/selection.h"

namespace dygraph::chosen {
namespace {

struct ModeAttrs {
  int32_t axis = -1;
  bool keepdim = false;
};

void DefineMode(OpDef& op) {
  AddSlots(op.Comment("Out = the most frequent element of X along an axis, the least of several, "
                      "Indices = where it stood last. NaNs count as one element, the greatest.")
               .Example(">>> x = to_variable([[3, 1, 2, 1, 3]])\n"
                        ">>> [v.tolist() for v in F.mode(x)]\n"
                        "[[1], [3]]"))
      .Attr(&ModeAttrs::axis, "axis", "the axis; negative ones count from the end")
      .Attr(&ModeAttrs::keepdim, "keepdim", "keep the axis, with one element")
      .Shape([](InferContext& ctx) {
        const ModeAttrs& a = ctx.attrs<ModeAttrs>();
        InferShape(ctx, a.axis, a.keepdim);
      })
      .Grad([](GradBuilder& g) {
        const ModeAttrs& a = g.attrs<ModeAttrs>();
        Grad(g, a.axis, a.keepdim);
      });
}

template <class T>
struct ModeKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    sorting::Mode(x.data<T>(), sorting::Lines(x.dims(), ctx.attrs<ModeAttrs>().axis),
                  ctx.Out(kOut).mutable_data<T>(), ctx.Out(kIndices).mutable_data<int64_t>());
  }
};

REGISTER_OPERATOR(mode, DefineMode);
REGISTER_LOD_RULE(mode,
                  [](const LoDCall& c) { return c.IsBehindFirst(c.attrs<ModeAttrs>().axis); });
REGISTER_KERNELS(mode, ModeKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph::chosen
