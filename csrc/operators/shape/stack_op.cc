#include "op/lod_rule.h"
#include "operators/shape/stacking.h"

namespace dygraph::stacking {
namespace {

constexpr int kX = 0, kY = 0;

struct StackAttrs {
  int32_t axis = 0;
};

void InferShape(InferContext& ctx) {
  Dims x = ctx.dims(kX);
  int count = ctx.InputCount(kX), axis = NormalizeAxis(ctx.attrs<StackAttrs>().axis, x.rank() + 1);
  for (int i = 1; i < count; ++i) {
    const Dims& other = ctx.dims(kX, i);
    bool same = other.size() == x.size();
    for (int k = 0; same && k < x.rank(); ++k) {
      same = x[k] == other[k] || !BothKnown(x[k], other[k]);
      if (x[k] < 0) x[k] = other[k];
    }
    ENFORCE(same, InvalidArgument, "all X must have one shape, got X[0] ", ctx.dims(kX), " and X[",
            i, "] ", other);
  }
  Dims out(x.begin(), x.begin() + axis);
  out.push_back(count);
  out.Append(x.begin() + axis, x.end());
  ctx.SetOutput(kY, out);
}

void DefineStack(OpDef& op) {
  op.Comment("Y = X[0], X[1], ... along a new axis.")
      .Input(kX, "X", "one shape", kDuplicable)
      .Output(kY, "Y", "their shape with the new axis, as long as there are X")
      .Attr(&StackAttrs::axis, "axis", "place of the new axis; negative ones count from the end")
      .ShareLoD(kX)
      .Shape(InferShape)
      .Grad([](GradBuilder& g) {
        g.Call("unstack", {g.OutputGrad(kY)}, {g.InputGrads(kX)})
            .Attr("axis", g.attrs<StackAttrs>().axis)
            .Attr("num", static_cast<int32_t>(g.InputCount(kX)));
      });
}

template <class T>
struct StackKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kY);
    Join<T>(ctx, kX, NormalizeAxis(ctx.attrs<StackAttrs>().axis, out.rank()), &out);
  }
};

REGISTER_OPERATOR(stack, DefineStack);
REGISTER_LOD_RULE(stack, [](const LoDCall& c) {
  return NormalizeAxis(c.attrs<StackAttrs>().axis, c.out.rank()) != 0;
});
REGISTER_KERNELS(stack, StackKernel, AllTypes);

}  // namespace
}  // namespace dygraph::stacking
