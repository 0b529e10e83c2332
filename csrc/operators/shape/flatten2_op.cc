#include "operators/shape/reshaping.h"

namespace dygraph::reshaping {
namespace {

struct FlattenAttrs {
  int32_t axis = 1;
};

// Product of sizes [begin, end), -1 where one is unknown.
int64_t Product(const Dims& x, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    if (x[i] < 0) return -1;
  }
  return Numel(x, begin, end);
}

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  int axis = ctx.attrs<FlattenAttrs>().axis;
  ENFORCE(axis >= -x.rank() && axis <= std::max(x.rank(), 1), OutOfRange,
          "axis must lie between 0 and the rank of X ", x, ", got ", axis);
  if (axis < 0) axis += x.rank();
  axis = std::min(axis, x.rank());
  SetOutputs(ctx, {Product(x, 0, axis), Product(x, axis, x.rank())});
}

void Define(OpDef& op, bool x_shape) {
  op.Comment("Out = X as a matrix: the axes before `axis` make its rows, the others its columns.")
      .Input(kX, "X", "any shape");
  DeclareOutputs(op, x_shape, InferShape)
      .Attr(&FlattenAttrs::axis, "axis", "the first axis of the columns, up to the rank of X");
}
void DefineFlatten2(OpDef& op) {
  Define(op, true);
  op.Example(
      ">>> F.flatten2(to_variable(np.zeros((2, 3, 4))), axis=2).shape\n"
      "(6, 4)");
}
void DefineFlatten(OpDef& op) { Define(op, false); }

REGISTER_OPERATOR(flatten2, DefineFlatten2);
REGISTER_LOD_RULE(flatten2, KeepsRows);
REGISTER_KERNELS(flatten2, Kernel, AllTypes);
REGISTER_OPERATOR(flatten, DefineFlatten);
REGISTER_LOD_RULE(flatten, KeepsRows);
REGISTER_KERNELS(flatten, Kernel, AllTypes);

}  // namespace
}  // namespace dygraph::reshaping
