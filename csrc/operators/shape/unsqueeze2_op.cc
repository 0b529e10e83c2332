#include "operators/shape/reshaping.h"

namespace dygraph::reshaping {
namespace {

constexpr int kAxesTensor = 1, kAxesTensorList = 2;

struct UnsqueezeAttrs {
  std::vector<int32_t> axes;
};

void InferShape(InferContext& ctx) {
  Dims out = ctx.dims(kX);
  IntList axes =
      ReadIntList(ctx.call(), kAxesTensor, kAxesTensorList, ctx.attrs<UnsqueezeAttrs>().axes);
  ENFORCE(axes.values.size() + out.size() <= kMaxRank, InvalidArgument, "Out must have at most ",
          kMaxRank, " axes, got ", axes.values.size(), " more for X ", out);
  if (!axes.known) return SetOutputs(ctx, Dims(out.size() + axes.values.size(), -1));
  for (int64_t a : axes.values) {  // one after the other
    int at = NormalizeAxis(a, out.rank() + 1, "axes");
    out.push_back(1);
    for (int i = out.rank() - 1; i > at; --i) std::swap(out[i], out[i - 1]);
  }
  SetOutputs(ctx, out);
}

void Define(OpDef& op, bool x_shape) {
  op.Comment("Out = X with axes of one element put in, one after the other, each at its place.")
      .Input(kX, "X", "any shape")
      .Input(kAxesTensor, "AxesTensor", "integers, in place of the attribute",
             kDispensable | kOnHost)
      .Input(kAxesTensorList, "AxesTensorList", "the same as a list of single integers",
             kDispensable | kDuplicable | kOnHost);
  DeclareOutputs(op, x_shape, InferShape)
      .Attr(&UnsqueezeAttrs::axes, "axes", "places of the new axes; negative ones from the end");
}
void DefineUnsqueeze2(OpDef& op) {
  Define(op, true);
  op.Example(
      ">>> x = to_variable(np.zeros((2, 3)))\n"
      ">>> F.unsqueeze2(x, axes=[0]).shape, F.unsqueeze2(x, axes=[1, -1]).shape\n"
      "((1, 2, 3), (2, 1, 3, 1))");
}
void DefineUnsqueeze(OpDef& op) { Define(op, false); }

REGISTER_OPERATOR(unsqueeze2, DefineUnsqueeze2);
REGISTER_LOD_RULE(unsqueeze2, KeepsRows);
REGISTER_KERNELS(unsqueeze2, Kernel, AllTypes);
REGISTER_OPERATOR(unsqueeze, DefineUnsqueeze);
REGISTER_LOD_RULE(unsqueeze, KeepsRows);
REGISTER_KERNELS(unsqueeze, Kernel, AllTypes);

}  // namespace
}  // namespace dygraph::reshaping
