#include "op/epilogue.h"

#include <unordered_map>

namespace dygraph {

namespace {

std::unordered_map<std::string, MakeEpilogue>& Makers() {
  static auto& makers = *new std::unordered_map<std::string, MakeEpilogue>;
  return makers;
}

}  // namespace

void RegisterEpilogue(const std::string& type, MakeEpilogue make) { Makers()[type] = make; }
MakeEpilogue FindEpilogue(const std::string& type) {
  auto at = Makers().find(type);
  return at == Makers().end() ? nullptr : at->second;
}

}  // namespace dygraph
