#include "op/open_attr.h"
#include "operators/shape/reshaping.h"

namespace dygraph::reshaping {
namespace {

struct SqueezeAttrs {
  std::vector<int32_t> axes;
};

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  const std::vector<int32_t>& axes = ctx.attrs<SqueezeAttrs>().axes;
  if (!ctx.runtime() && IsOpen(axes)) {  // which axes and whether they go shows in a run
    const int named = static_cast<int>(axes.size());
    ENFORCE(named <= x.rank(), InvalidArgument, "axes must not name more axes than X has, ",
            x.rank(), ", got variables for ", named);
    return SetOutputs(ctx, Dims(x.rank() - named, -1));
  }
  uint32_t gone = axes.empty() ? ~0u : 0;
  for (int32_t a : axes) gone |= 1u << NormalizeAxis(a, x.rank(), "axes");
  Dims out;
  for (int i = 0; i < x.rank(); ++i) {
    // a size only a call will know is taken for 1 where the axis is named
    bool one = x[i] == 1 || (x[i] < 0 && !axes.empty());
    if (!one || !(gone >> i & 1)) out.push_back(x[i]);
  }
  SetOutputs(ctx, out);
}

void Define(OpDef& op, bool x_shape) {
  op.Comment(
        "Out = X without those of the axes that have one element; without axes, without all such. "
        "Axes of other sizes stay.")
      .Input(kX, "X", "any shape");
  DeclareOutputs(op, x_shape, InferShape)
      .Attr(&SqueezeAttrs::axes, "axes",
            "axes to take away; negative ones count from the end; empty: all");
}
void DefineSqueeze2(OpDef& op) {
  Define(op, true);
  op.Example(
      ">>> x = to_variable(np.zeros((1, 3, 1)))\n"
      ">>> F.squeeze2(x).shape, F.squeeze2(x, axes=[0]).shape\n"
      "((3,), (3, 1))");
}
void DefineSqueeze(OpDef& op) { Define(op, false); }

REGISTER_OPERATOR(squeeze2, DefineSqueeze2);
REGISTER_OPEN_ATTRS(squeeze2, "axes");
REGISTER_LOD_RULE(squeeze2, KeepsRows);
REGISTER_KERNELS(squeeze2, Kernel, AllTypes);
REGISTER_OPERATOR(squeeze, DefineSqueeze);
REGISTER_LOD_RULE(squeeze, KeepsRows);
REGISTER_KERNELS(squeeze, Kernel, AllTypes);

}  // namespace
}  // namespace dygraph::reshaping
