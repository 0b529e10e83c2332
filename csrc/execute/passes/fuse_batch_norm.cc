// Batch normalisation by running statistics, perhaps an addition, and relu become one operator,
// which goes over the memory once.
#include <algorithm>

#include "execute/plan_passes.h"

namespace dygraph::program {

namespace {

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

bool HasFixedStatistics(const Plan& plan, const PlanOp& norm, const std::vector<int>& readers) {
  if (!norm.parts.empty() || norm.info->type != "batch_norm" || norm.Input("MomentumTensor") >= 0)
    return false;
  bool own = Flag(*norm.attrs, "trainable_statistics");
  if (!Flag(*norm.attrs, "use_global_stats") && (own || !Flag(*norm.attrs, "is_test")))
    return false;
  // No operator reads the other results. Running statistics may be written back as they are.
  auto unused = [&](const char* name) {
    int slot = norm.Output(name);
    return slot < 0 || (readers[slot] == 0 && !plan.slots[slot].persistable);
  };
  auto unused_or = [&](const char* name, const char* same) {
    return unused(name) || norm.Output(name) == norm.Input(same);
  };
  return unused("SavedMean") && unused("SavedVariance") && unused("ReserveSpace") &&
         unused_or("MeanOut", "Mean") && unused_or("VarianceOut", "Variance");
}

namespace {

// The normalisation, perhaps the addition of an array of its shape, and relu.
bool Fuse(Plan& plan, size_t first, const std::vector<int>& readers) {
  constexpr size_t kFarthest = 8;  // operators that may lie between two of them
  PlanOp& norm = plan.ops[first];
  if (!HasFixedStatistics(plan, norm, readers)) return false;
  // The only operator that reads `slot`, where nothing before it writes what the parts read.
  std::vector<size_t> parts = {first};
  auto only_reader = [&](int slot) -> PlanOp* {
    if (slot < 0 || plan.slots[slot].persistable || readers[slot] != 1) return nullptr;
    const size_t end = std::min(plan.ops.size(), parts.back() + kFarthest);
    for (size_t i = parts.back() + 1; i < end; ++i) {
      if (plan.ops[i].Reads(slot)) {
        parts.push_back(i);
        return &plan.ops[i];
      }
      for (size_t part : parts) {
        for (int s : plan.ops[i].out) {
          if (s >= 0 && (plan.ops[part].Reads(s) || plan.ops[part].Writes(s))) return nullptr;
        }
      }
    }
    return nullptr;
  };
  int y = norm.Output("Y"), z = -1;
  PlanOp* next = only_reader(y);
  if (next && next->info->type == "elementwise_add") {
    int a = next->Input("X"), b = next->Input("Y");
    z = a == y ? b : a;
    if (z == y || z < 0) return false;
    next = only_reader(next->Output("Out"));
  }
  if (!next || next->info->type != "relu") return false;
  for (size_t part : parts) {
    if (!plan.ops[part].parts.empty()) return false;
  }

  PlanOp one;
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
  for (size_t part : parts) one.parts.push_back(std::move(plan.ops[part]));
  size_t last = parts.back();
  plan.ops[last] = std::move(one);
  parts.pop_back();
  for (size_t part : parts) plan.ops[part].info = nullptr;  // taken out by the caller
  return true;
}

}  // namespace

void FuseBatchNorms(Plan& plan) {
  const PlanUses uses(plan, PlanUses::Of::kOperators);
  bool any = false;
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    if (plan.ops[i].info) any |= Fuse(plan, i, uses.readers);
  }
  if (!any) return;
  auto gone = [](const PlanOp& op) { return op.info == nullptr; };
  plan.ops.erase(std::remove_if(plan.ops.begin(), plan.ops.end(), gone), plan.ops.end());
}

}  // namespace dygraph::program
