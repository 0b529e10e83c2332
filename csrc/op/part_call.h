// A fused operator computes as the operators it stands for: its kernel calls theirs, on the same
// device, one after another. The host computes a part that has no kernel there.
//
//   Value product;
//   PartCall(ctx, "matmul_v2").In(ctx.InValue(kX)).In(ctx.InValue(kY)).Out(&product).Run();
//   PartCall(ctx, "relu").In(product).Out(&ctx.OutValue(kOut)).Run();
//
// Slots are given in the order in which the part declares them; trailing ones may be left out. The
// fused operator says KernelAllocates(), since its parts make the outputs.
#pragma once

#include <string>
#include <vector>

#include "op/op_info.h"

namespace dygraph {

class PartCall {
 public:
  PartCall(KernelContext& ctx, const char* type);
  PartCall& In(const Value& v);  // the next input
  PartCall& In(const std::vector<const Value*>& list);
  PartCall& In(const Value* v);  // nullptr: this call leaves it out
  PartCall& Out(Value* v);       // the next output; nullptr: made, and dropped
  PartCall& Attr(const char* name, const AttrValue& value);
  // Checks the inputs, finds the shapes, allocates the outputs, computes.
  void Run();

 private:
  const Kernel* FindKernel(Place place, DType dtype) const;
  std::vector<Value> BringInputs(Place place);

  KernelContext& ctx_;
  Call call_;
  Ref<Attrs> attrs_;
  Value dropped_[kMaxSlots];
};

// An input of the fused operator, or nullptr.
const Value* InputOrNull(const KernelContext& ctx, int slot, int i = 0);
std::vector<const Value*> Pointers(const std::vector<Value>& values);

}  // namespace dygraph
