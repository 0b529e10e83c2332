#include "program/recorder.h"

namespace dygraph::program {

void Journal::OnCall(const CallRecord& call) {
  for (Variable* v : call.in.flat()) {
    if (!v || !v->IsLeaf() || v->stop_gradient() || !seen_leaves_.insert(v).second) continue;
    leaves_.push_back({Ref<Variable>(v), v->grad()});
  }
}

void Journal::OnWrite(Variable& var) {
  if (var.value().empty() || !seen_written_.insert(&var).second) return;
  written_.push_back({Ref<Variable>(&var), Variable::Make(var.value())});
}

std::vector<Journal::Before> Journal::written() const {
  std::vector<Before> list;
  for (const Before& before : written_) {
    if (!before.var->unique()) list.push_back(before);
  }
  return list;
}

}  // namespace dygraph::program
