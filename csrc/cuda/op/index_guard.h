// op/index_guard.h on the device.
#pragma once

#include "cuda/errors_cuda.h"
#include "op/op_registry.h"

namespace dygraph {

template <class F>
void CheckEach(int64_t, F) {}

class IndexGuard : public cuda::IndexGuard {
 public:
  IndexGuard(const KernelContext& ctx, int slot, int64_t bound, bool from_end = false)
      : cuda::IndexGuard({ctx.call().op->type.c_str(), ctx.call().op->inputs[slot].name.c_str()},
                         bound, from_end) {
    ENFORCE(bound > 0 || ctx.In(slot).numel() == 0, OutOfRange, ctx.call().op->inputs[slot].name,
            " must lie in [0, 0), got ", ctx.In(slot).numel(), " numbers");
  }
};

}  // namespace dygraph
