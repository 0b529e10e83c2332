// Operators with open attributes (op/open_attr.h): variables give them when the operator runs.
#include <deque>

#include "execute/frame.h"
#include "op/open_attr.h"
#include "program/op_binding.h"

namespace dygraph::program {

// The attributes of a call whose open ones have the values that their variables hold now.
Ref<Attrs> PreparedProgram::ReadOpenAttrs(const PlanOp& op, const Frame& frame) const {
  Ref<Attrs> attrs = Attrs::Copy(*op.attrs);
  for (const PlanOp::OpenAttr& open : op.open) {
    std::deque<Tensor> on_host;  // addresses stay
    std::vector<const Tensor*> tensors;
    for (uint32_t k = open.begin; k < open.end; ++k) {
      const Value& value = *frame.values[op.in[k]];
      ENFORCE(!value.empty(), PreconditionNotMet, "the attribute ",
              op.info->attr_table.fields[open.field].name, " must be given by '",
              plan_.slots[op.in[k]].name, "', but nothing has been written to it");
      tensors.push_back(&on_host.emplace_back(CopyTo(value.tensor(), CPUPlace())));
    }
    SetFrom(attrs.get(), open.field, {tensors.data(), tensors.size()});
  }
  return attrs;
}

void PreparedProgram::RunOpen(const PlanOp& op, Frame& frame, Bound& bound,
                              RandomStreams random) const {
  Ref<Attrs> attrs;
  try {
    attrs = ReadOpenAttrs(op, frame);
  } catch (Error& e) {
    e.AddOperator(op.info->type);
    e.Append(PositionText(*op.desc, op.position, op.block));
    throw;
  }
  struct Given {
    Call& call;
    const void* before;
    ~Given() { call.attrs = before; }
  } given{bound.call, bound.call.attrs};
  bound.call.attrs = attrs->data();
  RunGiven(op, frame, bound, random);
}

}  // namespace dygraph::program
