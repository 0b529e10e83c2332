// Attributes in programs that other libraries wrote: what Fluid and Paddle put beside an operator's
// own, and what later versions call otherwise than we do.
#pragma once

#include "op/op_registry.h"
#include "program/desc.h"

namespace dygraph::program {

// As a value of the registry's. Format for one that names variables: such an attribute is computed
// while the program runs, and no operator of ours has one.
dygraph::AttrValue FromWireValue(const OpDesc::Attr& attr);

// Whether an attribute that the operator does not declare changes nothing: bookkeeping, a hint for
// a library, or a feature that is switched off.
bool HasNoEffect(const OpDesc::Attr& attr);

// Sets what an attribute under a later version's name stands for; false if it stands for nothing.
bool ReadForeignAttr(const OpInfo& op, const OpDesc& desc, const OpDesc::Attr& attr, Attrs* attrs);

}  // namespace dygraph::program
