// Special functions of one number, computed in double for every type: within ten units in the last
// place of a double, mostly within two; relative accuracy is lost beside zeros on the negative
// axis.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/log_gamma.h"
#include "kernels/math.h"

namespace dygraph::kernels {

constexpr double kPi = 3.14159265358979323846;

// The derivative of LogGamma. Downwards to [1, 2] by psi(x) = psi(x - 1) + 1 / (x - 1), where a
// Chebyshev fit made for this file is multiplied by the distance from the zero, so that no digit is
// lost beside it; from 10 on Stirling's series; left of 0 the reflection psi(1 - x) - pi cot(pi x).
DYGRAPH_BOTH inline double Digamma(double x) {
  const double inf = std::numeric_limits<double>::infinity();
  if (x == 0) return std::copysign(inf, -x);
  if (x < 0) {
    double from_whole = x - std::nearbyint(x);
    if (from_whole == 0 || x == -inf) return std::numeric_limits<double>::quiet_NaN();
    // pi cot(pi x) from the nearer of the two places where it is large and where it is 0
    double cot = std::abs(from_whole) < 0.25
                     ? kPi / std::tan(kPi * from_whole)
                     : kPi * std::tan(kPi * (std::copysign(0.5, from_whole) - from_whole));
    return Digamma(1 - x) - cot;
  }
  if (x >= 10) {
    if (x == inf) return inf;
    double z = 1 / (x * x);
    return std::log(x) - 0.5 / x -
           z * Poly(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760,
                    1.0 / 12, -3617.0 / 8160);
  }
  double sum = 0;
  for (; x > 2; sum += 1 / x) x -= 1;
  for (; x < 1; x += 1) sum -= 1 / x;
  double t = x - 1.5, from_zero = (x - 0x1.762d86356be3fp+0) - 0x1.b86a722197829p-54;
  return sum +
         from_zero *
             Poly(t, 0.95105587603183289283, -0.42362742128146050498, 0.24054248424077421856,
                  -0.14840492305390885721, 0.094988724454941213253, -0.06192213327306453169,
                  0.040760833812420736017, -0.026975796756138248795, 0.017907252439451199397,
                  -0.011908218001568644751, 0.0079269446464037960374, -0.0052799648732574042082,
                  0.0035190064015022760473, -0.002345267632540769041, 0.0015566317474486839277,
                  -0.001037637409841860467, 0.00072332662792875541556, -0.00048219905305667888755,
                  0.00022723316609873758807, -0.00015148586836773365902, 0.00025968482126430746555,
                  -0.00017312261802727393258);
}

// q^-s
DYGRAPH_BOTH inline double InversePower(double q, int s) {
  double base = 1 / q, power = 1;
  for (; s > 0; s >>= 1, base *= base) power *= s & 1 ? base : 1;
  return power;
}

// zeta(s, q) = sum of (q + k)^-s over k >= 0, for s > 1 and q > 0: the first terms, and the
// Euler-Maclaurin formula for the rest (DLMF 25.11.5).
DYGRAPH_BOTH inline double HurwitzZeta(int s, double q) {
  constexpr double kBernoulli[] = {// B_2j / (2j)!
                                   1.0 / 12,           -1.0 / 720,
                                   1.0 / 30240,        -1.0 / 1209600,
                                   1.0 / 47900160,     -691.0 / 1307674368000.0,
                                   1.0 / 74724249600., -3617.0 / 10670622842880000.0};
  double sum = 0, term = 0;
  for (double end = 8 + 2 * s; q < end; q += 1) {
    term = InversePower(q, s);
    sum += term;
    if (term < sum * 1e-17) return sum;
  }
  term = InversePower(q, s);
  sum += term * q / (s - 1) + term / 2;
  double factor = s / q;
  for (int j = 0; j < 8; ++j) {
    double more = kBernoulli[j] * term * factor;
    sum += more;
    if (std::abs(more) < sum * 1e-17) break;
    factor *= (s + 2.0 * j + 1) * (s + 2.0 * j + 2) / (q * q);
  }
  return sum;
}

// The derivative of Digamma of order n, (-1)^(n + 1) n! zeta(n + 1, x). Left of 1/2 by the
// reflection (-1)^n psi_n(1 - x) - pi^(n + 1) P(cot(pi x)), P the polynomial that the derivative of
// order n of the cotangent is of itself; n up to 100.
class Polygamma {
 public:
  explicit Polygamma(int n) : n_(n), factorial_(std::tgamma(n + 1.0)), cot_() {
    cot_[1] = 1;
    for (int k = 0; k < n; ++k) {  // P' = -(1 + c^2) dP/dc
      std::array<double, kMostTerms> next = {};
      for (int i = 1; i <= k + 1; ++i) {
        next[i - 1] -= i * cot_[i];
        next[i + 1] -= i * cot_[i];
      }
      cot_ = next;
    }
  }
  DYGRAPH_BOTH double operator()(double x) const {
    const double inf = std::numeric_limits<double>::infinity();
    if (n_ == 0) return Digamma(x);
    double sign = n_ % 2 == 0 ? -1 : 1;
    if (x != x || x == -inf) return std::numeric_limits<double>::quiet_NaN();
    if (x == inf) return sign * 0.0;
    if (x > 0) return sign * factorial_ * HurwitzZeta(n_ + 1, x);
    double from_whole = x - std::nearbyint(x);
    if (from_whole == 0) return sign * inf;
    double c = 1 / std::tan(kPi * from_whole), p = 0;
    for (int i = n_ + 2; i-- > 0;) p = p * c + cot_[i];
    return -sign * (sign * factorial_ * HurwitzZeta(n_ + 1, 1 - x)) - std::pow(kPi, n_ + 1) * p;
  }

