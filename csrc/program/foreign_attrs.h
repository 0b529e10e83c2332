// Attributes in programs that other libraries wrote: what Fluid and Paddle put beside an operator's
// own, and what later versions call otherwise than we do.
#pragma once

#include <string>
#include <string_view>

#include "op/op_registry.h"
#include "program/desc.h"

namespace dygraph::program {

// As a value of the types that operators declare. Format for one that names variables: such an
// attribute is computed while the program runs, and no operator of ours has one.
AttrValue Declarable(const OpDesc::Attr& attr);

// Whether an attribute that the operator does not declare changes nothing: bookkeeping, a hint for
// a library, or a feature that is switched off.
bool HasNoEffect(const OpDesc::Attr& attr);

// Brings a value into the spelling that Paddle reads: its transposed convolutions and resizes of
// volumes know NCHW and NHWC alone, and misread the names of five axes without a word; its
// affine_channel takes AnyLayout for NHWC.
void SpellForPaddle(const std::string& op, std::string_view attr, AttrValue* value);

// Sets what an attribute under a later version's name stands for; false if it stands for nothing.
bool ReadForeignAttr(const OpInfo& op, const OpDesc& desc, const OpDesc::Attr& attr, Attrs* attrs);

}  // namespace dygraph::program
