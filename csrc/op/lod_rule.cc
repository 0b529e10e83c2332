#include "op/lod_rule.h"

#include <algorithm>
#include <map>
#include <string>

#include "op/per_op.h"

namespace dygraph {

namespace {

bool NotBroadcast(const LoDCall& c) { return c.out.rank() <= c.from.rank(); }

struct Sharing {
  LoDRule rule = &NotBroadcast;
  std::vector<int> also;
};

std::map<std::string, Sharing>& Registered() {
  static auto* all = new std::map<std::string, Sharing>;  // addresses stay
  return *all;
}

const Sharing& SharingOf(const OpInfo& op) {
  static PerOp<Sharing> known([](const OpInfo& o) -> const Sharing* {
    static const Sharing plain;
    auto at = Registered().find(o.type);
    return at == Registered().end() ? &plain : &at->second;
  });
  return known[op];
}

// f(slot, element, tensor) for the inputs that may give their LoD, until it returns true.
template <class F>
void AnySource(const Call& call, const Sharing& sharing, F f) {
  auto in_slot = [&](int slot) {
    for (int i = 0; slot < call.in.slots() && i < call.in.count(slot); ++i) {
      const Value* v = call.in.at(slot, i);
      if (v && v->is_tensor() && v->tensor().rank() > 0 && f(slot, i, v->tensor())) return true;
    }
    return false;
  };
  if (in_slot(call.op->lod_from)) return;
  for (int slot : sharing.also) {
    if (in_slot(slot)) return;
  }
}

// Whether they say the same of rows: one may have more levels above.
bool Agree(const LoDLevels& a, const LoDLevels& b) {
  const size_t common = std::min(a.size(), b.size());
  return std::equal(a.end() - common, a.end(), b.end() - common);
}

std::string NameOf(const Call& call, int slot, int element) {
  const std::string& name = call.op->inputs[slot].name;
  return call.in.count(slot) > 1 ? name + "[" + std::to_string(element) + "]" : name;
}

// The last level, shortened: batches have hundreds of sequences.
std::string Shown(const LoDLevels& levels) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, levels.back().size()); ++i)
    text += (i ? ", " : "[") + std::to_string(levels.back()[i]);
  return text + (levels.back().size() > kShown ? ", ...]" : "]");
}

Ref<LoD> LoDFor(const Call& call, int out_slot, const Tensor& out) {
  Ref<LoD> lod;
  int slot_of = 0, element_of = 0;
  const Sharing& sharing = SharingOf(*call.op);
  AnySource(call, sharing, [&](int slot, int element, const Tensor& from) {
    if (!from.lod() || from.dim(0) != out.dim(0)) return false;
    if (!sharing.rule({call, slot, element, from, out, out_slot, nullptr})) return false;
    if (!lod) {
      lod = from.lod_ref();
      slot_of = slot;
      element_of = element;
      return false;
    }
    ENFORCE(lod.get() == from.lod() || Agree(lod->levels, from.lod_levels()), InvalidArgument,
            NameOf(call, slot_of, element_of), " and ", NameOf(call, slot, element),
            " must divide their ", out.dim(0), " rows into the same sequences, got offsets ",
            Shown(lod->levels), " and ", Shown(from.lod_levels()),
            ". Where they are the same sequences, give one the level of detail of the other with "
            "lod_reset(); where they are not, one needs none: x.set_lod([])");
    return false;
  });
  return lod;
}

}  // namespace

std::vector<int> LoDSlots(const OpInfo& op) {
  std::vector<int> slots;
  if (op.lod_from < 0) return slots;
  slots = SharingOf(op).also;
  slots.insert(slots.begin(), op.lod_from);
  return slots;
}

int PassedLevels(const Call& call, int out_slot, const Tensor& out, const int* levels) {
  int passed = 0;
  if (call.op->lod_from < 0 || out.rank() == 0) return passed;
  const Sharing& sharing = SharingOf(*call.op);
  AnySource(call, sharing, [&](int slot, int element, const Tensor& from) {
    const int has = levels[call.in.begin_of(slot) + element];
    if (has <= 0 || from.dim(0) != out.dim(0)) return false;
    if (!sharing.rule({call, slot, element, from, out, out_slot, levels})) return false;
    passed = has;
    return true;
  });
  return passed;
}

void PassLoD(const Call& call) {
  bool ragged = false;
  AnySource(call, SharingOf(*call.op),
            [&](int, int, const Tensor& from) { return ragged = from.lod() != nullptr; });
  if (!ragged) return;
  for (int slot = 0; slot < call.out.slots(); ++slot) {
    for (int i = 0; i < call.out.count(slot); ++i) {
      Value* value = call.out.at(slot, i);
      if (!value || !value->is_tensor()) continue;
      Tensor& out = value->MutableTensor();
      if (out.rank() == 0) continue;
      if (Ref<LoD> lod = LoDFor(call, slot, out)) out.SetLoD(std::move(lod));
    }
  }
}

LoDRuleRegistration::LoDRuleRegistration(const char* type, LoDRule rule) {
  Registered()[type].rule = rule;
}
LoDRuleRegistration::LoDRuleRegistration(const char* type, std::vector<int> also) {
  Registered()[type].also = std::move(also);
}

}  // namespace dygraph
