// Conversion of inputs: an input on another place or in another order than the kernel takes is
// replaced by a copy during the call.
#pragma once

#include "op/op_info.h"

namespace dygraph {

// Whether the host reads some inputs, wherever the others lie.
bool ReadsOnHost(const OpInfo& op);

class TransformedInputs {
 public:
  // Replaces inputs of `call` that do not fit; gives the order the outputs take.
  Layout Apply(Call& call, const Kernel& kernel, Place place);

 private:
  Layout ApplySlow(Call& call, const Kernel& kernel, Place place);
  void Replace(Call& call, int flat, Value value);
  SmallVector<Value, 2> copies_;
};

// Inputs of calls on a CUDA device that lay elsewhere, and inputs on it of calls that the host
// computed, since the process began.
int64_t MovedInputs(Place place);

}  // namespace dygraph
