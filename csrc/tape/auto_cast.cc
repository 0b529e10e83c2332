#include "tape/auto_cast.h"

#include "op/op_registry.h"

namespace dygraph {

namespace {

bool IsFloatTensor(const Variable* v, DType narrow) {
  if (!v || !v->value().is_tensor() || !v->tensor().has_data()) return false;
  return v->tensor().dtype() == DType::kFloat32 || v->tensor().dtype() == narrow;
}

bool HasKernel(const OpInfo& op, Place place, DType dtype) {
  if (op.sole_kernel[static_cast<int>(place.kind)][static_cast<int>(dtype)]) return true;
  return !op.Candidates(place.kind, dtype).empty();
}

Ref<Variable> Cast(Variable& x, DType to) {
  static const OpInfo& op = GetOp("cast");
  Ref<Attrs> attrs = Attrs::Make(op.attr_table);
  attrs->Set("in_dtype", static_cast<int32_t>(ToWire(x.value().dtype())));
  attrs->Set("out_dtype", static_cast<int32_t>(ToWire(to)));
  SlotList<Variable> in;
  in.Add(&x);
  Outputs out;
  RunOp(op, attrs, in, &out);
  return std::move(out.owned[0]);
}

// What the call computes, and its gradient, can be computed in that type.
bool Takes(const EagerCall& call, Place place, DType dtype) {
  if (!HasKernel(call.op, place, dtype)) return false;
  const OpInfo* gradient = FindOp(call.op.type + "_grad");
  return !gradient || HasKernel(*gradient, place, dtype);
}

Place PlaceOfInputs(const EagerCall& call) {
  Place place;
  for (const Variable* v : call.in.flat()) {
    if (v && v->value().is_tensor() && v->tensor().place().kind == DeviceKind::kCUDA)
      place = v->tensor().place();
  }
  return place;
}

// A parameter that is added to something: the bias of a layer.
bool IsBias(const EagerCall& call, int slot, const Variable& v) {
  static const OpInfo& add = GetOp("elementwise_add");
  return &call.op == &add && slot == 1 && v.persistable && v.IsLeaf();
}

void AddAll(const std::vector<std::string>& names, std::unordered_set<const OpInfo*>* to) {
  for (const std::string& name : names) to->insert(&GetOp(name));
}

}  // namespace

AutoCast::AutoCast(DType narrow, const std::vector<std::string>& white,
                   const std::vector<std::string>& black)
    : narrow_(narrow) {
  AddAll(white, &white_);
  AddAll(black, &black_);
}

DType AutoCast::Wanted(const EagerCall& call) {
  static const OpInfo& cast = GetOp("cast");
  // Gradients follow the types of their calls; updates write into what is there.
  if (&call.op == &cast || call.options.from_tape || call.targets || call.options.queue)
    return DType::kUnset;
  bool wide = false, narrow = false, bias = false;
  for (int s = 0; s < call.in.slots(); ++s) {
    if (call.op.inputs[s].wide() || call.op.inputs[s].on_host()) continue;
    for (int i = 0; i < call.in.count(s); ++i) {
      const Variable* v = call.in.at(s, i);
      if (!IsFloatTensor(v, narrow_)) continue;
      const bool is_narrow = v->tensor().dtype() == narrow_;
      (is_narrow ? narrow : IsBias(call, s, *v) ? bias : wide) = true;
    }
  }
  if (!wide && !narrow) return DType::kUnset;
  if (black_.count(&call.op)) return narrow ? DType::kFloat32 : DType::kUnset;
  const bool takes = Takes(call, PlaceOfInputs(call), narrow_);
  const bool white = white_.count(&call.op);
  if (!takes && (white || narrow)) Widened(call.op);
  if (white) return takes ? narrow_ : narrow ? DType::kFloat32 : DType::kUnset;
  if (!narrow) return DType::kUnset;
  if (!takes || wide) return DType::kFloat32;
  return bias ? narrow_ : DType::kUnset;
}

void AutoCast::Widened(const OpInfo& op) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++widened_[op.type];
}

std::map<std::string, int64_t> AutoCast::widened() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return widened_;
}

void AutoCast::Run(EagerCall& call) {
  const DType wanted = Wanted(call);
  if (wanted == DType::kUnset) return Below(call);
  std::vector<Ref<Variable>> casts;
  SlotList<Variable> in;
  int slot = 0, at = 0;
  in.Map(call.in, [&](Variable* v) {
    while (at >= call.in.begin_of(slot + 1)) ++slot;
    ++at;
    const SlotInfo& info = call.op.inputs[slot];
    const DType to = info.wide() ? DType::kFloat32 : wanted;
    if (info.on_host() || !IsFloatTensor(v, narrow_) || v->tensor().dtype() == to) return v;
    casts.push_back(Cast(*v, to));
    return casts.back().get();
  });
  if (casts.empty()) return Below(call);
  Below(call, in);
}

}  // namespace dygraph
