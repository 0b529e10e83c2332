// Numbers v + a p + b q + ab p q with p^2 = q^2 = 0. A function of them gives, beside its value,
// its derivatives along two directions and the mixed second one.
#pragma once

#include <cmath>

#include "base/marks.h"

namespace dygraph::kernels {

struct Jet {
  double v = 0, a = 0, b = 0, ab = 0;
  Jet() = default;
  DYGRAPH_BOTH Jet(double value, double along = 0, double across = 0)
      : v(value), a(along), b(across) {}

  // A function of x with its value and two derivatives there.
  DYGRAPH_BOTH static Jet Of(const Jet& x, double f, double d, double dd) {
    Jet y(f, d * x.a, d * x.b);
    y.ab = d * x.ab + dd * x.a * x.b;
    return y;
  }
  DYGRAPH_BOTH Jet& operator+=(const Jet& y) {
    v += y.v, a += y.a, b += y.b, ab += y.ab;
    return *this;
  }
  friend DYGRAPH_BOTH Jet operator+(Jet x, const Jet& y) { return x += y; }
  friend DYGRAPH_BOTH Jet operator-(const Jet& x, const Jet& y) { return x + Jet(-1) * y; }
  friend DYGRAPH_BOTH Jet operator*(const Jet& x, const Jet& y) {
    Jet z(x.v * y.v, x.a * y.v + x.v * y.a, x.b * y.v + x.v * y.b);
    z.ab = x.ab * y.v + x.a * y.b + x.b * y.a + x.v * y.ab;
    return z;
  }
};

DYGRAPH_BOTH inline Jet Inverse(const Jet& x) {
  double i = 1 / x.v;
  return Jet::Of(x, i, -i * i, 2 * i * i * i);
}
DYGRAPH_BOTH inline Jet Exp(const Jet& x) {
  double e = std::exp(x.v);
  return Jet::Of(x, e, e, e);
}
DYGRAPH_BOTH inline Jet Log(const Jet& x) {
  double i = 1 / x.v;
  return Jet::Of(x, std::log(x.v), i, -i * i);
}
DYGRAPH_BOTH inline Jet Tanh(const Jet& x) {
  double t = std::tanh(x.v), d = 1 - t * t;
  return Jet::Of(x, t, d, -2 * t * d);
}
DYGRAPH_BOTH inline double Logistic(double x) {
  double e = std::exp(-std::fabs(x));
  return (x >= 0 ? 1 : e) / (1 + e);
}
DYGRAPH_BOTH inline Jet Sigmoid(const Jet& x) {
  double s = Logistic(x.v), d = s * Logistic(-x.v);
  return Jet::Of(x, s, d, d * (1 - 2 * s));
}
// log(1 + exp(x))
DYGRAPH_BOTH inline Jet Softplus(const Jet& x) {
  double s = Logistic(x.v);
  double value = std::log1p(std::exp(-std::fabs(x.v))) + (x.v > 0 ? x.v : 0);
  return Jet::Of(x, value, s, s * Logistic(-x.v));
}
DYGRAPH_BOTH inline Jet Pow(const Jet& x, double p) {
  double d = p == 0 ? 0 : p * std::pow(x.v, p - 1);
  double dd = p == 0 || p == 1 ? 0 : p * (p - 1) * std::pow(x.v, p - 2);
  return Jet::Of(x, std::pow(x.v, p), d, dd);
}

}  // namespace dygraph::kernels
