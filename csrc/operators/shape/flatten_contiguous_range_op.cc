#include "operators/shape/reshaping.h"

namespace dygraph::reshaping {
namespace {

struct FlattenRangeAttrs {
  int32_t start_axis = 1;
  int32_t stop_axis = 1;
};

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  const FlattenRangeAttrs& a = ctx.attrs<FlattenRangeAttrs>();
  if (x.empty()) return SetOutputs(ctx, {1});
  int start = NormalizeAxis(a.start_axis, x.rank(), "start_axis");
  int stop = NormalizeAxis(a.stop_axis, x.rank(), "stop_axis");
  ENFORCE(start <= stop, InvalidArgument, "start_axis must not come after stop_axis, got ", start,
          " and ", stop, " for X ", x);
  Dims out(x.begin(), x.begin() + start);
  bool known = true;
  for (int i = start; i <= stop; ++i) known &= x[i] >= 0;
  out.push_back(known ? Numel(x, start, stop + 1) : -1);
  out.Append(x.begin() + stop + 1, x.end());
  SetOutputs(ctx, out);
}

void DefineFlattenRange(OpDef& op) {
  op.Comment("Out = X with the axes start_axis to stop_axis joined into one.")
      .Example(
          ">>> x = to_variable(np.zeros((2, 3, 4, 5)))\n"
          ">>> F.flatten_contiguous_range(x, start_axis=1, stop_axis=2).shape\n"
          "(2, 12, 5)")
      .Input(kX, "X", "any shape; a 0-d one gives [1]");
  DeclareOutputs(op, true, InferShape)
      .Attr(&FlattenRangeAttrs::start_axis, "start_axis", "first axis to join")
      .Attr(&FlattenRangeAttrs::stop_axis, "stop_axis", "last axis to join");
}

REGISTER_OPERATOR(flatten_contiguous_range, DefineFlattenRange);
REGISTER_LOD_RULE(flatten_contiguous_range, KeepsRows);
REGISTER_KERNELS(flatten_contiguous_range, Kernel, AllTypes);

}  // namespace
}  // namespace dygraph::reshaping
