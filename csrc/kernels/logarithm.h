// Logarithms to base 2 and 10, in the manner of math.h.
#pragma once

#include "kernels/math.h"

namespace dygraph::kernels {

namespace detail {

// x = 2^k (1 + head + tail) and log(1 + head + tail) = head + (tail - less): what is `less` is
// small next to head, and head has half the bits of the type, so that its product with a constant
// as short is exact.
struct LogFloat {
  float k, head, tail, less;
};
DYGRAPH_INLINE LogFloat ReduceLog(float x) {
  bool tiny = x < 1.17549435e-38f;
  float scaled = tiny ? x * 8388608.0f : x;
  uint32_t bits = FromBits<uint32_t>(scaled) + (0x3F800000u - 0x3F3504F3u);
  float k = static_cast<float>(static_cast<int32_t>(bits >> 23)) - (tiny ? 150.0f : 127.0f);
  float f = FromBits<float>((bits & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f;
  float s = f / (2.0f + f), z = s * s;
  float rest = z * Poly(z, 0.6666666564f, 0.4000033781f, 0.2853713082f, 0.2358545075f);
  float half = 0.5f * f * f;
  float head = FromBits<float>(FromBits<uint32_t>(f) & 0xFFFFF000u);
  return {k, head, f - head, half - s * (half + rest)};
}

struct LogDouble {
  double k, head, tail, less;
};
DYGRAPH_INLINE LogDouble ReduceLog(double x) {
  bool tiny = x < 2.2250738585072014e-308;
  double scaled = tiny ? x * 18014398509481984.0 : x;
  uint64_t bits = FromBits<uint64_t>(scaled) + (0x3FF0000000000000u - 0x3FE6A09E667F3BCDu);
  double k =
      FromBits<double>((bits >> 52) | 0x4330000000000000u) - 0x1p52 - (tiny ? 1077.0 : 1023.0);
  double f = FromBits<double>((bits & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu) - 1.0;
  double s = f / (2.0 + f), z = s * s;
  double rest = z * Poly(z, 0.6666666666666735479, 0.3999999999940843066, 0.2857142874369979975,
                         0.2222219844017939209, 0.1818357130420956085, 0.1531386840772904824,
                         0.1479781863293527869);
  double half = 0.5 * f * f;
  double head = FromBits<double>(FromBits<uint64_t>(f) & 0xFFFFFFFFF8000000u);
  return {k, head, f - head, half - s * (half + rest)};
}

// The logarithm of x that `y` is for numbers above 0 that are finite.
template <class T>
DYGRAPH_INLINE T LogAtEnds(T x, T y) {
  const T inf = std::numeric_limits<T>::infinity();
  y = x < inf ? y : x;
  y = x == T(0) ? -inf : y;
  return x < T(0) ? std::numeric_limits<T>::quiet_NaN() : y;
}

}  // namespace detail

// 1 / log(2) in two parts.
DYGRAPH_INLINE float Log2(float x) {
  auto e = detail::ReduceLog(x);
  float low = (e.tail - e.less) * 1.44269504f + e.head * 0.000312228389f;
  return detail::LogAtEnds(x, e.k + (e.head * 1.44238281f + low));
}
DYGRAPH_INLINE double Log2(double x) {
  auto e = detail::ReduceLog(x);
  double low = (e.tail - e.less) * 1.4426950408889634 + e.head * 1.9259629911266175e-08;
  return detail::LogAtEnds(x, e.k + (e.head * 1.4426950216293335 + low));
}

// 1 / log(10) and log10(2) in two parts each.
DYGRAPH_INLINE float Log10(float x) {
  auto e = detail::ReduceLog(x);
  float low = (e.tail - e.less) * 0.434294482f + (e.head * 9.03803408e-05f + e.k * 4.60503898e-06f);
  return detail::LogAtEnds(x, e.k * 0.301025391f + (e.head * 0.434204102f + low));
}
DYGRAPH_INLINE double Log10(double x) {
  auto e = detail::ReduceLog(x);
  double low = (e.tail - e.less) * 0.43429448190325182 +
               (e.head * 4.7981111416159728e-09 + e.k * 1.4205023227266099e-13);
  return detail::LogAtEnds(x, e.k * 0.30102999566383914 + (e.head * 0.43429447710514069 + low));
}

}  // namespace dygraph::kernels
