#include "op/pointwise.h"

#include <unordered_set>

namespace dygraph {

namespace {

std::unordered_set<std::string>& Types() {
  static auto& types = *new std::unordered_set<std::string>;
  return types;
}

}  // namespace

bool IsPointwise(const std::string& type) { return Types().count(type) > 0; }
PointwiseRegistration::PointwiseRegistration(const char* type) { Types().insert(type); }

}  // namespace dygraph
