#include "op/part_call.h"

#include "op/call_checks.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"

namespace dygraph {

PartCall::PartCall(KernelContext& ctx, const char* type) : ctx_(ctx) {
  call_.op = &GetOp(type);
  call_.place = ctx.place();
}

PartCall& PartCall::In(const Value& v) { return In(&v); }

PartCall& PartCall::In(const Value* v) {
  call_.in.Add(v);
  return *this;
}

PartCall& PartCall::In(const std::vector<const Value*>& list) {
  for (const Value* v : list) call_.in.Push(v);
  call_.in.Close();
  return *this;
}

PartCall& PartCall::Out(Value* v) {
  const int slot = call_.out.slots();
  if (!v && !call_.op->outputs[slot].extra()) v = &dropped_[slot];
  call_.out.Push(v);
  call_.out.Close();
  return *this;
}

PartCall& PartCall::Attr(const char* name, const AttrValue& value) {
  if (!attrs_) attrs_ = Attrs::Make(call_.op->attr_table);
  attrs_->Set(name, value);
  return *this;
}

const Kernel* PartCall::FindKernel(Place place, DType dtype) const {
  for (const Kernel* k : call_.op->Candidates(place.kind, dtype)) {
    if (k->key.layout != KernelLayout::kNHWC && (!k->accepts || k->accepts(call_))) return k;
  }
  return nullptr;
}

// Copies of the inputs that do not lie where the kernel or the rules want them.
std::vector<Value> PartCall::BringInputs(Place place) {
  const Span<const Value* const> flat = call_.in.flat();
  std::vector<Value> copies;
  copies.reserve(flat.size());  // they must not move
  int slot = 0;
  for (int i = 0; i < static_cast<int>(flat.size()); ++i) {
    while (call_.in.begin_of(slot) + call_.in.count(slot) <= i) ++slot;
    const Value* v = flat[i];
    const Place where = call_.op->inputs[slot].on_host() ? CPUPlace() : place;
    if (!v || !v->is_tensor() || !v->tensor().has_data() || v->tensor().place() == where) continue;
    copies.emplace_back(CopyTo(v->tensor(), where));
    call_.in.flat_at(i) = &copies.back();
  }
  return copies;
}

void PartCall::Run() {
  const OpInfo& op = *call_.op;
  try {
    call_.in.CloseUpTo(static_cast<int>(op.inputs.size()));
    while (call_.out.slots() < static_cast<int>(op.outputs.size())) Out(nullptr);
    if (!attrs_) attrs_ = op.default_attrs;
    call_.attrs = attrs_->data();
    CheckPresent(call_, true);
    const DType dtype = KernelDType(call_);
    CheckInputs(call_, dtype);
    const Kernel* kernel = FindKernel(ctx_.place(), dtype);
    DeviceContext* device = &ctx_.device();
    std::vector<Value> copies;
    if (ctx_.place() != CPUPlace()) {
      if (!kernel) {  // the host computes this part
        kernel = FindKernel(CPUPlace(), dtype);
        device = &GetDeviceContext(CPUPlace());
      }
      copies = BringInputs(device->place());
    }
    ENFORCE(kernel, Unimplemented, "there must be a kernel for ", dtype, " on ", ctx_.place(),
            ", got kernels for ", KnownTypes(op, ctx_.place().kind));
    InferContext infer(call_, true, dtype);
    if (op.var_type_rule) op.var_type_rule(infer);
    if (op.shape_rule) op.shape_rule(infer);
    if (op.lod_from >= 0) PassLoD(call_);
    for (Value* out : call_.out.flat()) {
      if (!op.allocates || !out || !out->is_tensor()) continue;
      Tensor& t = out->MutableTensor();
      if (!t.has_data() && t.dtype() != DType::kUnset) t.AllocateData(device->place());
    }
    call_.place = device->place();
    KernelContext part(call_, *device);
    kernel->run(part);
    for (Value* out : call_.out.flat()) {
      if (!out || !out->is_tensor() || !out->tensor().has_data()) continue;
      if (out->tensor().place() != ctx_.place())
        *out = Value(CopyTo(out->tensor(), ctx_.place()));
    }
  } catch (...) {
    RethrowFor(op);
  }
}

const Value* InputOrNull(const KernelContext& ctx, int slot, int i) {
  return ctx.HasInput(slot, i) ? &ctx.InValue(slot, i) : nullptr;
}

std::vector<const Value*> Pointers(const std::vector<Value>& values) {
  std::vector<const Value*> list;
  for (const Value& v : values) list.push_back(&v);
  return list;
}

}  // namespace dygraph
