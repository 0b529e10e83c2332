// Shapes and types while a program is being described.
#pragma once

#include <functional>
#include <string>

#include "op/op_registry.h"
#include "program/desc.h"
#include "tensor/value.h"

namespace dygraph::program {

// What a described variable would hold, without data: an empty value if it is no tensor and no
// selected rows. And back: type, element type and sizes of a variable from such a value.
Value ValueOf(const VarDesc& var);
void Describe(const Value& value, VarDesc* var);

// Runs the operator's rules on described variables: `find` gives the variable of a name (null:
// none), `set` is given what each output holds, and the levels of detail it takes from an input, 0
// where it takes none. Throws what the operator's checks throw, with the operator's name.
void InferShapes(const OpDesc& desc, const std::function<const VarDesc*(const std::string&)>& find,
                 const std::function<void(const std::string&, const Value&, int levels)>& set);

}  // namespace dygraph::program
