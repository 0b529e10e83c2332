// What passes compare: attributes, kinds of variables, roles.
#pragma once

#include <string>

#include "program/program.h"

namespace dygraph::program {

// All attributes that decide what an operator computes, and its role, bit by bit.
std::string AttrsText(const OpDesc& op);
// Both hold tensors, rows or arrays, of one element type.
bool SameKind(const Var& one, const Var& other);
bool IsBackward(const OpDesc& op);
// A flag that is not set is false.
bool FlagOf(const OpDesc& op, const char* attr);

}  // namespace dygraph::program
