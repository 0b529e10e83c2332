// kernels/value_check.h on the device: a value that is not taken is reported (cuda/errors_cuda.h).
#pragma once

#include <cstdint>

#include "cuda/errors_cuda.h"
#include "kernels/loops.h"

namespace dygraph::kernels {

// The next call or wait throws where ok(x[i]) is false for any i in [0, n). `text` says what is
// wrong, with a '%' where the value goes; it outlives the process.
template <class T, class F>
void CheckEach(const T* x, int64_t n, F ok, const char* text) {
  const cuda::ValueReport report(text);
  ForEach(n, [=] DYGRAPH_FN(int64_t i) {
    if (!ok(x[i])) report(static_cast<double>(x[i]));
  });
}

// A divisor that was checked before: 1 in place of the 0 that was reported.
template <class T>
DYGRAPH_INLINE T CheckedDivisor(T b) {
  return b == T(0) ? T(1) : b;
}

}  // namespace dygraph::kernels
