#include "op/lod_rule.h"
#include "operators/index/gather.h"

namespace dygraph::gather {
namespace {

struct GatherAttrs {
  bool overwrite = true;
  int32_t axis = 0;
};

// The axis of the tensor that is given for it, else the attribute; -1 in `known` while a program is
// built.
int64_t AxisOf(const Call& call, int slot, bool* known) {
  *known = true;
  const auto& a = *static_cast<const GatherAttrs*>(call.attrs);
  const Value* given = call.in.at(slot);
  if (!given) return a.axis;
  const Tensor& t = given->tensor();
  ENFORCE(t.numel() == 1 || t.dims().HasUnknown(), InvalidArgument,
          "Axis must hold one integer, got shape ", t.dims());
  *known = t.has_data();
  return *known ? Integers(t, "Axis")[0] : 0;
}
int64_t AxisOf(const KernelContext& ctx, int slot) {
  bool known;
  return AxisOf(ctx.call(), slot, &known);
}

constexpr int kAxis = 2, kGradAxis = 3;

void DefineGather(OpDef& op) {
  DefineSlots(op.Comment("Out[i] = X[Index[i]]: slices of X along the axis, by number. Gradients "
                         "of a slice taken more than once add up.")
                  .Example(">>> x = to_variable([[1, 2], [3, 4], [5, 6]])\n"
                           ">>> F.gather(x, to_variable([2, 0])).tolist()\n"
                           "[[5, 6], [1, 2]]"))
      .Attr(&GatherAttrs::overwrite, "overwrite",
            "accepted from old programs, without effect: the gradient always adds")
      .Attr(&GatherAttrs::axis, "axis", "the axis to take along")
      .Input(kAxis, "Axis", "one integer, in place of axis", kDispensable | kOnHost)
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) {
        bool known;
        int64_t axis = AxisOf(ctx.call(), kAxis, &known);
        InferShape(ctx, axis);
        if (known) return;
        const int rank = ctx.rank(kX) - (IndexAxes(ctx.dims(kIndex)).empty() ? 1 : 0);
        ctx.SetOutput(kOut, Dims(rank, -1), ctx.dtype(kX));
      })
      .Grad([](GradBuilder& g) {
        g.Call("gather_grad",
               {g.InputShape(kX), g.Input(kIndex), g.OutputGrad(kOut), g.Input(kAxis)},
               {g.InputGrad(kX)})
            .SameAttrs();
      });
}

void DefineGatherGrad(OpDef& op) {
  DefineGradSlots(op, "gather")
      .Input(kGradAxis, "Axis", "as in the forward call", kDispensable | kOnHost)
      .Grad([](GradBuilder& g) {
        g.Call("gather", {g.OutputGrad(grad::kXGrad), g.Input(grad::kIndex), g.Input(kGradAxis)},
               {g.InputGrad(grad::kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct GatherKernel {
  static void Compute(KernelContext& ctx) { Take(ctx, AxisOf(ctx, kAxis)); }
};

template <class T>
struct GatherGradKernel {
  static void Compute(KernelContext& ctx) { AddBack<T>(ctx, AxisOf(ctx, kGradAxis)); }
};

REGISTER_OPERATOR(gather, DefineGather);
REGISTER_LOD_RULE(gather, [](const LoDCall& c) {
  bool known;
  const int64_t axis = AxisOf(c.call, kAxis, &known);
  return known && GivesRows(c, axis);
});
REGISTER_LOD_ALSO(gather, kIndex);
REGISTER_KERNELS(gather, GatherKernel, AllTypes);
REGISTER_OPERATOR(gather_grad, DefineGatherGrad);
REGISTER_KERNELS(gather_grad, GatherGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(gather_grad, GatherGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::gather
