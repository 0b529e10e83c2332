// x to the power of y, made to be vectorised: for floats exp2(y log2|x|) in double arithmetic, the
// signs and special values of C's pow by selects. Rounded from within 2^-28 of the exact value.
#pragma once

#include <cmath>

#include "kernels/math.h"

namespace dygraph::kernels {

namespace detail {

// log2(x), x not negative and no denormal: within 2^-37 of it.
DYGRAPH_INLINE double RoughLog2(double x) {
  const double inf = std::numeric_limits<double>::infinity();
  uint64_t bits = FromBits<uint64_t>(x) + (0x3FF0000000000000u - 0x3FE6A09E667F3BCDu);
  double k = FromBits<double>((bits >> 52) | 0x4330000000000000u) - 0x1p52 - 1023.0;
  double f = FromBits<double>((bits & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu) - 1.0;
  double s = f / (2.0 + f), z = s * s;
  double log2 = k + s * Poly(z, 2.8853900817901419, 0.96179667326621843, 0.57708360034515993,
                             0.41167174491567027, 0.34074899754932758);
  log2 = x == 0.0 ? -inf : log2;
  return x < inf ? log2 : x;  // inf and NaN
}

// 2^p within 2^-29 of it; outside the range of float some number outside it.
DYGRAPH_INLINE double RoughExp2(double p) {
  p = Clamp(p, -160.0, 160.0);
  double shifted = p + 6755399441055744.0, r = p - (shifted - 6755399441055744.0);
  double power =
      Poly(r, 1.0000000005585949, 0.6931472058869268, 0.24022646867806188, 0.0555032845077221,
           0.0096184904963873104, 0.0013400063313120422, 0.00015345696469815955);
  return power * TwoTo(FromBits<uint64_t>(shifted) - 0x4338000000000000u);
}

}  // namespace detail

// All in doubles: selects between numbers of one width stay free of branches.
DYGRAPH_INLINE float Pow(float base, float exponent) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  double b = static_cast<double>(base), y = static_cast<double>(exponent);
  double x = Abs(b);  // no denormals left
  double p = y * detail::RoughLog2(x);
  p = x == 1.0 ? 0.0 : p;  // y may be infinite
  // Rounding to whole numbers as in ReduceExp; beyond 2^25 floats are whole and even.
  const double magic = 6755399441055744.0;
  double near = Clamp(y, -33554432.0, 33554432.0), half = 0.5 * near;
  double whole = (near + magic) - magic, whole_half = (half + magic) - magic;
  double sign = whole_half == half ? 1.0 : CopySign(1.0, b);
  double lost = b < 0.0 ? nan : p;
  lost = b == -inf ? p : lost;
  sign = whole == near ? sign : 1.0;
  p = whole == near ? p : lost;
  p = y == y ? p : y;
  p = b == 1.0 ? 0.0 : p;
  p = y == 0.0 ? 0.0 : p;
  return static_cast<float>(detail::RoughExp2(p) * sign);
}
DYGRAPH_BOTH inline double Pow(double x, double y) { return std::pow(x, y); }

// x to the power of one finite number, for loops: what depends on that number alone is settled.
template <class T>
struct PowerOf {
  T exponent;
  explicit PowerOf(T e) : exponent(e) {}
  DYGRAPH_BOTH T operator()(T x) const { return std::pow(x, exponent); }
};
template <>
struct PowerOf<float> {
  double exponent, of_negative = 1, of_ends = 1;  // signs of negative bases and of -0 and -inf
  explicit PowerOf(float e) : exponent(static_cast<double>(e)) {
    if (exponent != std::floor(exponent)) {
      of_negative = std::numeric_limits<double>::quiet_NaN();
    } else if (std::fmod(exponent, 2) != 0) {
      of_negative = of_ends = -1;
    }
  }
  DYGRAPH_INLINE float operator()(float base) const {
    double b = static_cast<double>(base), x = Abs(b);
    double sign = x == 0.0 ? of_ends : of_negative;
    sign = x == std::numeric_limits<double>::infinity() ? of_ends : sign;
    sign = CopySign(1.0, b) < 0.0 ? sign : 1.0;
    return static_cast<float>(detail::RoughExp2(exponent * detail::RoughLog2(x)) * sign);
  }
};

}  // namespace dygraph::kernels
