// The names in an operator's slots; arguments that are absent are passed over.
#pragma once

#include <string>

#include "program/op_binding.h"

namespace dygraph::program {

// Slots: a list of OpDesc::Var, const or to be written.
template <class Slots, class F>
void ForNames(Slots& slots, F&& f) {
  for (auto& slot : slots) {
    for (auto& name : slot.arguments) {
      if (name != kEmptyName) f(name);
    }
  }
}

inline bool HasName(const std::vector<OpDesc::Var>& slots, const std::string& name) {
  bool found = false;
  ForNames(slots, [&](const std::string& each) { found |= each == name; });
  return found;
}

inline bool Reads(const OpDesc& op, const std::string& name) { return HasName(op.inputs, name); }
inline bool Writes(const OpDesc& op, const std::string& name) { return HasName(op.outputs, name); }

}  // namespace dygraph::program
