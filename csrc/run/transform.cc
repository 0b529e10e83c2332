#include "run/transform.h"

#include <atomic>

#include "run/fallback.h"

namespace dygraph {

bool ReadsOnHost(const OpInfo& op) {
  for (const SlotInfo& slot : op.inputs) {
    if (slot.on_host()) return true;
  }
  return false;
}

namespace {

std::atomic<int64_t> g_moved[256];  // by the number of the CUDA device

// Pinned memory is the host's.
bool LiesAt(Place where, Place wanted) {
  return where == wanted || (where.kind == DeviceKind::kCUDAPinned && wanted == CPUPlace());
}

void NoteMove(Place from, Place to) {
  const Place device = to.kind == DeviceKind::kCUDA ? to : from;
  if (device.kind == DeviceKind::kCUDA) g_moved[device.id].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

int64_t MovedInputs(Place place) { return g_moved[place.id].load(std::memory_order_relaxed); }

Layout TransformedInputs::Apply(Call& call, const Kernel& kernel, Place place) {
  bool fits =
      kernel.key.layout != KernelLayout::kNHWC && (place == CPUPlace() || !ReadsOnHost(*call.op));
  for (const Value* v : call.in.flat()) {
    if (!v) continue;
    if (v->is_tensor()) {
      fits &= v->tensor().layout() == Layout::kPlain && LiesAt(v->tensor().place(), place);
    } else if (!v->empty()) {
      fits &= LiesAt(v->place(), place);
    }
  }
  return __builtin_expect(fits, 1) ? Layout::kPlain : ApplySlow(call, kernel, place);
}

void TransformedInputs::Replace(Call& call, int flat, Value value) {
  copies_.push_back(std::move(value));
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
  int of = 0;
  for (size_t i = 0; i < flat.size(); ++i) {
    while (call.in.begin_of(of) + call.in.count(of) <= static_cast<int>(i)) ++of;
    if (!flat[i] || flat[i]->empty()) continue;
    const Place where = op.inputs[of].on_host() ? CPUPlace() : place;
    if (!LiesAt(flat[i]->place(), where)) {
      NoteMove(flat[i]->place(), where);
      Replace(call, static_cast<int>(i), CopyTo(*flat[i], where));
    }
    if (!flat[i]->is_tensor()) continue;
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
