// What passes compare: attributes, kinds of variables, roles.
#pragma once

#include <string>

#include "program/program.h"

namespace dygraph::program {

// All attributes that decide what an operator computes, and its role, bit by bit.
std::string AttrsText(const OpDesc& op);
// Both hold tensors, rows or arrays, of one element type.
bool SameKind(const Var& one, const Var& other);
bool IsBackward(const OpDesc& op);  // of a backward pass, by its role or by what it makes
// A flag that is not set is false.
bool FlagOf(const OpDesc& op, const char* attr);
// A number; `absent` where it is not set, NaN where it is none.
double NumberIn(const OpDesc& op, const char* attr, double absent);
// What describes an operator that takes another one's place: the role, lines and scope of that one.
void TakeMarks(const OpDesc& from, OpDesc* op);
// The sizes that a tensor is declared with; null where it holds something else.
const std::vector<int64_t>* DeclaredSizes(const Var* var);

}  // namespace dygraph::program
