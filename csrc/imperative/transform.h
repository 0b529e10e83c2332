// Expected against actual: where an input lies elsewhere or in another order than the kernel wants,
// the door puts a copy in its place.
#pragma once

#include "op/op_info.h"

namespace dygraph {

class TransformedInputs {
 public:
  // Replaces inputs of `call` that do not fit; gives the order the outputs take.
  Layout Apply(Call& call, const Kernel& kernel, Place place);

 private:
  Layout ApplySlow(Call& call, const Kernel& kernel, Place place);
  void Replace(Call& call, int flat, Tensor t);
  SmallVector<Value, 2> copies_;
};

// The values on another place (its own storage), in the same order.
Tensor CopyTo(const Tensor& t, Place place);

}  // namespace dygraph
