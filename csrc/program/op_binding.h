// Between an operator in a program (names and wire values) and the registry's description of it.
#pragma once

#include <vector>

#include "op/op_registry.h"
#include "program/desc.h"

namespace dygraph::program {

constexpr int32_t kBackwardRole = 1;  // a bit of the attribute op_role: a backward pass made it
// Of an assignment that gives a value another name, which no eager call does: where a loop takes
// its variables over, where a choice gives a result. Its gradient's terms are those of the value.
constexpr const char* kHandsOn = "hands_on";
constexpr const char* kExactSuffix = "@float64";  // of the digits of a FLOAT; see exact_attrs.h
constexpr const char* kCallstackAttr = "op_callstack";  // the Python line that made the operator

// Whether an attribute, which Fluid's operator of this type has not, is written only where it says
// something.
bool IsLeftOut(const std::string& type, const std::string& name, const AttrValue& value);

// Every attribute of the operator, defaults included, but for those. Doubles are rounded to floats
// where no variable of the call is of `float64`.
void WriteAttrs(const Attrs& attrs, OpDesc* desc, bool float64 = true);

// An operator whose attributes have their defaults.
OpDesc MakeOp(const char* type, std::vector<OpDesc::Var> inputs, std::vector<OpDesc::Var> outputs);

// The attributes of a described operator. Format for one the operator does not know (bookkeeping of
// Fluid's, which changes no value, is passed over); the operator's own checks say the rest.
Ref<Attrs> ReadAttrs(const OpInfo& op, const OpDesc& desc);

// Format unless every slot of the description is one of the operator's, required inputs are bound,
// and single slots hold one name.
void CheckSlots(const OpInfo& op, const OpDesc& desc);

// NotFound for an unknown operator, and whatever the two functions above find wrong, with the
// operator's position. Operators handled without a kernel (feed, fetch) are checked for their
// slots.
void CheckOperators(const ProgramDesc& program);

// Whether a normalisation uses its running means, and so gives them back as they are.
bool KeepsRunningMeans(const OpInfo& op, const OpDesc& desc);

bool IsFeed(const OpDesc& op);
bool IsFetch(const OpDesc& op);
// " (operator 3 of block 0, made at model.py:12)"
std::string PositionText(const OpDesc& op, size_t index, int block);

VarType::Type WireType(DType dtype);
// Unset for a variable without element type or one that is not ours.
DType ElementType(const VarDesc& var);
// The sizes of a variable's tensor; null for one that holds none.
const VarType::TensorDesc* TensorOf(const VarDesc& var);
Dims DimsOf(const VarType::TensorDesc& tensor);
int32_t LevelOf(const VarDesc& var);  // of detail; of an array: of its elements

}  // namespace dygraph::program
