// One value as another element type.
//
// Floats become integers towards zero; what does not fit saturates and NaN gives 0, so that the
// result is defined on every machine. Integers wrap as in C. bool is "not zero". A real number
// becomes a complex one without imaginary part; the way back is refused, since it would drop one.
#pragma once

#include <limits>
#include <type_traits>

#include "kernels/simd.h"
#include "tensor/dtype.h"

namespace dygraph::kernels {

namespace detail {
template <class T>
constexpr bool kIsHalf = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
}

// The type in which numbers of type T are computed with: float of 16-bit floats.
template <class T>
using Wide = std::conditional_t<detail::kIsHalf<T>, float, T>;

namespace detail {

// The float on the way from a double to 16 bits. Rounding twice would err at ties, so inexact
// values become the neighbour whose last bit is 1, which no tie has.
DYGRAPH_INLINE float RoundToOdd(double v) {
  float f = static_cast<float>(v);
  uint32_t bits = dygraph::detail::BitsOf(f);
  double magnitude = v < 0 ? -v : v, rounded = f < 0 ? -f : f;
  if (magnitude != rounded && v == v && !(bits & 1)) bits += rounded < magnitude ? 1 : -1;
  return dygraph::detail::FloatOf(bits);
}

template <class To, class From>
DYGRAPH_INLINE To ToInteger(From v) {
  constexpr bool kExact = std::numeric_limits<From>::digits >= std::numeric_limits<To>::digits;
  constexpr From kLow = static_cast<From>(std::numeric_limits<To>::min());
  // The first value above the range, a power of two, and the last one within it.
  constexpr From kAbove = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
  constexpr From kHigh = kExact ? static_cast<From>(std::numeric_limits<To>::max())
                                : kAbove * (1 - std::numeric_limits<From>::epsilon() / 2);
  From inside = v > kLow ? v : kLow;  // a NaN becomes the lowest value here and 0 below
  inside = inside < kHigh ? inside : kHigh;
  To r = static_cast<To>(inside);
  r = v >= kAbove ? std::numeric_limits<To>::max() : r;
  return v == v ? r : To(0);
}

}  // namespace detail

template <class To, class From>
DYGRAPH_INLINE To Convert(From v) {
  if constexpr (kIsComplex<From>) {
    static_assert(kIsComplex<To> || std::is_same_v<To, bool>, "a complex number has two parts");
    if constexpr (kIsComplex<To>)
      return To(v);
    else
      return v != From(0);
  } else if constexpr (kIsComplex<To>) {
    return To(Convert<typename To::value_type>(v));
  } else if constexpr (detail::kIsHalf<From>) {
    return Convert<To>(static_cast<float>(v));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (detail::kIsHalf<To>) {
    if constexpr (sizeof(From) == 8) return To(detail::RoundToOdd(static_cast<double>(v)));
    return To(static_cast<float>(v));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return detail::ToInteger<To>(v);
  } else {
    return static_cast<To>(v);
  }
}

}  // namespace dygraph::kernels
