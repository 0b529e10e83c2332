// Arithmetic of complex numbers by the formulas that NumPy uses. std::complex multiplies by C's
// rules, which look for infinities in each product and so are slow. On real numbers the functions
// are plain arithmetic, so that a loop may serve both.
#pragma once

#include <cmath>
#include <complex>
#include <type_traits>

#include "kernels/simd.h"
#include "tensor/dtype.h"

namespace dygraph::kernels {

namespace detail {
template <class T>
struct RealPartOf {
  using type = T;
};
template <class R>
struct RealPartOf<std::complex<R>> {
  using type = R;
};
}  // namespace detail

// float of complex64; of a real type itself.
template <class T>
using RealPart = typename detail::RealPartOf<T>::type;

template <class T>
DYGRAPH_INLINE T Conj(T v) {
  if constexpr (kIsComplex<T>)
    return T(v.real(), -v.imag());
  else
    return v;
}

template <class T>
DYGRAPH_INLINE T Product(T a, T b) {
  if constexpr (kIsComplex<T>) {
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  } else {
    return a * b;
  }
}
// What integer.h has for real numbers.
template <class R>
DYGRAPH_INLINE std::complex<R> Times(std::complex<R> a, std::complex<R> b) {
  return Product(a, b);
}

template <class R>
DYGRAPH_INLINE std::complex<R> Plus(std::complex<R> a, std::complex<R> b) {
  return {a.real() + b.real(), a.imag() + b.imag()};
}
template <class R>
DYGRAPH_INLINE std::complex<R> Minus(std::complex<R> a, std::complex<R> b) {
  return {a.real() - b.real(), a.imag() - b.imag()};
}

// Smith's division, which does not overflow where the quotient does not; by zero as NumPy's.
template <class T>
DYGRAPH_INLINE T Quotient(T a, T b) {
  if constexpr (kIsComplex<T>) {
    const auto br = std::abs(b.real()), bi = std::abs(b.imag());
    if (br >= bi) {
      if (br == 0 && bi == 0) return T(a.real() / br, a.imag() / br);
      const auto ratio = b.imag() / b.real(), scale = 1 / (b.real() + b.imag() * ratio);
      return T((a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale);
    }
    const auto ratio = b.real() / b.imag(), scale = 1 / (b.imag() + b.real() * ratio);
    return T((a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale);
  } else {
    return a / b;
  }
}

}  // namespace dygraph::kernels
