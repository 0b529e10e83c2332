// Values that a kernel does not take, such as a divisor of 0.
#pragma once

#include <cstdint>
#include <string>

#include "base/enforce.h"
#include "kernels/simd.h"

namespace dygraph::kernels {

// Throws where ok(x[i]) is false for any i in [0, n). `text` says what is wrong, with a '%' where
// the value goes. On a device the error comes with a later call (csrc/cuda/kernels/value_check.h).
template <class T, class F>
void CheckEach(const T* x, int64_t n, F ok, const char* text) {
  for (int64_t i = 0; i < n; ++i) {
    if (__builtin_expect(ok(x[i]), 1)) continue;
    std::string message = text;
    message.replace(message.find('%'), 1, std::to_string(x[i]));
    THROW(InvalidArgument, message);
  }
}

// A divisor that was checked before.
template <class T>
DYGRAPH_INLINE T CheckedDivisor(T b) {
  return b;
}

}  // namespace dygraph::kernels
