// Dual numbers v + d e with e^2 = 0. A loop written for any number type and run on them gives,
// beside its values, their derivatives along one direction. Run on a gradient loop that is the
// gradient of the gradient: the derivative of <direction, gradient> is the gradient's along the
// direction.
#pragma once

#include "kernels/math.h"

namespace dygraph::kernels {

template <class T>
struct Dual {
  T v, d;
  Dual() = default;
  DYGRAPH_INLINE Dual(T value, T derivative = 0) : v(value), d(derivative) {}
  DYGRAPH_INLINE Dual& operator+=(const Dual& y) { return *this = *this + y; }
  DYGRAPH_INLINE Dual& operator*=(const Dual& y) { return *this = *this * y; }
  friend DYGRAPH_INLINE Dual operator+(const Dual& x, const Dual& y) {
    return {x.v + y.v, x.d + y.d};
  }
  friend DYGRAPH_INLINE Dual operator-(const Dual& x, const Dual& y) {
    return {x.v - y.v, x.d - y.d};
  }
  friend DYGRAPH_INLINE Dual operator*(const Dual& x, const Dual& y) {
    return {x.v * y.v, x.d * y.v + x.v * y.d};
  }
  friend DYGRAPH_INLINE bool operator>(const Dual& x, T y) { return x.v > y; }
  friend DYGRAPH_INLINE bool operator<(const Dual& x, T y) { return x.v < y; }
};

template <class T>
DYGRAPH_INLINE Dual<T> Sigmoid(const Dual<T>& x) {
  T s = Sigmoid(x.v);
  return {s, s * (T(1) - s) * x.d};
}
template <class T>
DYGRAPH_INLINE Dual<T> Tanh(const Dual<T>& x) {
  T t = Tanh(x.v);
  return {t, (T(1) - t * t) * x.d};
}

template <class V>
struct RealOf {
  using type = V;
};
template <class T>
struct RealOf<Dual<T>> {
  using type = T;
};
// float of Dual<float> and of float
template <class V>
using Real = typename RealOf<V>::type;

}  // namespace dygraph::kernels
