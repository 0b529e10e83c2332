// How long the temporaries of a prepared program live: whole until the last operator that reads
// their values, as a shape until the last one that asks for that alone.
#include <algorithm>

#include "execute/plan_passes.h"
#include "op/gradient_shapes.h"
#include "op/recipes.h"

namespace dygraph::program {

namespace {

// What a gradient operator reads of the forward call: its recipe lists the inputs it takes for
// their sizes alone. The tape keeps no data of those either.
class ShapeReads {
 public:
  explicit ShapeReads(const PlanOp& op) {
    if (!op.info->gradient_of) return;
    try {
      Read(op);
    } catch (const Error&) {  // no recipe of this call: all is read
      slots_.clear();
    }
  }
  bool Has(size_t slot) const { return slot < slots_.size() && slots_[slot]; }

 private:
  template <class Ends>
  static uint32_t Count(const Ends& ends, int slot) {
    return slot < 0 ? 0 : ends[slot] - (slot ? ends[slot - 1] : 0);
  }

  void Read(const PlanOp& op) {
    const OpInfo& forward = *op.info->gradient_of->forward;
    bool same_attrs = AttrsOwner(*op.info) == AttrsOwner(forward);
    std::vector<uint32_t> in_ends, out_ends;
    WantedSet wanted;
    uint32_t flat = 0;
    for (size_t s = 0; s < forward.inputs.size(); ++s) {
      bool required = !forward.inputs[s].dispensable();
      const std::string& name = forward.inputs[s].name;
      int given = Find(op.info->inputs, name), grad = Find(op.info->outputs, name + "@GRAD");
      uint32_t count = std::max<uint32_t>(Count(op.in_ends, given), required);
      count = std::max(count, Count(op.out_ends, grad));
      for (uint32_t i = 0; i < Count(op.out_ends, grad); ++i) {
        if (op.out[(grad ? op.out_ends[grad - 1] : 0) + i] >= 0)
          wanted.Set(static_cast<int>(flat + i));
      }
      in_ends.push_back(flat += count);
    }
    flat = 0;
    for (size_t s = 0; s < forward.outputs.size(); ++s) {
      uint32_t count = forward.outputs[s].extra() ? 0 : 1;
      for (const char* suffix : {"", "@GRAD"}) {
        int slot = Find(op.info->inputs, forward.outputs[s].name + suffix);
        count = std::max(count, Count(op.in_ends, slot));
      }
      out_ends.push_back(flat += count);
    }
    std::shared_ptr<const Recipe> held =
        HoldRecipe(forward, same_attrs ? *op.attrs : *forward.default_attrs,
                   {in_ends.data(), in_ends.size()}, {out_ends.data(), out_ends.size()}, wanted);
    const Recipe& recipe = *held;
    if (recipe.depends_on_attrs && !same_attrs) return;
    const RecipeCall* found = nullptr;
    for (const RecipeCall& call : recipe.calls) {
      if (call.op != op.info) continue;
      if (found) return;  // it cannot be known which of them it is
      found = &call;
    }
    if (!found) return;
    slots_.assign(op.info->inputs.size(), false);
    for (size_t s = 0; s < found->in.size(); ++s) {
      const RecipeSlot& refs = found->in[s];
      uint32_t count = Count(op.in_ends, static_cast<int>(s));
      bool arriving = !refs.empty() && refs[0].kind == RecipeRef::kOutputGrad;
      if (!arriving && refs.size() != count) {  // another call than this one
        slots_.clear();
        return;
      }
      // The shape rule may read the values of what may be left out, such as sizes in a tensor.
      slots_[s] = count > 0 && std::all_of(refs.begin(), refs.end(), [&](const RecipeRef& r) {
        return r.kind == RecipeRef::kInputShape && !forward.inputs[r.slot].dispensable();
      });
    }
  }

  static int Find(const std::vector<SlotInfo>& slots, const std::string& name) {
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  std::vector<bool> slots_;
};

}  // namespace

bool ReadsSizesAlone(const PlanOp& op, int slot) {
  if (op.control) return false;
  ShapeReads shapes(op);
  uint32_t k = 0;
  for (size_t i = 0; i < op.in_ends.size(); ++i) {
    for (; k < op.in_ends[i]; ++k) {
      if (op.in[k] == slot && !shapes.Has(i)) return false;
    }
  }
  return std::find(op.in.begin() + k, op.in.end(), slot) == op.in.end();  // of open attributes
}

void FindLastUses(Plan& plan) {
  std::vector<int> last(plan.slots.size(), -1), last_read(plan.slots.size(), -1);
  auto use = [&](const PlanOp& op, size_t i) {
    if (EndsValues(op)) return;  // what it ends has had its last use before
    ShapeReads shapes(op);
    int at = static_cast<int>(i);
    size_t k = 0;
    for (size_t slot = 0; slot < op.in_ends.size(); ++slot) {
      for (; k < op.in_ends[slot]; ++k) {
        if (op.in[k] < 0) continue;
        last[op.in[k]] = at;
        if (!shapes.Has(slot)) last_read[op.in[k]] = at;
      }
    }
    for (; k < op.in.size(); ++k) last[op.in[k]] = last_read[op.in[k]] = at;  // of open attributes
    for (int s : op.out) {
      if (s >= 0) last[s] = last_read[s] = at;
    }
  };
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    use(plan.ops[i], i);
    for (const PlanOp& part : plan.ops[i].parts) use(part, i);
  }
  for (int s : plan.fetches) last[s] = -1;
  for (size_t s = 0; s < plan.slots.size(); ++s) {
    if (plan.slots[s].persistable || last[s] < 0) continue;
    plan.ops[last[s]].done.push_back(static_cast<int>(s));
    // Of what is fed the shape alone may be read; the caller holds it anyway.
    if (last_read[s] >= 0 && last_read[s] < last[s])
      plan.ops[last_read[s]].read.push_back(static_cast<int>(s));
  }
}

}  // namespace dygraph::program
