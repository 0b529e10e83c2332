// One answer for a whole array.
#pragma once

#include <atomic>

#include "kernels/convert.h"
#include "kernels/parallel.h"

namespace dygraph::finiteness {

// *out: whether all elements pass P's test, or any with P::kAll false. Ends where it is certain.
template <class P, class T>
void Decide(const T* x, int64_t n, bool* out) {
  std::atomic<bool> odd{false};  // an element that decides
  ParallelFor(n, kernels::Grain(), [&odd, x](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end && !odd.load(std::memory_order_relaxed); at += 4096) {
      int64_t last = std::min(at + 4096, end);
      bool any = false;
      for (int64_t i = at; i < last; ++i)
        any |= P::F(static_cast<kernels::Wide<T>>(x[i])) != P::kAll;
      if (any) odd.store(true, std::memory_order_relaxed);
    }
  });
  *out = odd.load() != P::kAll;
}

}  // namespace dygraph::finiteness
