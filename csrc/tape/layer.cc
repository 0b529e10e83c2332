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

void EagerCall::SetResults(Outputs results) {
  ENFORCE(results.owned.size() == result->owned.size(), InvalidArgument, op.type,
          ": results must be ", result->owned.size(), ", got ", results.owned.size());
  for (int s = 0; s < out.slots(); ++s) {
    ENFORCE(results.slots.count(s) == out.count(s), InvalidArgument, op.type,
            ": results of Output(", op.outputs[s].name, ") must be ", out.count(s), ", got ",
            results.slots.count(s));
    for (int i = 0; i < out.count(s); ++i) {
      if (!out.at(s, i)) continue;  // not wanted
      const Ref<Variable>& v = results.owned[out.begin_of(s) + i];
      ENFORCE(v && v->unique(), InvalidArgument, op.type, ": a result of Output(",
              op.outputs[s].name, ") must be a fresh variable, got ",
              v ? "one that is held elsewhere. Hand the Outputs over with std::move, or pass the "
                  "variable through assign"
                : "none");
      const Variable* target = targets ? targets->at(s, i) : nullptr;
      ENFORCE(!target || target->value().empty() || target->value().dtype() == v->value().dtype(),
              InvalidArgument, op.type, ": what is written into a variable must have its type, ",
              target->value().dtype(), ", got ", v->value().dtype());
    }
  }
  for (size_t i = 0; i < results.owned.size(); ++i) {
    Ref<Variable>& mine = result->owned[i];
    if (!mine) continue;
    mine = std::move(results.owned[i]);
    result->slots.flat_at(static_cast<int>(i)) = mine.get();
    values.out.flat_at(static_cast<int>(i)) = &mine->fresh_value();
  }
}

}  // namespace dygraph
