// The entry of eager calls: operators on Variables.
#pragma once

#include "op/op_registry.h"
#include "tape/layer.h"

namespace dygraph {

constexpr OpOptions kNoOptions;  // which calls need not make: they refer to their options

void RunOp(const OpInfo& op, const Ref<Attrs>& attrs, const SlotList<Variable>& in, Outputs* out,
           const OpOptions& options = kNoOptions);

// The same of a call with open attributes (options.open), which can only be described.
void DescribeOp(const OpInfo& op, const Ref<Attrs>& attrs, const SlotList<Variable>& in,
                Outputs* out, const OpOptions& options);

// Shorthands: default attributes, single slots, the first output.
Ref<Variable> RunUnary(const OpInfo& op, const Ref<Attrs>& attrs, Variable& x);
Ref<Variable> RunBinary(const OpInfo& op, const Ref<Attrs>& attrs, Variable& x, Variable& y);

}  // namespace dygraph
