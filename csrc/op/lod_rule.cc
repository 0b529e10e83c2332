#include "op/lod_rule.h"

#include <array>
#include <atomic>
#include <map>
#include <string>

#include "op/op_info.h"

namespace dygraph {

namespace {

std::map<std::string, LoDRule>& Rules() {
  static auto* rules = new std::map<std::string, LoDRule>;
  return *rules;
}

bool NotBroadcast(const LoDCall& c) { return c.out.rank() <= c.from.rank(); }

LoDRule Look(const OpInfo& op) {
  auto at = Rules().find(op.type);
  return at == Rules().end() ? &NotBroadcast : at->second;
}

LoDRule RuleOf(const OpInfo& op) {
  constexpr int kOps = 4096;
  static std::array<std::atomic<LoDRule>, kOps> known;
  if (op.id >= kOps) return Look(op);
  LoDRule rule = known[op.id].load(std::memory_order_relaxed);
  if (!rule) known[op.id].store(rule = Look(op), std::memory_order_relaxed);
  return rule;
}

}  // namespace

bool LoDCall::SameLoD(int slot) const {
  int begin = call.in.begin_of(slot), n = call.in.count(slot);
  for (int i = 1; i < n; ++i) {
    if (levels) {
      if (levels[begin + i] != levels[begin]) return false;
      continue;
    }
    const Value* other = call.in.at(slot, i);
    if (!other || !other->is_tensor()) return false;
    const Tensor &a = call.in.at(slot)->tensor(), &b = other->tensor();
    if (a.lod() != b.lod() && a.lod_levels() != b.lod_levels()) return false;
  }
  return true;
}

bool TakesLoD(const Call& call, int out_slot, const Tensor& out, const int* levels) {
  const Tensor& from = call.in.at(call.op->lod_from)->tensor();
  if (from.rank() == 0 || out.rank() == 0 || out.dim(0) != from.dim(0)) return false;
  return RuleOf(*call.op)({call, from, out, out_slot, levels});
}

void PassLoD(const Call& call) {
  const Ref<LoD>& lod = call.in.at(call.op->lod_from)->tensor().lod_ref();
  for (int slot = 0; slot < call.out.slots(); ++slot) {
    for (int i = 0; i < call.out.count(slot); ++i) {
      Value* value = call.out.at(slot, i);
      if (!value || !value->is_tensor()) continue;
      Tensor& out = value->MutableTensor();
      if (TakesLoD(call, slot, out)) out.SetLoD(lod);
    }
  }
}

LoDRuleRegistration::LoDRuleRegistration(const char* type, LoDRule rule) { Rules()[type] = rule; }

}  // namespace dygraph
