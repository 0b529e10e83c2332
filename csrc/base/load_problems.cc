#include "base/load_problems.h"

#include <mutex>
#include <utility>
#include <vector>

namespace dygraph {

namespace {
struct Problems {
  std::mutex mutex;
  std::vector<std::pair<ErrorKind, std::string>> list;
};

Problems& TheProblems() {
  static Problems* problems = new Problems;  // outlives every user
  return *problems;
}
}  // namespace

void AddLoadProblem(ErrorKind kind, const std::string& text) {
  Problems& p = TheProblems();
  std::lock_guard<std::mutex> lock(p.mutex);
  p.list.emplace_back(kind, text);
}

void ThrowLoadProblems() {
  Problems& p = TheProblems();
  std::lock_guard<std::mutex> lock(p.mutex);
  if (p.list.empty()) return;
  std::string all;
  for (const auto& [kind, text] : p.list) all += (all.empty() ? "" : "; ") + text;
  ErrorKind kind = p.list[0].first;
  p.list.clear();
  Throw(kind, "a library did not register cleanly: ", all);
}

}  // namespace dygraph
