// Lines along an axis, and numbers whose order is that of the elements. A NaN counts as greater
// than all numbers.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/simd.h"
#include "op/op_registry.h"

namespace dygraph::sorting {

// Elements of an axis lie `inner` apart, lines side by side. A 0-d tensor is a line of one.
struct Lines {
  int64_t outer = 1, n = 1, inner = 1;
  Lines(const Dims& x, int64_t axis) {
    if (x.empty()) return;
    int a = NormalizeAxis(axis, x.rank());
    outer = Numel(x, 0, a);
    n = x[a];
    inner = Numel(x, a + 1, x.rank());
  }
  DYGRAPH_INLINE int64_t count() const { return outer * inner; }
  // First element of a line where the axis has `size` elements.
  DYGRAPH_INLINE int64_t Begin(int64_t line, int64_t size) const {
    return line / inner * size * inner + line % inner;
  }
};

// A number whose order as an unsigned one is that of the values, NaN last.
template <class T>
DYGRAPH_BOTH inline auto OrderKey(T v) {
  using K = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  constexpr K kSign = K(1) << (8 * sizeof(K) - 1);
  if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
    return static_cast<K>(static_cast<Wide>(v)) ^ kSign;
  } else {
    if (v != v) return ~K(0);
    K bits;
    std::memcpy(&bits, &v, sizeof(T));
    bits = v == 0 ? K(0) : bits;  // -0 is 0
    return bits & kSign ? ~bits : bits ^ kSign;
  }
}

template <class T>
using KeyOf = decltype(OrderKey(T()));

}  // namespace dygraph::sorting
