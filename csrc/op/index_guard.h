// Indices that loops read from an input. The host looks at all of them before the loop, and raises;
// a device does so within the loop (csrc/cuda/op/index_guard.h), where a bad one is reported, 0
// stands for it, and the next call raises.
//
//   CheckEach(n, [=](int64_t i) { ENFORCE(ids[i] >= 0 && ids[i] < depth, OutOfRange, ...); });
//   const IndexGuard guard(ctx, kX, depth);
//   kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) { y[i * depth + guard(ids[i])] = 1; });
#pragma once

#include "op/op_registry.h"

namespace dygraph {

// f(i) for every i in [0, n), in order: the checks of the host, with its messages.
template <class F>
void CheckEach(int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i) f(i);
}

// The indices of input `slot`, which lie in [0, bound), or [-bound, bound) with `from_end`, as
// indices from 0 up.
class IndexGuard {
 public:
  IndexGuard(const KernelContext&, int /*slot*/, int64_t bound, bool from_end = false)
      : add_(from_end ? bound : 0) {}
  int64_t operator()(int64_t i) const { return i < 0 ? i + add_ : i; }

 private:
  int64_t add_;
};

}  // namespace dygraph
