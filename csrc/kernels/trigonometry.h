// Branch-free sin, cos, tan, their inverses, sinh and cosh for float, in the manner of math.h. What
// needs more than 24 bits on the way is worked out in double, which vectors hold as well. The
// polynomials are weighted minimax fits made for this file. Atan2 alone has a form for double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/angle_loops.h"
#include "kernels/math.h"

namespace dygraph::kernels {

namespace detail {

// x = n pi/2 + rest with |rest| <= pi/4, n known modulo 4. The first part of pi/2 has 25 bits: its
// product with n is exact.
struct Angle {
  double rest;
  uint32_t quarter;
};
DYGRAPH_INLINE Angle ReduceAngle(float x) {
  double wide = x;
  double shifted = wide * 0.636619772367581382433 + 6755399441055744.0;
  double n = shifted - 6755399441055744.0;
  double rest = (wide - n * 1.5707963109016418457) - n * 1.58932547735281960548e-08;
  return {rest, static_cast<uint32_t>(FromBits<uint64_t>(shifted))};
}

DYGRAPH_INLINE float SinOfEighth(float r, float z) {
  return r + r * z * Poly(z, -0.1666665485f, 0.008332172267f, -0.0001951647804f);
}
DYGRAPH_INLINE float CosOfEighth(float z) {
  return (1.0f - 0.5f * z) + z * z * Poly(z, 0.04166664543f, -0.001388730441f, 2.443182218e-05f);
}

// asin(u) for 0 <= u <= 1/2, z = u^2
DYGRAPH_INLINE double AsinOfHalf(double u, double z) {
  return u + u * z *
                 Poly(z, 0.16666659871818781, 0.075005109212766055, 0.044515719611347961,
                      0.031817617151182503, 0.014402583763765128, 0.037565234328724363);
}

// exp(t) / 2 = (quarter + quarter rise) * 2 for 0 <= t; `inverse` is exp(-t) / 4.
struct HalfExp {
  float quarter, rise, inverse;
};
DYGRAPH_INLINE HalfExp HalfExpOf(float t) {
  auto e = ReduceExp(t > 89.6f ? 89.6f : t);  // overflows from 89.416 on
  float rise = e.r + e.r * e.r * e.q;
  return {TwoTo(e.n - 2u), rise, TwoTo(0u - 2u - std::min(e.n, 100u)) / (1.0f + rise)};
}

}  // namespace detail

// Functions of angles: Near where |x| <= kNearAngle, Far anywhere.
struct SinOfAngle {
  static DYGRAPH_INLINE float Near(float x) {
    detail::Angle a = detail::ReduceAngle(x);
    float r = static_cast<float>(a.rest), z = r * r;
    float y = (a.quarter & 1u) ? detail::CosOfEighth(z) : detail::SinOfEighth(r, z);
    y = FromBits<float>(FromBits<uint32_t>(y) ^ ((a.quarter & 2u) << 30));
    return x == 0.0f ? x : y;
  }
  DYGRAPH_BOTH static float Far(float x) { return std::sin(x); }
};
struct CosOfAngle {
  static DYGRAPH_INLINE float Near(float x) {
    detail::Angle a = detail::ReduceAngle(x);
    float r = static_cast<float>(a.rest), z = r * r;
    float y = (a.quarter & 1u) ? detail::SinOfEighth(r, z) : detail::CosOfEighth(z);
    return FromBits<float>(FromBits<uint32_t>(y) ^ (((a.quarter + 1u) & 2u) << 30));
  }
  DYGRAPH_BOTH static float Far(float x) { return std::cos(x); }
};
struct TanOfAngle {
  static DYGRAPH_INLINE float Near(float x) {
    detail::Angle a = detail::ReduceAngle(x);
    double r = a.rest, z = r * r;
    double s = r + r * z *
                       Poly(z, -0.1666666664137075, 0.0083333293557246897, -0.00019839325004578716,
                            2.7182167725255716e-06);
    double c = 1.0 - z * (0.5 - z * Poly(z, 0.041666645434999774, -0.0013887304407738943,
                                         2.443182217616706e-05));
    bool odd = (a.quarter & 1u) != 0;
    float y = static_cast<float>((odd ? -c : s) / (odd ? s : c));
    return x == 0.0f ? x : y;
  }
  DYGRAPH_BOTH static float Far(float x) { return std::tan(x); }
};

DYGRAPH_INLINE float Asin(float x) {
  double t = Abs(static_cast<double>(x));
  double z = t > 0.5 ? 0.5 - 0.5 * t : t * t;
  double found = detail::AsinOfHalf(t > 0.5 ? Sqrt(z) : t, z);
  double y = t > 0.5 ? 1.57079632679489661923 - 2.0 * found : found;
  return CopySign(static_cast<float>(y), x);
}
DYGRAPH_INLINE double Asin(double x) { return std::asin(x); }

DYGRAPH_INLINE float Acos(float x) {
  double wide = x, t = Abs(wide);
  double z = t > 0.5 ? 0.5 - 0.5 * t : t * t;
  double found = detail::AsinOfHalf(t > 0.5 ? Sqrt(z) : t, z);
  double outer = x < 0.0f ? 3.14159265358979323846 - 2.0 * found : 2.0 * found;
  double inner = 1.57079632679489661923 - CopySign(found, wide);
  return static_cast<float>(t > 0.5 ? outer : inner);
}
DYGRAPH_INLINE double Acos(double x) { return std::acos(x); }

namespace detail {
// atan(u) for 0 <= u <= 1, to the digits of a float
DYGRAPH_INLINE double AtanOfUnit(double u) {
  double z = u * u;
  return u + u * z *
                 Poly(z, -0.33333326898970478, 0.19999671100979713, -0.14279832757778821,
                      0.11058221727191664, -0.088110839677282338, 0.067415801126656821,
                      -0.044689699829964638, 0.022539659452193175, -0.0073178579306543128,
                      0.0011137688571230002);
}
}  // namespace detail

DYGRAPH_INLINE float Atan(float x) {
  double t = Abs(static_cast<double>(x));
  bool steep = t > 1.0;
  double found = detail::AtanOfUnit(steep ? 1.0 / t : t);
  return CopySign(static_cast<float>(steep ? 1.57079632679489661923 - found : found), x);
}
DYGRAPH_INLINE double Atan(double x) { return std::atan(x); }

namespace detail {
// The angle of (x, y), given that of the nearer axis.
DYGRAPH_INLINE double InQuadrant(double angle, bool steep, double x) {
  angle = steep ? 1.57079632679489661923 - angle : angle;
  return CopySign(1.0, x) < 0.0 ? 3.14159265358979323846 - angle : angle;
}
}  // namespace detail

DYGRAPH_INLINE float Atan2(float y, float x) {
  double a = Abs(static_cast<double>(y)), b = Abs(static_cast<double>(x));
  bool steep = a > b;
  double less = steep ? b : a, more = steep ? a : b;
  double diagonal = more == 0.0 ? 0.0 : 1.0;  // of two zeros, and of what else is equal
  double found = detail::AtanOfUnit(less == more ? diagonal : less / more);
  return CopySign(static_cast<float>(detail::InQuadrant(found, steep, x)), y);
}
// Above pi/8 atan((less - more) / (less + more)) + pi/4. The polynomial is a Chebyshev fit.
DYGRAPH_INLINE double Atan2(double y, double x) {
  double a = Abs(y), b = Abs(x);
  bool steep = a > b;
  double less = steep ? b : a, more = steep ? a : b;
  double scale = more > 0x1p1000 ? 0.25 : more < 0x1p-900 ? 0x1p100 : 1.0;  // sums stay normal
  bool same = less == more;
  double diagonal = more == 0.0 ? 0.0 : 1.0;
  less = same ? diagonal : less * scale;
  more = same ? 1.0 : more * scale;
  bool above = less > 0.41421356237309503 * more;
  double u = (above ? less - more : less) / (above ? less + more : more), z = u * u;
  double found =
      u + u * z *
              Poly(z, -0.3333333333333333016, 0.1999999999999552068, -0.1428571428466654292,
                   0.1111111101525636171, -0.09090904578123901479, 0.07692183190826078738,
                   -0.06664511447381854695, 0.05858148912801507227, -0.05085449737937014722,
                   0.03923165829550329189, -0.01917688711896927817);
  found = above ? found + 0.78539816339744830962 : found;
  return CopySign(detail::InQuadrant(found, steep, x), y);
}

// An odd polynomial below 1.
DYGRAPH_INLINE float Sinh(float x) {
  float t = Abs(x), z = x * x;
  float small =
      t + t * z * Poly(z, 0.1666666649f, 0.008333350598f, 0.0001983606622f, 2.817439779e-06f);
  detail::HalfExp e = detail::HalfExpOf(t);
  float large = 2.0f * (e.quarter + (e.quarter * e.rise - e.inverse));
  return CopySign(t < 1.0f ? small : large, x);
}
DYGRAPH_INLINE double Sinh(double x) { return std::sinh(x); }

DYGRAPH_INLINE float Cosh(float x) {
  detail::HalfExp e = detail::HalfExpOf(Abs(x));
  return 2.0f * (e.quarter + (e.quarter * e.rise + e.inverse));
}
DYGRAPH_INLINE double Cosh(double x) { return std::cosh(x); }

}  // namespace dygraph::kernels
