// The view of a call for an operator's functions: InferContext in shape rules, KernelContext in
// kernels.
#pragma once

#include "op/call.h"
#include "platform/device_context.h"
#include "tensor/scratch.h"

namespace dygraph {

// PreconditionNotMet naming the slot: an operator read an input, or wrote an output, that this call
// leaves out.
[[noreturn]] void FailAbsent(const Call& call, bool input, int slot, int i);

// Shape rules run when a program is built (sizes may be -1) and when a call runs (they are real).
// The same function serves both: it skips a check that involves -1, and arithmetic with -1 gives
// -1.
class InferContext {
 public:
  InferContext(Call& call, bool runtime, DType default_dtype)
      : call_(call), runtime_(runtime), default_dtype_(default_dtype) {}

  bool runtime() const { return runtime_; }
  bool HasInput(int slot) const { return call_.in.count(slot) > 0; }
  bool HasOutput(int slot, int i = 0) const { return call_.out.at(slot, i) != nullptr; }
  int InputCount(int slot) const { return call_.in.count(slot); }
  int OutputCount(int slot) const { return call_.out.count(slot); }
  // Selected rows answer with their complete shape.
  const Dims& dims(int slot, int i = 0) const {
    const Value& v = value(slot, i);
    return v.is_rows() ? v.rows().complete_dims() : v.tensor().dims();
  }
  int rank(int slot, int i = 0) const { return dims(slot, i).rank(); }
  DType dtype(int slot, int i = 0) const { return value(slot, i).dtype(); }
  const Value& value(int slot, int i = 0) const {
    const Value* v = call_.in.at(slot, i);
    if (__builtin_expect(!v, 0)) FailAbsent(call_, true, slot, i);
    return *v;
  }
  template <class A>
  const A& attrs() const {
    return *static_cast<const A*>(call_.attrs);
  }

  // The output's shape; its type is the kernel's unless said. Unwanted outputs are skipped.
  void SetOutput(int slot, const Dims& dims, DType dtype = DType::kUnset) {
    SetOutputAt(slot, 0, dims, dtype);
  }
  void SetOutputAt(int slot, int i, const Dims& dims, DType dtype = DType::kUnset) {
    Value* out = call_.out.at(slot, i);
    if (out) out->MutableTensor().SetMeta(dims, dtype == DType::kUnset ? default_dtype_ : dtype);
  }
  Call& call() { return call_; }

 private:
  Call& call_;
  bool runtime_;
  DType default_dtype_;
};

// a + b, a * b of sizes that may be unknown.
inline int64_t AddSizes(int64_t a, int64_t b) { return a < 0 || b < 0 ? -1 : a + b; }
inline int64_t MulSizes(int64_t a, int64_t b) { return a < 0 || b < 0 ? -1 : a * b; }
inline bool BothKnown(int64_t a, int64_t b) { return a >= 0 && b >= 0; }

class KernelContext {
 public:
  KernelContext(Call& call, DeviceContext& device) : call_(call), device_(device) {}

  bool HasInput(int slot, int i = 0) const { return call_.in.at(slot, i) != nullptr; }
  bool HasOutput(int slot, int i = 0) const { return call_.out.at(slot, i) != nullptr; }
  int InputCount(int slot) const { return call_.in.count(slot); }
  int OutputCount(int slot) const { return call_.out.count(slot); }
  // TypeError when the slot holds selected rows: they are never silently narrowed to their values.
  const Tensor& In(int slot, int i = 0) const { return InValue(slot, i).tensor(); }
  const Tensor* InOrNull(int slot, int i = 0) const {
    const Value* v = call_.in.at(slot, i);
    return v ? &v->tensor() : nullptr;
  }
  bool IsRows(int slot, int i = 0) const { return InValue(slot, i).is_rows(); }
  const SelectedRows& InRows(int slot, int i = 0) const { return InValue(slot, i).rows(); }
  const Value& InValue(int slot, int i = 0) const {
    const Value* v = call_.in.at(slot, i);
    if (__builtin_expect(!v, 0)) FailAbsent(call_, true, slot, i);
    return *v;
  }
  // Allocated by the shape rule, in the layout of the kernel.
  Tensor& Out(int slot, int i = 0) { return OutValue(slot, i).MutableTensor(); }
  Tensor* OutOrNull(int slot, int i = 0) {
    Value* v = call_.out.at(slot, i);
    return v ? &v->MutableTensor() : nullptr;
  }
  Value& OutValue(int slot, int i = 0) {
    Value* v = call_.out.at(slot, i);
    if (__builtin_expect(!v, 0)) FailAbsent(call_, false, slot, i);
    return *v;
  }

  template <class A>
  const A& attrs() const {
    return *static_cast<const A*>(call_.attrs);
  }
  DeviceContext& device() { return device_; }
  Place place() const { return device_.place(); }
  Scratch Workspace(size_t bytes) { return Scratch(place(), bytes); }
  // Seed and stream of this call's random numbers; an operator's own `seed` attribute replaces the
  // first.
  uint64_t random_seed() const { return call_.random_seed; }
  uint64_t random_stream() const { return call_.random_stream; }
  const Call& call() const { return call_; }

 private:
  Call& call_;
  DeviceContext& device_;
};

}  // namespace dygraph
