// Operators of a prepared program that become one: only where every element goes through the same
// arithmetic in the same order.
#include <algorithm>

#include "program/executor_plan.h"

namespace dygraph::program {

namespace {

template <class List>
bool Has(const List& list, int slot) {
  return std::find(list.begin(), list.end(), slot) != list.end();
}

bool Flag(const Attrs& attrs, const char* name) {
  return std::get<bool>(attrs.Get(attrs.table().Require(name)));
}

// Attributes of `info` with the values of those that `from` has too.
Ref<Attrs> SameAttrs(const OpInfo& info, const Attrs& from) {
  Ref<Attrs> attrs = Attrs::Make(info.attr_table);
  for (size_t i = 0; i < info.attr_table.fields.size(); ++i) {
    int field = from.table().Find(info.attr_table.fields[i].name);
    if (field >= 0) attrs->Set(static_cast<int>(i), from.Get(field));
  }
  return attrs;
}

}  // namespace

// Batch normalisation by running statistics, perhaps the addition of an array of its shape, and
// relu: one pass over the memory.
bool PreparedProgram::FuseBatchNorm(size_t first, const std::vector<int>& readers) {
  constexpr size_t kFarthest = 8;  // operators that may lie between two of them
  Op& norm = ops_[first];
  if (!norm.parts.empty() || norm.info->type != "batch_norm" || norm.Input("MomentumTensor") >= 0) {
    return false;
  }
  bool own = Flag(*norm.attrs, "trainable_statistics");
  if (!Flag(*norm.attrs, "use_global_stats") && (own || !Flag(*norm.attrs, "is_test")))
    return false;
  // Running statistics are written back as they are; other results must interest nobody.
  for (const char* name : {"SavedMean", "SavedVariance", "ReserveSpace"}) {
    int slot = norm.Output(name);
    if (slot >= 0 && (readers[slot] > 0 || slots_[slot].persistable)) return false;
  }
  for (const char* name : {"Mean", "Variance"}) {
    int slot = norm.Output((std::string(name) + "Out").c_str());
    if (slot >= 0 && slot != norm.Input(name)) return false;
  }
  // The only operator that reads `slot`, where nothing before it writes what the parts read.
  std::vector<size_t> parts = {first};
  auto only_reader = [&](int slot) -> Op* {
    if (slot < 0 || slots_[slot].persistable || readers[slot] != 1) return nullptr;
    for (size_t i = parts.back() + 1; i < std::min(ops_.size(), parts.back() + kFarthest); ++i) {
      if (Has(ops_[i].in, slot)) {
        parts.push_back(i);
        return &ops_[i];
      }
      for (size_t part : parts) {
        for (int s : ops_[i].out) {
          if (s >= 0 && (Has(ops_[part].in, s) || Has(ops_[part].out, s))) return nullptr;
        }
      }
    }
    return nullptr;
  };
  int y = norm.Output("Y"), z = -1;
  Op* next = only_reader(y);
  if (next && next->info->type == "elementwise_add") {
    int a = next->Input("X"), b = next->Input("Y");
    z = a == y ? b : a;
    if (z == y || z < 0) return false;
    next = only_reader(next->Output("Out"));
  }
  if (!next || next->info->type != "relu") return false;
  for (size_t part : parts) {
    if (!ops_[part].parts.empty()) return false;
  }

  Op one;
  one.info = &GetOp(z < 0 ? "fused_batch_norm_act" : "fused_bn_add_activation");
  one.attrs = SameAttrs(*one.info, *norm.attrs);
  one.desc = next->desc;
  one.position = next->position;
  for (const SlotInfo& slot : one.info->inputs) {
    one.in.push_back(slot.name == "Z" ? z : norm.Input(slot.name.c_str()));
    one.in_ends.push_back(static_cast<uint32_t>(one.in.size()));
  }
  for (const SlotInfo& slot : one.info->outputs) {
    if (!slot.extra()) one.out.push_back(slot.name == "Y" ? next->Output("Out") : -1);
    one.out_ends.push_back(static_cast<uint32_t>(one.out.size()));
  }
  for (size_t part : parts) one.parts.push_back(std::move(ops_[part]));
  size_t last = parts.back();
  ops_[last] = std::move(one);
  parts.pop_back();
  for (size_t part : parts) ops_[part].info = nullptr;  // taken out by the caller
  return true;
}

void PreparedProgram::FuseOperators() {
  std::vector<int> readers(slots_.size());
  for (const Op& op : ops_) {
    for (int s : op.in) {
      if (s >= 0) ++readers[s];
    }
  }
  for (int s : fetch_slots_) ++readers[s];
  bool any = false;
  for (size_t i = 0; i < ops_.size(); ++i) {
    if (ops_[i].info) any |= FuseBatchNorm(i, readers);
  }
  if (!any) return;
  auto gone = [](const Op& op) { return op.info == nullptr; };
  ops_.erase(std::remove_if(ops_.begin(), ops_.end(), gone), ops_.end());
}

// The door puts a result where an input was, if the operator can and nobody else holds that memory.
void PreparedProgram::FindSpentInputs() {
  for (Op& op : ops_) {
    for (size_t pair = 0; pair < op.info->in_place.size(); ++pair) {
      auto [in_slot, out_slot] = op.info->in_place[pair];
      uint32_t in = in_slot ? op.in_ends[in_slot - 1] : 0,
               out = out_slot ? op.out_ends[out_slot - 1] : 0;
      if (in >= op.in_ends[in_slot] || out >= op.out_ends[out_slot] || op.out[out] < 0) continue;
      int slot = op.in[in];
      if (slot >= 0 && Has(op.done, slot) && op.out[out] != slot &&
          std::count(op.in.begin(), op.in.end(), slot) == 1) {
        op.reuse |= 1u << pair;
      }
    }
  }
}

}  // namespace dygraph::program
