// What a reduction does with its elements.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/convert.h"
#include "kernels/integer.h"
#include "kernels/simd.h"

namespace dygraph::kernels {

// A reduction: elements are combined in Lanes (vectorised, short runs; Fold joins two), lanes in
// Totals, and Finish gives the output. kCheap: Add is one instruction.
template <class T>
struct SumOp {
  using In = T;
  using Lane = std::conditional_t<std::is_integral_v<T>, int64_t, Wide<T>>;
  using Total = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
  static constexpr Lane kInit = 0;
  static constexpr bool kCheap = true;
  DYGRAPH_INLINE static Lane Add(Lane a, T x) { return Plus<Lane>(a, x); }
  DYGRAPH_INLINE static Lane Fold(Lane a, Lane b) { return Plus(a, b); }
  DYGRAPH_INLINE static Total Merge(Total a, Total b) { return Plus(a, b); }
  DYGRAPH_INLINE static Total Finish(Total a, int64_t) { return a; }
};
template <class T>
struct MeanOp : SumOp<T> {
  using typename SumOp<T>::Total;
  DYGRAPH_INLINE static Total Finish(Total a, int64_t n) {
    if constexpr (std::is_integral_v<T>) return n == 0 ? 0 : a / n;
    return a / static_cast<Total>(n);
  }
};
// Sum of f(x).
template <class T, class F>
struct SumOfOp : SumOp<T> {
  using typename SumOp<T>::Lane;
  DYGRAPH_INLINE static Lane Add(Lane a, T x) { return Plus<Lane>(a, F()(x)); }
};
template <class T>
struct ProdOp {
  using In = T;
  using Lane = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
  using Total = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
  static constexpr Lane kInit = 1;
  static constexpr bool kCheap = true;
  DYGRAPH_INLINE static Lane Add(Lane a, T x) { return Times<Lane>(a, x); }
  DYGRAPH_INLINE static Lane Fold(Lane a, Lane b) { return Times(a, b); }
  DYGRAPH_INLINE static Total Merge(Total a, Total b) { return Times(a, b); }
  DYGRAPH_INLINE static Total Finish(Total a, int64_t) { return a; }
};
// NaN wins.
template <class T>
struct MaxOp {
  using In = T;
  using Lane = T;
  using Total = T;
  static constexpr T kInit = std::numeric_limits<T>::has_infinity
                                 ? -std::numeric_limits<T>::infinity()
                                 : std::numeric_limits<T>::lowest();
  static constexpr bool kCheap = false;
  DYGRAPH_INLINE static T Add(T a, T x) {
    T m = a > x ? a : x;  // x where either is NaN
    return a != a ? a : m;
  }
  DYGRAPH_INLINE static T Fold(T a, T b) { return Add(a, b); }
  DYGRAPH_INLINE static T Merge(T a, T b) { return Add(a, b); }
  DYGRAPH_INLINE static T Finish(T a, int64_t) { return a; }
};
template <class T>
struct MinOp {
  using In = T;
  using Lane = T;
  using Total = T;
  static constexpr T kInit = std::numeric_limits<T>::has_infinity
                                 ? std::numeric_limits<T>::infinity()
                                 : std::numeric_limits<T>::max();
  static constexpr bool kCheap = false;
  DYGRAPH_INLINE static T Add(T a, T x) {
    T m = a < x ? a : x;
    return a != a ? a : m;
  }
  DYGRAPH_INLINE static T Fold(T a, T b) { return Add(a, b); }
  DYGRAPH_INLINE static T Merge(T a, T b) { return Add(a, b); }
  DYGRAPH_INLINE static T Finish(T a, int64_t) { return a; }
};
template <class T>
struct AnyOp {
  using In = T;
  using Lane = uint8_t;
  using Total = uint8_t;
  static constexpr Lane kInit = 0;
  static constexpr bool kCheap = true;
  DYGRAPH_INLINE static Lane Add(Lane a, T x) { return a | static_cast<Lane>(x != T(0)); }
  DYGRAPH_INLINE static Lane Fold(Lane a, Lane b) { return a | b; }
  DYGRAPH_INLINE static Total Merge(Total a, Total b) { return a | b; }
  DYGRAPH_INLINE static Total Finish(Total a, int64_t) { return a; }
};
template <class T>
struct AllOp {
  using In = T;
  using Lane = uint8_t;
  using Total = uint8_t;
  static constexpr Lane kInit = 1;
  static constexpr bool kCheap = true;
  DYGRAPH_INLINE static Lane Add(Lane a, T x) { return a & static_cast<Lane>(x != T(0)); }
  DYGRAPH_INLINE static Lane Fold(Lane a, Lane b) { return a & b; }
  DYGRAPH_INLINE static Total Merge(Total a, Total b) { return a & b; }
  DYGRAPH_INLINE static Total Finish(Total a, int64_t) { return a; }
};

}  // namespace dygraph::kernels
