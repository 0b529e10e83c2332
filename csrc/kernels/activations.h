// Activations made of the functions of math.h, with the relative accuracy of those out to both
// ends.
#pragma once

#include "kernels/math.h"

namespace dygraph::kernels {

namespace detail {

// log(1 + f) for 0 <= f <= 1: the series of Log, without its reduction.
DYGRAPH_INLINE float Log1pOfUnit(float f) {
  float s = f / (2.0f + f), z = s * s, half = 0.5f * f * f;
  float rest =
      z * Poly(z, 0.666666755f, 0.3999888834f, 0.2861659712f, 0.2143073744f, 0.2428956844f);
  return f - (half - s * (half + rest));
}
DYGRAPH_INLINE double Log1pOfUnit(double f) { return Log1p(f); }

// Of a normal variable N: exp(-x^2 / 2) in parts and `tail`, P(N > |x|) exp(x^2 / 2) |x|, a
// polynomial of t / (1 + t / 4). t is |x|, at most 14.6, from where on all products vanish.
struct NormalTail {
  ExpParts density;
  float t, share, ratio;  // tail = share * ratio, P(N > t) exp(x^2 / 2) = (1 - share / 4) * ratio
};
DYGRAPH_INLINE NormalTail TailOf(float x) {
  float t = Clamp(Abs(x), 0.0f, 14.6f);
  float head = FromBits<float>(FromBits<uint32_t>(t) & 0xFFFFF000u);  // its square is exact
  ExpParts density = ExpInParts(-0.5f * head * head, -0.5f * (t - head) * (t + head));
  float v = t / (1.0f + 0.25f * t);
  float ratio = Poly(v - 1.5f, 0.2336530297f, -0.1050421556f, 0.03441376548f, -0.007822835373f,
                     0.001026939778f, -3.266073378e-06f, -2.25503552e-05f, 1.786858764e-06f,
                     4.651821977e-07f, -6.46647696e-08f);
  return {density, t, v, ratio};
}

}  // namespace detail

// log(1 + exp(x))
template <class T>
DYGRAPH_INLINE T Softplus(T x) {
  T positive = x < T(0) ? T(0) : x;
  return positive + detail::Log1pOfUnit(ExpBelowZero(-Abs(x)));
}

// tanh(log(1 + exp(x))) = m / (m + 2), m = w (w + 2), w = exp(x); by exp(-x) where x > 0.
template <class T>
DYGRAPH_INLINE T TanhOfSoftplus(T x) {
  T w = ExpBelowZero(-Abs(x)), right = T(1) + T(2) * w, left = w * (w + T(2));
  return x < T(0) ? left / (left + T(2)) : right / (right + T(2) * w * w);
}

// x tanh(log(1 + exp(x))); far to the left x exp(x), whose factors may be infinite and denormal.
DYGRAPH_INLINE float Mish(float x) {
  float c = x < -110.0f ? -110.0f : x;
  detail::ExpParts e = detail::ExpInParts(-Abs(c) < -110.0f ? -110.0f : -Abs(c));
  float w = (1.0f + e.rise) * e.scale * detail::kExpUnit, rest = w + 2.0f, square = 2.0f * w * w;
  float right = 1.0f + 2.0f * w, faded = (c + c * e.rise) * e.scale * detail::kExpUnit;
  return c < 0.0f ? faded * rest / (w * rest + 2.0f) : x * (right / (right + square));
}
DYGRAPH_INLINE double Mish(double x) {
  double c = x < -800.0 ? -800.0 : x;
  return c * TanhOfSoftplus(c);
}

// x / (1 + exp(-x)); far to the left 0, not -inf * 0.
DYGRAPH_INLINE float Silu(float x) {
  float y = (x < -120.0f ? -120.0f : x) / detail::OneAndExp(x) * detail::kLogisticUnit;
  return x > 1e3f ? x : y;  // the quotient may overflow
}
DYGRAPH_INLINE double Silu(double x) { return (x < -800.0 ? -800.0 : x) * Sigmoid(x); }

// x / (1 + exp(-z)), 0 where z is far below 0 and x = -inf.
DYGRAPH_INLINE float Gated(float x, float z) {
  bool large = Abs(x) > 1e3f;  // the unit comes first or last, where it loses nothing
  float first = large ? detail::kLogisticUnit : 1.0f, last = large ? 1.0f : detail::kLogisticUnit;
  float y = x * first / detail::OneAndExp(z) * last;
  return z < -120.0f ? CopySign(0.0f, x) : y;
}
DYGRAPH_INLINE double Gated(double x, double z) {
  double y = x * Sigmoid(z);
  return z < -1500.0 ? CopySign(0.0, x) : y;
}

// x P(N < x) of a normal variable N, and its derivative.
DYGRAPH_INLINE float Gelu(float x) {
  detail::NormalTail n = detail::TailOf(x);
  float away = n.share * n.ratio;
  away = (away + away * n.density.rise) * n.density.scale * detail::kExpUnit;
  return x < 0.0f ? -away : x - away;
}
DYGRAPH_INLINE float GeluSlope(float x) {
  detail::NormalTail n = detail::TailOf(x);
  float density = (1.0f + n.density.rise) * n.density.scale * detail::kExpUnit;
  float tail = (1.0f - 0.25f * n.share) * n.ratio - n.t * 0.3989422804f;
  return x < 0.0f ? tail * density : 1.0f - tail * density;
}
DYGRAPH_INLINE double Gelu(double x) {
  double y = 0.5 * x * (1.0 + Erf(x * 0.70710678118654752440));
  return x < -40.0 ? -0.0 : y;
}
DYGRAPH_INLINE double GeluSlope(double x) {
  double c = Clamp(x, -40.0, 40.0);
  return 0.5 * (1.0 + Erf(c * 0.70710678118654752440)) +
         c * 0.39894228040143267794 * Exp(-0.5 * c * c);
}

}  // namespace dygraph::kernels
