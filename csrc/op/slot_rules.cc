// Rules of shapes and types that look at one slot. Each call runs them, so they are compiled for
// speed; op_info.cc, which runs once for an operator, is not.
#include "base/enforce.h"
#include "op/gradient_shapes.h"
#include "op/op_info.h"

namespace dygraph {

namespace {
template <int kIn, int kOut>
void CopyShape(InferContext& ctx) {
  ctx.SetOutput(kOut, ctx.dims(kIn), ctx.dtype(kIn));
}
}  // namespace

bool CopiesFirstShape(const OpInfo& op) { return op.shape_rule == CopyShape<0, 0>; }

OpDef& OpDef::SameShape(int in, int out) {
  static constexpr ShapeRule kRules[4][2] = {{CopyShape<0, 0>, CopyShape<0, 1>},
                                             {CopyShape<1, 0>, CopyShape<1, 1>},
                                             {CopyShape<2, 0>, CopyShape<2, 1>},
                                             {CopyShape<3, 0>, CopyShape<3, 1>}};
  ENFORCE(in < 4 && out < 2, PreconditionNotMet, "SameShape serves the first slots, got ", in,
          " and ", out);
  info_.shape_rule = kRules[in][out];
  return *this;
}

namespace {
template <int kSlot>
DType TypeOf(const Call& call) {
  const Value* v = call.in.at(kSlot);
  ENFORCE(v, InvalidArgument, "Input(", call.op->inputs[kSlot].name,
          ") must be given, got nothing. Its element type chooses the kernel");
  return v->dtype();
}
}  // namespace

OpDef& OpDef::KernelDTypeOf(int in) {
  static constexpr KernelDTypeRule kRules[] = {TypeOf<0>, TypeOf<1>, TypeOf<2>,
                                               TypeOf<3>, TypeOf<4>, TypeOf<5>};
  ENFORCE(in < 6, PreconditionNotMet, "KernelDTypeOf serves the first six slots, got ", in);
  info_.kernel_dtype = kRules[in];
  return *this;
}

}  // namespace dygraph
