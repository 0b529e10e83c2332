// Operators written into a program: names of results, what every operator carries, shapes and types
// of what it writes.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "op/op_registry.h"
#include "program/program.h"
#include "tensor/value.h"

namespace dygraph::program {

// Attributes that Fluid writes beside an operator's own: hints for libraries, without effect.
using Hints = std::unordered_map<std::string, std::vector<OpDesc::Attr>>;  // by type of operator
Hints& TheHints();

// Role, scope of names and device of the program, the lines of Python, and hints. An operator that
// comes of another, `like`, has its lines and scope.
void Mark(const Program& program, std::vector<std::string> lines, const OpDesc* like, OpDesc* op);

// Shapes, types and levels of detail of what the operator writes, by its own rules.
void InferInto(Block& block, const OpDesc& op);

// A variable for a result, of the value's shape and type.
VarRef DeclareResult(Block& block, const Value& value, std::string name);
// The same under the first free name of `next`.
template <class Next>
VarRef DeclareResult(Program& program, Block& block, const Value& value, Next&& next) {
  std::string name = next();
  while (program.Declares(name)) name = next();  // a layer of this name was there before
  return DeclareResult(block, value, std::move(name));
}

// Which of `made`, just declared for the operator's results, have the sequences of an input.
void InferLevels(Block& block, const OpInfo& info, const OpDesc& op,
                 const std::vector<VarRef>& made);

// Makes a gradient operator that comes of `source`, or of none, one of the block's: with marks and
// the variables it writes. It is still to be put in.
void CompleteGradient(Block& block, const OpRef& op, const Op* source, const std::string& line);
// The same at the end of the block.
void AppendGradient(Block& block, const OpRef& op, const Op* source, const std::string& line);
// The operator of a gradient's block keeps its turns in the variable, for second order.
void KeepSteps(Op& op, const std::string& steps);

}  // namespace dygraph::program
