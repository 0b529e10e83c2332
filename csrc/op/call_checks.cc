#include "op/call_checks.h"

#include "base/standard_errors.h"
#include "platform/backend.h"

namespace dygraph {

namespace {

void RequireSlot(const SlotInfo& slot) {
  ENFORCE(slot.dispensable(), InvalidArgument, "Input(", slot.name, ") must be given, got nothing");
}

[[noreturn]] void FailKind(const Call& call, size_t slot, int i, const Value& v, bool runtime) {
  const SlotInfo& s = call.op->inputs[slot];
  if (v.empty()) {
    const std::string* name = NameOfInput(call, static_cast<int>(slot), i);
    std::string variable = name ? "the variable '" + *name + "'" : "it";
    ENFORCE(runtime, InvalidArgument, "Input(", s.name, ") must have a shape and a type, but ",
            variable,
            " declares none. Give create_var both, and both functions of cond the same type and "
            "rank");
    THROW(PreconditionNotMet, "Input(", s.name,
          ") must hold a value, but nothing has been written to ", variable,
          ". In a program, run the startup program first: exe.run(startup_program), after "
          "optimizer.minimize");
  }
  ENFORCE(!v.is_rows(), Type, "Input(", s.name, ") must be a tensor, got selected rows of shape ",
          v.dims(), ". Convert with to_dense(), or make no sparse gradient (is_sparse=False)");
  THROW(Type, "Input(", s.name, ") must be a tensor, got a ", Name(v.kind()),
        v.is_array() ? ". Read an element of it with read_from_array(), layers.array_read()" : "");
}

// A program may run on any device: it is refused where no kernel has the type.
void CheckKernelExists(const OpInfo& op, DType dtype) {
  if (dtype == DType::kUnset || op.kernels.empty()) return;
  for (const Kernel& k : op.kernels) {
    if (k.key.dtype == dtype) return;
  }
  THROW(Unimplemented, "there must be a kernel for ", dtype, ", got kernels for ",
        KnownTypes(op, op.kernels[0].key.device), ". Convert the inputs with layers.cast()");
}

}  // namespace

void CheckPresent(const Call& call, bool runtime) {
  const OpInfo& op = *call.op;
  for (size_t s = 0; s < op.inputs.size(); ++s) {
    int count = call.in.count(static_cast<int>(s));
    if (__builtin_expect(count == 0, 0)) RequireSlot(op.inputs[s]);
    for (int i = 0; i < count; ++i) {
      const Value* v = call.in.at(static_cast<int>(s), i);
      if (__builtin_expect(v && v->empty(), 0) && !(runtime && op.inputs[s].may_be_unwritten()))
        FailKind(call, s, i, *v, runtime);
    }
  }
}

DType KernelDType(const Call& call) {
  const OpInfo& op = *call.op;
  if (op.kernel_dtype) return op.kernel_dtype(call);
  bool arrays = false;  // those that hold nothing have no type
  for (const Value* v : call.in.flat()) {
    if (v && !(v->is_array() && v->dtype() == DType::kUnset)) return v->dtype();
    arrays |= v != nullptr;
  }
  if (arrays) return DType::kFloat32;
  THROW(PreconditionNotMet,
        "the element type of a call without inputs must follow from its attributes");
}

void CheckInputs(const Call& call, DType dtype) {
  const OpInfo& op = *call.op;
  for (size_t s = 0; s < op.inputs.size(); ++s) {
    for (int i = 0; i < call.in.count(static_cast<int>(s)); ++i) {
      const Value* v = call.in.at(static_cast<int>(s), i);
      if (!v) continue;
      if (__builtin_expect(!v->is_tensor(), 0)) {
        if (v->empty()) continue;  // CheckPresent let it pass
        if (!op.inputs[s].Takes(v->kind())) FailKind(call, s, i, *v, true);
        if (!v->is_rows()) continue;
      }
      if (__builtin_expect(v->dtype() != dtype && !op.mixed_dtypes, 0)) {
        if (op.inputs[s].wide() && v->dtype() == WideOf(dtype)) continue;
        THROW(Type, "the inputs must have one element type, ", dtype, " here, got ", v->dtype(),
              " for Input(", op.inputs[s].name, "). Convert with astype()");
      }
    }
  }
}

namespace {
bool IsHost(Place place) {
  return place.kind == DeviceKind::kCPU || place.kind == DeviceKind::kCUDAPinned;
}
}  // namespace

Place PlaceOf(const Call& call) {
  bool on_host = false;
  if (!g_has_devices.load(std::memory_order_relaxed)) {
    for (const Value* v : call.in.flat()) on_host = on_host || (v && !v->empty());
    return on_host ? CPUPlace() : call.place;
  }
  for (size_t s = 0; s < call.op->inputs.size(); ++s) {
    if (call.op->inputs[s].on_host()) continue;
    for (int i = 0; i < call.in.count(static_cast<int>(s)); ++i) {
      const Value* v = call.in.at(static_cast<int>(s), i);
      if (!v || v->empty()) continue;
      const Place place = v->place();
      if (!IsHost(place)) return place;
      on_host = true;
    }
  }
  return on_host ? CPUPlace() : call.place;
}

std::string KnownTypes(const OpInfo& op, DeviceKind device) {
  std::string known;
  for (const Kernel& k : op.kernels) {
    std::string name = Name(k.key.dtype);
    if (k.key.device == device && (", " + known + ",").find(" " + name + ",") == std::string::npos)
      known += (known.empty() ? "" : ", ") + name;
  }
  return known.empty() ? "no type there" : known + " only";
}

void InferOutputs(Call& call) {
  const OpInfo& op = *call.op;
  try {
    CheckPresent(call, false);
    DType dtype = KernelDType(call);
    CheckInputs(call, dtype);
    CheckKernelExists(op, dtype);
    InferContext infer(call, false, dtype);
    if (op.var_type_rule) op.var_type_rule(infer);
    if (op.shape_rule) op.shape_rule(infer);
  } catch (...) {
    RethrowFor(op);
  }
}

void RethrowFor(const OpInfo& op) {
  try {
    RethrowTyped();
  } catch (Error& e) {
    e.AddOperator(op.type);
    throw;
  }
}

}  // namespace dygraph
