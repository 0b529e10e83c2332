#include <algorithm>
#include <cstring>

#include "trace/recorder.h"

namespace dygraph::program {

namespace {

// What an optimizer begins with: as large as the parameters, and nothing worth keeping.
bool IsZeros(const Value& value) {
  constexpr size_t kWorthIt = 4096;
  if (!value.is_tensor() || value.place() != CPUPlace()) return false;
  const Tensor& t = value.tensor();
  const char* data = static_cast<const char*>(t.raw_data());
  if (!data || t.bytes() < kWorthIt) return false;
  return data[0] == 0 && std::memcmp(data, data + 1, t.bytes() - 1) == 0;
}

Value Zeros(const Value& like) {
  Tensor t = like.tensor().Meta();
  t.AllocateData(CPUPlace(), t.layout());
  std::memset(t.mutable_raw_data(), 0, t.bytes());
  return Value(std::move(t));
}

}  // namespace

// Lets go of what has no other holder, such as sums of gradients that were written in place.
void Journal::Prune() {
  auto prune = [](std::vector<Before>* list, std::unordered_set<const Variable*>* seen) {
    auto gone = [&](const Before& before) {
      bool alone = before.var->unique();
      if (alone) seen->erase(before.var.get());
      return alone;
    };
    list->erase(std::remove_if(list->begin(), list->end(), gone), list->end());
  };
  prune(&written_, &seen_written_);
  prune(&leaves_, &seen_leaves_);
  next_prune_ = 2 * written_.size() + 16;
}

void Journal::OnCall(const EagerCall& call) {
  for (Variable* v : call.in.flat()) {
    if (!v || !v->IsLeaf() || v->stop_gradient() || !seen_leaves_.insert(v).second) continue;
    leaves_.push_back({Ref<Variable>(v), v->grad()});
  }
}

void Journal::OnWrite(Variable& var) {
  if (var.value().empty() || !seen_written_.insert(&var).second) return;
  if (written_.size() >= next_prune_) Prune();
  bool zeros = IsZeros(var.value());
  written_.push_back({Ref<Variable>(&var), Variable::Make(zeros ? Value(var.tensor().Meta())
                                                                : var.value())});
}

std::vector<Journal::Before> Journal::written() const {
  std::vector<Before> list;
  for (const Before& before : written_) {
    if (before.var->unique()) continue;
    list.push_back(before);
    const Value& value = before.value->value();
    bool zeros = value.is_tensor() && !value.tensor().has_data() && value.tensor().numel() > 0;
    if (zeros) list.back().value = Variable::Make(Zeros(value));
  }
  return list;
}

}  // namespace dygraph::program
