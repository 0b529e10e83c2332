// Branch-free exp, log, tanh, sigmoid, erf and friends for float and double, made to be vectorised:
// plain arithmetic, selects and bit moves that SSE2, AVX2 and AVX-512 all have. Within a few units
// in the last place, exact for NaN, infinities, zeros, denormals and overflow. The polynomials are
// weighted minimax fits made for this file.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/simd.h"

namespace dygraph::kernels {

template <class To, class From>
DYGRAPH_INLINE To FromBits(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To y;
  std::memcpy(&y, &x, sizeof y);
  return y;
}

// c0 + c1 x + c2 x^2 + ...
template <class T>
DYGRAPH_INLINE T Poly(T, T c0) {
  return c0;
}
template <class T, class... Rest>
DYGRAPH_INLINE T Poly(T x, T c0, Rest... rest) {
  return c0 + x * Poly(x, static_cast<T>(rest)...);
}

DYGRAPH_INLINE float Sqrt(float x) { return __builtin_sqrtf(x); }
DYGRAPH_INLINE double Sqrt(double x) { return __builtin_sqrt(x); }
DYGRAPH_INLINE float Rsqrt(float x) { return 1.0f / Sqrt(x); }
DYGRAPH_INLINE double Rsqrt(double x) { return 1.0 / Sqrt(x); }
DYGRAPH_INLINE float Abs(float x) { return __builtin_fabsf(x); }
DYGRAPH_INLINE double Abs(double x) { return __builtin_fabs(x); }
DYGRAPH_INLINE float CopySign(float x, float s) { return __builtin_copysignf(x, s); }
DYGRAPH_INLINE double CopySign(double x, double s) { return __builtin_copysign(x, s); }
// NaN stays NaN: the comparisons are false.
template <class T>
DYGRAPH_INLINE T Clamp(T x, T low, T high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

namespace detail {

// x = n ln2 + r with |r| <= ln2 / 2; expm1(r) = r + r^2 q. Adding 1.5 * 2^mantissa rounds to an
// integer whose value stands in the low bits: there is no other conversion to 64-bit integers below
// AVX-512.
struct ExpFloat {
  float r, q;
  uint32_t n;  // two's complement
};
DYGRAPH_INLINE ExpFloat ReduceExp(float x) {
  float shifted = x * 1.442695041f + 12582912.0f;
  float n = shifted - 12582912.0f;
  float r = x - n * 0.693145752f;
  r = r - n * 1.428606765e-6f;
  float q = Poly(r, 0.5000000078f, 0.1666666684f, 0.04166627069f, 0.008333268484f, 0.001394601854f,
                 0.0001991617462f);
  return {r, q, FromBits<uint32_t>(shifted) - 0x4B400000u};
}
// 2^n for -126 <= n <= 127
DYGRAPH_INLINE float TwoTo(uint32_t n) { return FromBits<float>((n + 127u) << 23); }

struct ExpDouble {
  double r, q;
  uint64_t n;
};
DYGRAPH_INLINE ExpDouble ReduceExp(double x) {
  double shifted = x * 1.4426950408889634 + 6755399441055744.0;
  double n = shifted - 6755399441055744.0;
  double r = x - n * 6.93147180369123816490e-01;
  r = r - n * 1.90821492927058770002e-10;
  double q = Poly(r, 0.4999999999999999997, 0.1666666666666668395, 0.04166666666666671925,
                  0.008333333333316623426, 0.00138888888888602518, 0.0001984126989737671941,
                  0.0000248015873710750784, 2.755723390696554496e-6, 2.755723512748606738e-7,
                  2.511235601473010822e-8, 2.092650856570070671e-9);
  return {r, q, FromBits<uint64_t>(shifted) - 0x4338000000000000u};
}
DYGRAPH_INLINE double TwoTo(uint64_t n) { return FromBits<double>((n + 1023u) << 52); }

// exp where neither x nor the result leaves the normal range.
template <class T>
DYGRAPH_INLINE T ExpNormal(T x) {
  auto e = ReduceExp(x);
  return (T(1) + (e.r + e.r * e.r * e.q)) * TwoTo(e.n);
}

DYGRAPH_INLINE float ExpPolynomial(float r) {  // exp(r) - 1
  float q = Poly(r, 0.5000000078f, 0.1666666684f, 0.04166627069f, 0.008333268484f, 0.001394601854f,
                 0.0001991617462f);
  return r + r * r * q;
}

// For x <= 0 from -130 on: exp(x) = (1 + rise) * scale * kExpUnit. The scale is 2^(n + 63), whose
// exponent stands in the low bits of `shifted`; so denormal results round once.
struct ExpParts {
  float rise, scale;
};
constexpr float kExpUnit = 0x1p-63f;
DYGRAPH_INLINE ExpParts ExpInParts(float x) {
  float shifted = x * 1.442695041f + 12583102.0f;
  float n = shifted - 12583102.0f;
  float r = x - n * 0.693145752f;
  r = r - n * 1.428606765e-6f;
  return {ExpPolynomial(r), FromBits<float>(FromBits<uint32_t>(shifted) << 23)};
}
// Of a + b, b being small: a product of two floats leaves such a rest.
DYGRAPH_INLINE ExpParts ExpInParts(float a, float b) {
  float shifted = (a + b) * 1.442695041f + 12583102.0f;
  float n = shifted - 12583102.0f;
  float r = a - n * 0.693145752f;
  r = (r - n * 1.428606765e-6f) + b;
  return {ExpPolynomial(r), FromBits<float>(FromBits<uint32_t>(shifted) << 23)};
}

}  // namespace detail

// The scale 2^n is applied as two powers of 2 that share n, so that denormal results round once and
// large ones overflow to inf. The low bits of `shifted` are n + 254, which halves without a sign.
DYGRAPH_INLINE float Exp(float x) {
  x = Clamp(x, -106.0f, 90.0f);
  float shifted = x * 1.442695041f + 12583166.0f;
  float n = shifted - 12583166.0f;
  float r = x - n * 0.693145752f;
  r = r - n * 1.428606765e-6f;
  uint32_t bits = FromBits<uint32_t>(shifted), half = bits >> 1;
  return (1.0f + detail::ExpPolynomial(r)) * FromBits<float>(half << 23) *
         FromBits<float>((bits - half) << 23);
}
// The scale 2^n is applied as two factors here too. Halving n as an unsigned number needs an offset
// that makes it positive.
DYGRAPH_INLINE double Exp(double x) {
  auto e = detail::ReduceExp(Clamp(x, -748.0, 711.0));
  uint64_t half = ((e.n + 4096u) >> 1) - 2048u;
  double y = 1.0 + (e.r + e.r * e.r * e.q);
  return y * detail::TwoTo(half) * detail::TwoTo(e.n - half);
}

// exp(x) where x <= 0, a little faster.
DYGRAPH_INLINE float ExpBelowZero(float x) {
  detail::ExpParts e = detail::ExpInParts(x < -106.0f ? -106.0f : x);
  return (1.0f + e.rise) * e.scale * detail::kExpUnit;
}
DYGRAPH_INLINE double ExpBelowZero(double x) { return Exp(x); }

// exp(x) - 1 without cancellation: 2^n (expm1(r)) + (2^n - 1).
DYGRAPH_INLINE float Expm1(float x) {
  auto e = detail::ReduceExp(Clamp(x, -30.0f, 89.0f));
  float p = e.r + e.r * e.r * e.q;
  float half = detail::TwoTo(e.n - 1u);  // 2^n itself may be 2^128
  float y = (half * p + (half - 0.5f)) * 2.0f;
  return x == 0.0f ? x : y;
}
DYGRAPH_INLINE double Expm1(double x) {
  auto e = detail::ReduceExp(Clamp(x, -60.0, 710.0));
  double p = e.r + e.r * e.r * e.q;
  double half = detail::TwoTo(e.n - 1u);
  double y = (half * p + (half - 0.5)) * 2.0;
  return x == 0.0 ? x : y;
}

// x = 2^k m, m in [sqrt(1/2), sqrt(2)), s = f / (2 + f), f = m - 1: log(m) = f - s (f - R) with R
// the rest of the series of 2 atanh(s).
DYGRAPH_INLINE float Log(float x) {
  bool tiny = x < 1.17549435e-38f;
  float scaled = tiny ? x * 8388608.0f : x;
  uint32_t bits = FromBits<uint32_t>(scaled) + (0x3F800000u - 0x3F3504F3u);
  float k = static_cast<float>(static_cast<int32_t>(bits >> 23)) - (tiny ? 150.0f : 127.0f);
  float f = FromBits<float>((bits & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f;
  float s = f / (2.0f + f), z = s * s;
  float rest = z * Poly(z, 0.6666666564f, 0.4000033781f, 0.2853713082f, 0.2358545075f);
  float half = 0.5f * f * f;
  float y = k * 0.693145752f + (f - (half - (s * (half + rest) + k * 1.428606765e-6f)));
  const float inf = std::numeric_limits<float>::infinity();
  y = x < inf ? y : x;  // inf and NaN
  y = x == 0.0f ? -inf : y;
  return x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : y;
}
DYGRAPH_INLINE double Log(double x) {
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
  double y = k * 6.93147180369123816490e-01 +
             (f - (half - (s * (half + rest) + k * 1.90821492927058770002e-10)));
  const double inf = std::numeric_limits<double>::infinity();
  y = x < inf ? y : x;
  y = x == 0.0 ? -inf : y;
  return x < 0.0 ? std::numeric_limits<double>::quiet_NaN() : y;
}

// log(1 + x): what the sum u = 1 + x rounds away joins f, the rest is as in Log.
DYGRAPH_INLINE float Log1p(float x) {
  float u = 1.0f + x, b = u - 1.0f, lost = (1.0f - (u - b)) + (x - b);
  uint32_t bits = FromBits<uint32_t>(u) + (0x3F800000u - 0x3F3504F3u), e = bits >> 23;
  float k = static_cast<float>(static_cast<int32_t>(e)) - 127.0f;
  float shift = FromBits<float>((254u - e) << 23);
  float f = FromBits<float>((bits & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f;
  f = f + (k < 64.0f ? lost * shift : 0.0f);
  float s = f / (2.0f + f), z = s * s;
  float rest = z * Poly(z, 0.6666666564f, 0.4000033781f, 0.2853713082f, 0.2358545075f);
  float half = 0.5f * f * f;
  float y = k * 0.693145752f + (f - (half - (s * (half + rest) + k * 1.428606765e-6f)));
  const float inf = std::numeric_limits<float>::infinity();
  y = x < inf ? y : x;
  y = x == 0.0f ? x : y;
  y = x == -1.0f ? -inf : y;
  return x < -1.0f ? std::numeric_limits<float>::quiet_NaN() : y;
}
DYGRAPH_INLINE double Log1p(double x) {
  double u = 1.0 + x, b = u - 1.0, lost = (1.0 - (u - b)) + (x - b);
  uint64_t bits = FromBits<uint64_t>(u) + (0x3FF0000000000000u - 0x3FE6A09E667F3BCDu);
  uint64_t e = bits >> 52;
  double k = FromBits<double>(e | 0x4330000000000000u) - 0x1p52 - 1023.0;
  double shift = FromBits<double>((2046u - e) << 52);
  double f = FromBits<double>((bits & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu) - 1.0;
  f = f + (k < 128.0 ? lost * shift : 0.0);
  double s = f / (2.0 + f), z = s * s;
  double rest = z * Poly(z, 0.6666666666666735479, 0.3999999999940843066, 0.2857142874369979975,
                         0.2222219844017939209, 0.1818357130420956085, 0.1531386840772904824,
                         0.1479781863293527869);
  double half = 0.5 * f * f;
  double y = k * 6.93147180369123816490e-01 +
             (f - (half - (s * (half + rest) + k * 1.90821492927058770002e-10)));
  const double inf = std::numeric_limits<double>::infinity();
  y = x < inf ? y : x;
  y = x == 0.0 ? x : y;
  y = x == -1.0 ? -inf : y;
  return x < -1.0 ? std::numeric_limits<double>::quiet_NaN() : y;
}

// An odd polynomial near 0, further out 1 - 2 / (exp(2|x|) + 1).
DYGRAPH_INLINE float Tanh(float x) {
  float t = Abs(x), z = x * x;
  float small = t + t * z *
                        Poly(z, -0.3333331371f, 0.133324458f, -0.05383672708f, 0.02100449423f,
                             -0.006175551507f);
  float large = 1.0f - 2.0f / (detail::ExpNormal(2.0f * Clamp(t, 0.0f, 10.0f)) + 1.0f);
  return CopySign(t < 0.5625f ? small : large, x);
}
// expm1(2|x|) / (expm1(2|x|) + 2); 1 beyond the clamp.
DYGRAPH_INLINE double Tanh(double x) {
  double e = Expm1(Clamp(2.0 * Abs(x), 0.0, 40.0));
  return CopySign(e / (e + 2.0), x);
}

namespace detail {

// (1 + exp(-x)) * kLogisticUnit, as 2^n (1 + (rise + 2^-n)). The unit keeps exp(120) and exp(-43),
// next to which 1 is nothing and all, within range.
constexpr float kLogisticUnit = 0x1p-64f;
DYGRAPH_INLINE float OneAndExp(float x) {
  float t = Clamp(-x, -43.0f, 120.0f);
  float shifted = t * 1.442695041f + 12582975.0f;  // n + 63 in its low bits
  float n = shifted - 12582975.0f;
  float r = t - n * 0.693145752f;
  r = r - n * 1.428606765e-6f;
  uint32_t bits = FromBits<uint32_t>(shifted);
  int32_t inverse = static_cast<int32_t>(0x4B400000u + 190u - bits);  // 127 - n
  inverse = inverse < 0 ? 0 : inverse;
  float scale = FromBits<float>(bits << 23);
  float one = FromBits<float>(static_cast<uint32_t>(inverse) << 23);
  return scale + scale * (ExpPolynomial(r) + one);
}

}  // namespace detail

// 1 / (1 + exp(-x)); the left tail keeps its relative accuracy down to denormals.
DYGRAPH_INLINE float Sigmoid(float x) { return detail::kLogisticUnit / detail::OneAndExp(x); }
DYGRAPH_INLINE double Sigmoid(double x) {
  double e = Exp(-Abs(x)), d = 1.0 + e, lost = e - (d - 1.0);
  double y = (x < 0.0 ? e : 1.0) / d;
  return y - y * (lost * (1.5 - 0.5 * d));  // the line is close enough to 1 / d
}

// Below 1 an odd polynomial, above it 1 - exp(log(erfc)).
DYGRAPH_INLINE float Erf(float x) {
  float t = Abs(x), z = x * x;
  float small = x + x * Poly(z, 0.1283791659f, -0.3761262703f, 0.112835992f, -0.0268544107f,
                             0.005189482165f, -0.0008020460386f, 7.888112595e-5f);
  float u = Clamp(t, 1.0f, 4.0f) - 1.0f;
  float large = 1.0f - detail::ExpNormal(Poly(u, -1.84960551f, -2.638967533f, -0.8431068174f,
                                              -0.04156498628f, 0.01005060886f, -0.002018039564f,
                                              0.0002942952056f, -2.357309906e-5f, 2.933959248e-7f));
  return t < 1.0f ? small : CopySign(large, x);
}
DYGRAPH_INLINE double Erf(double x) {
  double t = Abs(x), z = x * x;
  double small =
      x + x * Poly(z, 0.1283791670955125738, -0.3761263890318374818, 0.1128379167095488442,
                   -0.02686617064507786652, 0.005223977624828356298, -0.0008548326981421749975,
                   0.0001205533113283301616, -0.00001492559576955984081, 1.646100844046101282e-6,
                   -1.635039587146907152e-7, 1.466032662689771169e-8, -1.137494856337208821e-9,
                   5.960674618174194117e-11);
  double u = Clamp(t, 1.0, 6.0) - 1.0;
  double large =
      1.0 - detail::ExpNormal(Poly(
                u, -1.849605509933248299, -2.63896751423477488, -0.8431072563594398608,
                -0.04156109802465554578, 0.01003382517508548874, -0.001977901191323605271,
                0.0002373163366160185423, 0.00002629659671765042865, -0.00002719949642397785006,
                9.672110310873013172e-6, -2.132689572799223298e-6, 2.053739339433217224e-7,
                5.77040562777630824e-8, -3.327017958716546449e-8, 8.485465893361466768e-9,
                -1.313042010445717709e-9, 1.186717305551486201e-10, -4.83337869330478768e-12));
  return t < 1.0 ? small : CopySign(large, x);
}

// Sine and cosine of u whole turns, 0 <= u < 1; the reduction to an eighth is exact.
DYGRAPH_INLINE void SinCosTurn(float u, float* sine, float* cosine) {
  float quarters = u * 4.0f;
  int32_t q = static_cast<int32_t>(quarters + 0.5f);
  float f = quarters - static_cast<float>(q), z = f * f;
  float s =
      f * Poly(z, 1.570796327f, -0.6459640961f, 0.07969258262f, -0.004681265874f, 0.0001582058827f);
  float c = 1.0f + z * Poly(z, -1.23370055f, 0.2536695073f, -0.02086346914f, 0.0009191664197f,
                            -2.485789363e-5f);
  float a = (q & 1) ? c : s, b = (q & 1) ? s : c;
  *sine = (q & 2) ? -a : a;
  *cosine = ((q + 1) & 2) ? -b : b;
}
DYGRAPH_INLINE void SinCosTurn(double u, double* sine, double* cosine) {
  double quarters = u * 4.0;
  double shifted = quarters + 6755399441055744.0;
  uint64_t q = FromBits<uint64_t>(shifted);
  double f = quarters - (shifted - 6755399441055744.0), z = f * f;
  double s = f * Poly(z, 1.570796326794896614, -0.6459640975062442957, 0.07969262624604229729,
                      -0.004681754132331549711, 0.0001604411506838406555, -3.598643183099303021e-6,
                      5.633914881417168977e-8);
  double c =
      1.0 + z * Poly(z, -1.233700550136169817, 0.2536695079010469203, -0.02086348076331528135,
                     0.0009192602742232168474, -0.00002520203698077629985, 4.710615337319919457e-7,
                     -6.321854682464253885e-9);
  double a = (q & 1) ? c : s, b = (q & 1) ? s : c;
  *sine = (q & 2) ? -a : a;
  *cosine = ((q + 1) & 2) ? -b : b;
}

}  // namespace dygraph::kernels
