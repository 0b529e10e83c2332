#include "op/zero_derivative.h"

#include <array>
#include <atomic>
#include <memory>

#include "op/call.h"
#include "op/gradient_shapes.h"
#include "op/op_registry.h"

namespace dygraph {

namespace {

// Whether the operator gives an input of this slot a gradient at all: one argument in each slot.
bool GivesGradient(const OpInfo& op, int slot) {
  if (op.has_no_grad || !op.grad_maker) return false;
  auto ends = [](size_t n) {
    std::vector<uint32_t> list;
    for (size_t i = 1; i <= n; ++i) list.push_back(static_cast<uint32_t>(i));
    return list;
  };
  std::vector<uint32_t> in = ends(op.inputs.size()), out = ends(op.outputs.size());
  WantedSet wanted;
  wanted.Set(slot);
  try {
    return Serves(
        GetRecipe(op, *op.default_attrs, {in.data(), in.size()}, {out.data(), out.size()}, wanted),
        slot, 0);
  } catch (const Error&) {  // a maker that refuses such a call
    return false;
  }
}

bool Judge(const OpInfo& op, int slot) {
  if (!op.gradient_of) return false;
  const OpInfo* forward = op.gradient_of->forward;
  while (forward->gradient_of) forward = forward->gradient_of->forward;
  int input = FindSlot(forward->inputs, op.inputs[slot].name);
  if (input >= 0) return GivesGradient(*forward, input);
  if (FindSlot(forward->outputs, op.inputs[slot].name) < 0) return true;  // a gradient
  // A result of the forward call beside an input: what depends on it may be the input's.
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (FindSlot(forward->inputs, op.inputs[i].name) >= 0 && GivesGradient(op, static_cast<int>(i)))
      return false;
  }
  return true;
}

// By slot, the inputs whose gradients a long recipe makes. Those of a list are asked for one after
// another, so the last answer is kept; recipes live for good.
const std::array<WantedSet, kMaxSlots>& ServedBy(const Recipe& recipe) {
  static thread_local const Recipe* of = nullptr;
  // On the heap: the room for what threads have of their own is small, and other libraries need it.
  static thread_local std::unique_ptr<std::array<WantedSet, kMaxSlots>> place;
  if (of == &recipe) return *place;
  of = nullptr;
  place = std::make_unique<std::array<WantedSet, kMaxSlots>>();
  std::array<WantedSet, kMaxSlots>& served = *place;
  for (const RecipeCall& call : recipe.calls) {
    for (const RecipeSlot& made : call.out) {
      for (const RecipeRef& ref : made) {
        if (ref.kind == RecipeRef::kInputGrad) served[ref.slot].Set(static_cast<int>(ref.index));
      }
    }
  }
  of = &recipe;
  return served;
}

}  // namespace

bool Serves(const Recipe& recipe, int slot, int index) {
  constexpr int kFew = 64;  // references that are looked through
  const RecipeRef wanted{RecipeRef::kInputGrad, static_cast<uint8_t>(slot),
                         static_cast<uint32_t>(index)};
  int seen = 0;
  for (const RecipeCall& call : recipe.calls) {
    for (const RecipeSlot& made : call.out) {
      for (const RecipeRef& ref : made) {
        if (ref == wanted) return true;
        if (++seen > kFew) return ServedBy(recipe)[slot].Has(index);
      }
    }
  }
  return false;
}

bool DerivativeIsZero(const OpInfo& op, int slot) {
  // Two bits for a slot: whether it was judged, and how.
  constexpr int kSlots = 32;
  static std::array<std::atomic<uint64_t>, kMostOperators> known;
  if (slot >= kSlots) return Judge(op, slot);
  uint64_t bits = known[op.id].load(std::memory_order_relaxed) >> (2 * slot) & 3;
  if (!bits) {
    bits = Judge(op, slot) ? 3 : 1;
    known[op.id].fetch_or(bits << (2 * slot), std::memory_order_relaxed);
  }
  return bits == 3;
}

}  // namespace dygraph
