// Integer arithmetic that wraps as NumPy's does: signed overflow would be undefined behaviour.
#pragma once

#include <type_traits>

#include "kernels/simd.h"

namespace dygraph::kernels {

namespace detail {
// int and wider; narrower types are computed as int, which holds their results.
template <class T>
constexpr bool kMayOverflow =
    std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) >= sizeof(int);
template <class T>
using Bits =
    typename std::conditional_t<kMayOverflow<T>, std::make_unsigned<T>, std::common_type<T>>::type;
}  // namespace detail

template <class T>
DYGRAPH_INLINE T Plus(T a, T b) {
  return static_cast<T>(static_cast<detail::Bits<T>>(a) + static_cast<detail::Bits<T>>(b));
}
template <class T>
DYGRAPH_INLINE T Minus(T a, T b) {
  return static_cast<T>(static_cast<detail::Bits<T>>(a) - static_cast<detail::Bits<T>>(b));
}
template <class T>
DYGRAPH_INLINE T Times(T a, T b) {
  return static_cast<T>(static_cast<detail::Bits<T>>(a) * static_cast<detail::Bits<T>>(b));
}

}  // namespace dygraph::kernels
