// Values that a kernel does not take, such as a divisor of 0.
#pragma once

#include <cstdint>
#include <sstream>
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
    const std::string message = text;
    const size_t at = message.find('%');
    std::ostringstream all;
    all << message.substr(0, at) << x[i] << " at position " << i << message.substr(at + 1);
    throw Error(ErrorKind::InvalidArgument, all.str());
  }
}

// A divisor that was checked before.
template <class T>
DYGRAPH_INLINE T CheckedDivisor(T b) {
  return b;
}

}  // namespace dygraph::kernels
