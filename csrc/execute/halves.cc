// Programs that run in two halves: a call of a captured function runs the first, backward() the
// second.
#include <algorithm>
#include <set>

#include "execute/frame.h"

namespace dygraph::program {

// The second half reads a persistable variable as it was when the first one ran, as the tape would:
// an optimizer may have stepped meanwhile.
void PreparedProgram::ShadowPersistables() {
  std::set<int> written;
  std::map<int, int> shadows;
  auto shadow = [&](int& s) {
    if (s < 0 || !plan_.slots[s].persistable) return;
    ENFORCE(!written.count(s), PreconditionNotMet, "the gradients read '", plan_.slots[s].name,
            "', which the program writes");
    auto [at, is_new] = shadows.emplace(s, static_cast<int>(plan_.slots.size()));
    if (is_new) {
      plan_.slots.push_back({plan_.slots[s].name + "@BEFORE", false, 0});
      carried_.push_back({s, at->second});
    }
    s = at->second;
  };
  for (PlanOp& op : plan_.ops) {
    if (op.position < static_cast<int>(halves_.operators)) {
      written.insert(op.out.begin(), op.out.end());
      continue;
    }
    std::vector<PlanOp*> all;
    all.push_back(&op);
    while (!all.empty()) {
      PlanOp& each = *all.back();
      all.pop_back();
      for (int& s : each.in) shadow(s);
      if (!each.control) continue;
      for (auto* pairs : {&each.control->sliced, &each.control->initial}) {
        for (auto& [outside, inside] : *pairs) shadow(outside);
      }
      for (int& s : each.control->stacked_like) shadow(s);
      for (PlanOp& inner : each.control->body.ops) all.push_back(&inner);
    }
  }
}

// What the first half hands to the second. As if it were fetched, it outlives the operators of the
// first, and no pass puts operators of both halves together.
void PreparedProgram::FindCarried() {
  std::set<int> known(feed_slots_.begin() + halves_.feeds, feed_slots_.end()), carried;
  for (auto [from, to] : carried_) known.insert(to);
  for (const PlanOp& op : plan_.ops) {
    if (op.position < static_cast<int>(halves_.operators)) continue;
    for (int s : op.in) {
      if (s >= 0 && !plan_.slots[s].persistable && known.insert(s).second) carried.insert(s);
    }
    known.insert(op.out.begin(), op.out.end());
  }
  for (size_t i = halves_.fetches; i < plan_.fetches.size(); ++i) {  // a result that is an input
    if (known.insert(plan_.fetches[i]).second) carried.insert(plan_.fetches[i]);
  }
  for (int s : carried) {
    carried_.push_back({s, s});
    plan_.fetches.push_back(s);
  }
}

// In the second half a value goes after its last use, as the tape lets it go.
void PreparedProgram::ReleaseCarried() {
  middle_ = std::find_if(plan_.ops.begin(), plan_.ops.end(),
                         [&](const PlanOp& op) {
                           return op.position >= static_cast<int>(halves_.operators);
                         }) -
            plan_.ops.begin();
  plan_.fetches.resize(fetches_.size());
  for (auto [from, to] : carried_) {
    if (std::count(plan_.fetches.begin() + halves_.fetches, plan_.fetches.end(), to)) continue;
    PlanOp* last = nullptr;
    for (size_t i = middle_; i < plan_.ops.size(); ++i) {
      PlanOp& op = plan_.ops[i];
      if (op.Reads(to) || op.Writes(to)) last = &op;
    }
    if (last && !last->Ends(to)) last->done.push_back(to);
  }
}

std::vector<Value> PreparedProgram::RunFirst(const std::vector<Value>& feeds,
                                             std::vector<Value>* carried) {
  return RunPart({feeds, 0, halves_.feeds, 0, halves_.fetches, 0, middle_, carried}, Streams());
}

std::vector<Value> PreparedProgram::RunSecond(std::vector<Value> carried,
                                              const std::vector<Value>& feeds, bool again) {
  return RunPart({feeds, halves_.feeds, feeds_.size(), halves_.fetches, fetches_.size(), middle_,
                  plan_.ops.size(), nullptr, &carried, again},
                 {});
}

}  // namespace dygraph::program
