#include "tape/layer.h"

namespace dygraph {

const std::string* EagerCall::NameOf(int flat) const {
  Variable* v = in.flat()[flat];
  return v && !v->name().empty() ? &v->name() : nullptr;
}

void EagerCall::Hold() {
  if (!held_.empty()) return;
  held_.reserve(in.flat().size());
  for (Variable* v : in.flat()) held_.emplace_back(v);
}

}  // namespace dygraph
