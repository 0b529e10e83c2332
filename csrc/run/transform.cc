#include "run/transform.h"

namespace dygraph {

Layout TransformedInputs::Apply(Call& call, const Kernel& kernel, Place place) {
  bool fits = kernel.key.layout != KernelLayout::kNHWC;
  for (const Value* v : call.in.flat()) {
    if (v && v->is_tensor()) {
      fits &= v->tensor().layout() == Layout::kPlain && v->tensor().place() == place;
    }
  }
  return __builtin_expect(fits, 1) ? Layout::kPlain : ApplySlow(call, kernel, place);
}

void TransformedInputs::Replace(Call& call, int flat, Tensor t) {
  copies_.push_back(Value(std::move(t)));
  call.in.flat_at(flat) = &copies_.back();
}

namespace {
bool HasOrder(const Tensor& t) { return t.rank() == 4 || t.rank() == 5; }
}  // namespace

Layout TransformedInputs::ApplySlow(Call& call, const Kernel& kernel, Place place) {
  const OpInfo& op = *call.op;
  Span<const Value* const> flat = call.in.flat();
  copies_.reserve(2 * flat.size());  // elements must not move
  const Tensor* ordered = nullptr;   // the first channels-last input
  bool one_shape = true;
  for (size_t i = 0; i < flat.size(); ++i) {
    if (!flat[i] || !flat[i]->is_tensor()) continue;
    if (flat[i]->tensor().place() != place)
      Replace(call, static_cast<int>(i), CopyTo(flat[i]->tensor(), place));
    const Tensor& t = flat[i]->tensor();
    if (t.layout() == Layout::kNHWC && !ordered) ordered = &t;
  }
  for (const Value* v : flat) {
    if (ordered && v && v->is_tensor() && HasOrder(v->tensor())) {
      one_shape &= v->tensor().dims() == ordered->dims();
    }
  }
  Layout wanted = Layout::kPlain;
  if (kernel.key.layout == KernelLayout::kNHWC) wanted = Layout::kNHWC;
  if (op.keeps_layout && ordered && (one_shape || op.keeps_layout_of_any_shape))
    wanted = Layout::kNHWC;
  int slot = 0;
  for (size_t i = 0; i < flat.size(); ++i) {
    while (call.in.begin_of(slot) + call.in.count(slot) <= static_cast<int>(i)) ++slot;
    if (!flat[i] || !flat[i]->is_tensor()) continue;
    const Tensor& t = flat[i]->tensor();
    Layout order = HasOrder(t) && !op.inputs[slot].weight() ? wanted : Layout::kPlain;
    if (t.layout() == order) continue;
    Replace(call, static_cast<int>(i), order == Layout::kPlain ? t.Plain() : ToLayout(t, order));
  }
  return wanted;
}

}  // namespace dygraph
