// Special functions in the manner of math.h: branch-free, made to be vectorised. The polynomials
// are Chebyshev fits made for this file.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/math.h"
#include "kernels/special.h"

namespace dygraph::kernels {

namespace detail {

// exp(-x^2) for 0 <= x: the square of the upper half of the digits is exact, the rest is small.
DYGRAPH_INLINE float ExpOfMinusSquare(float x) {  // x <= 11
  float high = FromBits<float>(FromBits<uint32_t>(x) & 0xFFFFF000u);
  ExpParts e = ExpInParts(-high * high, -(x - high) * (x + high));
  return (1.0f + e.rise) * e.scale * kExpUnit;
}
DYGRAPH_INLINE double ExpOfMinusSquare(double x) {
  double high = FromBits<double>(FromBits<uint64_t>(x) & 0xFFFFFFFFF8000000u);
  double rest = -(x - high) * (x + high);
  return Exp(-high * high) * (1.0 + rest * (1.0 + rest * (0.5 + rest * (1.0 / 6))));
}

// |sin(pi x)| of a number that was a float
DYGRAPH_INLINE double AbsSinPi(double x) {
  double near = Clamp(x, -0x1p50, 0x1p50);  // floats out there are whole
  double from_whole = near - ((near + 0x1.8p52) - 0x1.8p52), sine, cosine;
  SinCosTurn(0.5 * Abs(from_whole), &sine, &cosine);
  return sine;
}

}  // namespace detail

// For x >= 0 exp(-x^2) / (1 + 2x) times a polynomial in (x - 3) / (x + 3), which is exact to 5e-8
// and 2e-16 of it (after Shepherd & Laframboise, Math. Comp. 36, 1981).
DYGRAPH_INLINE float Erfc(float x) {
  float t = Clamp(Abs(x), 0.0f, 11.0f);
  float y = Poly((t - 3.0f) / (t + 3.0f), 1.2530081011f, -0.13562088957f, -0.047566055929f,
                 0.12963803312f, -0.1192232942f, 0.068386560764f, -0.023982360642f,
                 0.0021757556274f, 0.0021372014978f, -0.00020591815265f);
  y = y / (1.0f + 2.0f * t) * detail::ExpOfMinusSquare(t);
  return x < 0.0f ? 2.0f - y : y;
}
DYGRAPH_INLINE double Erfc(double x) {
  double t = Clamp(Abs(x), 0.0, 28.0);
  double y = Poly((t - 3.0) / (t + 3.0), 1.253008058269729813, -0.135621106124577266,
                  -0.04756229435349815713, 0.1296451587023563556, -0.1192736634130471975,
                  0.06830802735655055744, -0.02377051495969338688, 0.002529391633518944126,
                  0.001888690727246450773, -0.0007798307921069393474, -0.0001051616086837194423,
                  0.0001250920411484349036, 4.954399835105204196e-6, -0.0000200776527031521364,
                  -7.377593183186520565e-7, 3.426499719012733579e-6, 3.556044397413476544e-7,
                  -5.593378478175355781e-7, -1.268298328717721989e-7, 6.062211737735189437e-8,
                  2.355200007838643699e-8, 6.810018769767020522e-10);
  y = y / (1.0 + 2.0 * t) * detail::ExpOfMinusSquare(t);
  return x < 0.0 ? 2.0 - y : y;
}

// x times a polynomial in w = -log(1 - x^2) below 5, in its root above (after Giles, GPU Computing
// Gems, 2011).
DYGRAPH_INLINE float ErfInv(float x) {
  float w = -Log((1.0f - x) * (1.0f + x));
  float near = Poly(0.4f * w - 1.0f, 1.5014093606f, 0.6166006975f, -0.026108705471f,
                    -0.019573849853f, 0.0085292728927f, -0.00048558786082f, -0.00084569952681f,
                    0.00028572469939f, 3.5607859982e-5f, -3.4072593509e-5f);
  float far = Poly(Sqrt(w) - 3.0f, 2.8329768252f, 1.0016748228f, 0.0094440362976f,
                   -0.0076350788717f, 0.0056967661105f, -0.0036081151312f, 0.0014608207791f,
                   -3.4681772864e-5f, -0.00029071228078f, 9.9159922156e-5f);
  return (w < 5.0f ? near : far) * x;
}

// BesselI of the orders 0 and 1, of floats: worked out in double, which vectors hold as well.
template <int order, bool scaled>
DYGRAPH_INLINE float BesselIOf(float x) {
  double t = Abs(static_cast<double>(x));
  t = t > 200.0 && !scaled ? 200.0 : t;  // the result is infinite
  double s = 0.25 * Clamp(t, 0.0, 8.0) - 1.0, u = 1.0 / (t < 8.0 ? 8.0 : t), near, far;
  if constexpr (order == 0) {
    near = Poly(s, 0.20700192369605, -0.11300432782525, 0.094515228407426, -0.089043289355171,
                0.087354040077337, -0.084967418175346, 0.079167057428344, -0.069500063176446,
                0.057325888234143, -0.043194877704784, 0.028625284356184, -0.019090664146748,
                0.014507777636495, -0.007766332662051, 0.0012403794731532, -0.00089916240619544,
                0.0019783087598818, -0.00081797254608971);
    far = Poly(u, 0.39894228034858, 0.049867839084174, 0.028041595499971, 0.029790979102165,
               0.027235367988219, 0.3728520480243, -2.1198184696849, 9.0291373214184);
  } else {
    near = t * Poly(s, 0.044687710215325, -0.061124338151521, 0.068057544917486, -0.06848258647928,
                    0.063768864481038, -0.055280563378535, 0.044659686448308, -0.033666011147289,
                    0.023761659175848, -0.015598490097259, 0.0093695028354941, -0.0054573986394636,
                    0.0033589298866078, -0.0016662365553797, 0.00041297783826618,
                    -0.00022115376803468, 0.00030702964572805, -0.00011931581510371);
    far = Poly(u, 0.39894228046206, -0.1496034171207, -0.046740702962884, -0.041560083720698,
               -0.037597722684372, -0.43065104362571, 2.3791974083733, -10.162012528272);
  }
  double y = t < 8.0 ? near : far * Sqrt(u);
  if constexpr (!scaled) y = y * Exp(t);
  return order == 1 ? CopySign(static_cast<float>(y), x) : static_cast<float>(y);
}

// LogGamma of floats, in double: Stirling's series of z + 8 less the logarithm of z (z + 1) ...
// (z + 7), or of z itself from 8 on; z is x or, below 1/2, 1 - x, and there the reflection is
// log(pi / |sin(pi x)|) - LogGamma(1 - x).
DYGRAPH_INLINE float LogGammaOf(float x) {
  double wide = Clamp(static_cast<double>(x), -1e39, 1e39);
  bool reflects = wide < 0.5, shifts;
  double z = reflects ? 1.0 - wide : wide;
  shifts = z < 8.0;
  double low = shifts ? z : 8.0;
  double product = low * (low + 7.0) * ((low + 1.0) * (low + 6.0)) *
                   ((low + 2.0) * (low + 5.0) * ((low + 3.0) * (low + 4.0)));
  product = shifts ? product : 1.0;
  double v = shifts ? z + 8.0 : z, u = 1.0 / v;
  double series = (v - 0.5) * Log(v) - v + 0.91893853320467274178 +
                  u * Poly(u * u, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188,
                           -691.0 / 360360, 1.0 / 156);
  double rest = Log(reflects ? kPi * product / detail::AbsSinPi(wide) : product);
  double y = reflects ? rest - series : series - rest;
  return (x == 1.0f) | (x == 2.0f) ? 0.0f : static_cast<float>(y);
}

// The derivative of Digamma of floats, in double: eight terms of the sum of 1 / (z + k)^2 and the
// series of the rest (DLMF 5.15.8); z is x or, below 1/2, 1 - x, and there the reflection is
// (pi / sin(pi x))^2 - Trigamma(1 - x).
DYGRAPH_INLINE float TrigammaOf(float x) {
  double wide = Clamp(static_cast<double>(x), -1e60, 1e60);
  bool reflects = wide < 0.5;
  double z = reflects ? 1.0 - wide : wide, both = 2.0 * z + 7.0;
  auto pair = [=](double k) {  // 1 / a^2 + 1 / b^2, a = z + k and b = z + 7 - k
    double product = z * (z + 7.0) + k * (7.0 - k);
    return (both * both - 2.0 * product) / (product * product);
  };
  double sum = (pair(0.0) + pair(1.0)) + (pair(2.0) + pair(3.0));
  double u = 1.0 / (z + 8.0), w = u * u;
  sum += u + 0.5 * w + u * w * Poly(w, 1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66);
  double ratio = kPi / detail::AbsSinPi(wide), y = reflects ? ratio * ratio - sum : sum;
  const float inf = std::numeric_limits<float>::infinity();
  return x == -inf ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(y);
}

}  // namespace dygraph::kernels