 private:
  static constexpr int kMostTerms = 102;  // of the order 100
  int n_;
  double factorial_;
  std::array<double, kMostTerms> cot_;
};

// The inverse of Erf, by Wichura's algorithm AS 241 (Applied Statistics 37, 1988): one quotient in
// the middle, one in the tails, one far out, all worked out, so that vectors hold the loop.
DYGRAPH_INLINE double ErfInv(double x) {
  double half = 0.5 * x, m = 0.180625 - half * half;
  double middle = half *
                  Poly(m, 3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427,
                       13731.693765509461125, 45921.953931549871457, 67265.770927008700853,
                       33430.575583588128105, 2509.0809287301226727) /
                  Poly(m, 1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
                       21213.794301586595867, 39307.895800092710610, 28729.085735721942674,
                       5226.4952788528545610);
  double tail = 0.5 - Abs(half);  // negative, and so NaN, outside [-1, 1]
  double r = Sqrt(-Log(tail)), t = r - 1.6, u = r - 5;
  double near = Poly(t, 1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
                     3.64784832476320460504, 1.27045825245236838258, 0.241780725177450611770,
                     0.0227238449892691845833, 7.74545014278341407640e-4) /
                Poly(t, 1.0, 2.05319162663775882187, 1.67638483018380384940,
                     0.689767334985100004550, 0.148103976427480074590, 0.0151986665636164571966,
                     5.47593808499534494600e-4, 1.05075007164441684324e-9);
  double far = Poly(u, 6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
                    0.296560571828504891230, 0.0265321895265761230930, 1.24266094738807843860e-3,
                    2.71155556874348757815e-5, 2.01033439929228813265e-7) /
               Poly(u, 1.0, 0.599832206555887937690, 0.136929880922735805310,
                    0.0148753612908506148525, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
                    1.42151175831644588870e-7, 2.04426310338993978564e-15);
  double outer = r <= 5 ? near : far;
  outer = tail == 0 ? std::numeric_limits<double>::infinity() : outer;
  return (Abs(half) <= 0.425 ? middle : CopySign(outer, x)) * 0.70710678118654752440;
}

// The modified Bessel function of the first kind of a whole order n, times exp(-|x|) where scaled.
// Up to 20 the power series, whose terms are all positive (DLMF 10.25.2), beyond it Hankel's, whose
// least term is below exp(-2x) (DLMF 10.40.1).
class BesselI {
 public:
  BesselI(int n, bool scaled) : n_(n), scaled_(scaled) {
    double c = 1;
    for (int k = 1; k <= n; ++k) c /= k;
    for (int k = 0; k < kTerms; ++k) {
      near_[k] = c;
      c /= (k + 1.0) * (k + 1.0 + n);
    }
    double a = 1;
    for (int k = 0; k < kFarTerms; ++k) {
      far_[k] = a;
      double odd = 2 * k + 1;
      a *= (odd * odd - 4.0 * n * n) / (8 * (k + 1.0));
    }
  }
  DYGRAPH_BOTH double operator()(double x) const {
    const double inf = std::numeric_limits<double>::infinity();
    double t = std::abs(x), y;
    if (t == inf) {
      y = scaled_ ? 0 : inf;
    } else if (t <= 20) {
      double half = 0.5 * t, a = half * half;
      int k = t <= 2 ? 14 : t <= 8 ? 25 : kTerms;
      double sum = near_[--k];
      while (k > 0) sum = sum * a + near_[--k];
      for (int i = 0; i < n_; ++i) sum *= half;
      y = scaled_ ? sum * std::exp(-t) : sum;
    } else {
      double u = 1 / t, sum = far_[kFarTerms - 1];
      for (int k = kFarTerms - 1; k > 0;) sum = sum * u + far_[--k];
      y = sum / std::sqrt(2 * kPi * t);
      if (!scaled_) {
        double half = std::exp(0.5 * t);  // exp(t) overflows before the result
        y = y * half * half;
      }
    }
    return n_ % 2 == 1 ? std::copysign(1.0, x) * y : y;
  }

 private:
  static constexpr int kTerms = 48, kFarTerms = 32;
  int n_;
  bool scaled_;
  std::array<double, kTerms> near_;
  std::array<double, kFarTerms> far_;
};

}  // namespace dygraph::kernels
