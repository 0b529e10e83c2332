#include "op/epilogue.h"

#include <unordered_map>
#include <utility>

namespace dygraph {

namespace {

thread_local Epilogue* g_epilogue = nullptr;

std::unordered_map<std::string, MakeEpilogue>& Makers() {
  static auto& makers = *new std::unordered_map<std::string, MakeEpilogue>;
  return makers;
}

}  // namespace

Epilogue* Epilogue::Current() { return g_epilogue; }

Epilogue::Beside::Beside(Epilogue* epilogue) : before_(std::exchange(g_epilogue, epilogue)) {}
Epilogue::Beside::~Beside() { g_epilogue = before_; }

void RegisterEpilogue(const std::string& type, MakeEpilogue make) { Makers()[type] = make; }
MakeEpilogue FindEpilogue(const std::string& type) {
  auto at = Makers().find(type);
  return at == Makers().end() ? nullptr : at->second;
}

}  // namespace dygraph
