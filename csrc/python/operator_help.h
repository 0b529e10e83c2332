// How Python spells an operator's arguments, and what help() shows of it.
#pragma once

#include <string>
#include <vector>

#include "op/op_info.h"

namespace dygraph::python {

// An attribute that Python cannot spell is an argument with an underscore at its end: lambda_.
std::string Spelling(const std::string& name);

inline bool IsReturned(const SlotInfo& output) {
  return !output.intermediate() && !output.extra();
}

// Positional arguments, as numbers of slots and then attributes: the slots that must be given, the
// attributes, the optional slots. So scale(x, 2.0) reads as it should.
std::vector<int> PositionalOrder(const OpInfo& op);

// The docstring, with the signature in front as CPython reads it.
std::string Document(const OpInfo& op);

}  // namespace dygraph::python
