// x to the power of y, made to be vectorised: for floats exp2(y log2|x|) in double arithmetic, the
// signs and special values of C's pow by selects. Rounded from within 2^-28 of the exact value.
#pragma once

#include <cmath>

#include "kernels/math.h"

namespace dygraph::kernels {

// All in doubles: selects between numbers of one width stay free of branches.
DYGRAPH_INLINE float Pow(float base, float exponent) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  double b = static_cast<double>(base), y = static_cast<double>(exponent);
  double x = Abs(b);  // no denormals left
  uint64_t bits = FromBits<uint64_t>(x) + (0x3FF0000000000000u - 0x3FE6A09E667F3BCDu);
  double k = FromBits<double>((bits >> 52) | 0x4330000000000000u) - 0x1p52 - 1023.0;
  double f = FromBits<double>((bits & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu) - 1.0;
  double s = f / (2.0 + f), z = s * s;
  double log2 = k + s * Poly(z, 2.8853900817901419, 0.96179667326621843, 0.57708360034515993,
                             0.41167174491567027, 0.34074899754932758);
  log2 = x == 0.0 ? -inf : log2;
  log2 = x < inf ? log2 : x;  // inf and NaN
  double p = y * log2;
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
  p = Clamp(p, -160.0, 160.0);  // well outside the range of float
  double shifted = p + magic, r = p - (shifted - magic);
  double power =
      Poly(r, 1.0000000005585949, 0.6931472058869268, 0.24022646867806188, 0.0555032845077221,
           0.0096184904963873104, 0.0013400063313120422, 0.00015345696469815955);
  double scale = detail::TwoTo(FromBits<uint64_t>(shifted) - 0x4338000000000000u);
  return static_cast<float>(power * scale * sign);
}
inline double Pow(double x, double y) { return std::pow(x, y); }

}  // namespace dygraph::kernels
