#include "op/call_names.h"

namespace dygraph {

namespace {
thread_local NameList t_names;
}

CallNames::CallNames(NameList names) : outer_(t_names) { t_names = names; }

CallNames::~CallNames() { t_names = outer_; }

const std::string* NameOfInput(const Call& call, int slot, int i) {
  size_t flat = static_cast<size_t>(call.in.begin_of(slot) + i);
  if (flat >= t_names.size() || !t_names[flat] || t_names[flat]->empty()) return nullptr;
  return t_names[flat];
}

}  // namespace dygraph
