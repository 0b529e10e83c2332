// The passes of a fast Fourier transform (kernels/fft.cc) over numbers that hold one of each line
// in every lane, and the transposition that puts lines into lanes.
#pragma once

#include <cstdint>

#include "kernels/simd.h"

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are arguments of inlined functions alone

namespace dygraph::kernels::fft {

template <class T>
constexpr int kLanes = 32 / sizeof(T);
template <class T>
struct Lanes {
  typedef T type __attribute__((vector_size(32)));
};

// A number of each lane's.
template <class T>
struct Number {
  typename Lanes<T>::type re, im;
};

template <class T>
DYGRAPH_INLINE void Twisted(const Number<T>& v, T c, T s, Number<T>* to) {
  const auto re = v.re, im = v.im;
  to->re = re * c - im * s;
  to->im = re * s + im * c;
}

// One pass: x holds s interleaved transforms of length r m; y gets r s of length m.
template <class T>
DYGRAPH_INLINE void Pass2(const Number<T>* x, Number<T>* y, int64_t m, int64_t s, const T* w) {
  for (int64_t p = 0; p < m; ++p, w += 2) {
    for (int64_t q = 0; q < s; ++q) {
      const Number<T>&a = x[q + s * p], &b = x[q + s * (p + m)];
      Number<T>* to = y + q + s * 2 * p;
      const Number<T> difference{a.re - b.re, a.im - b.im};
      to[0].re = a.re + b.re;
      to[0].im = a.im + b.im;
      Twisted<T>(difference, w[0], w[1], to + s);
    }
  }
}

template <class T>
DYGRAPH_INLINE void Pass4(const Number<T>* x, Number<T>* y, int64_t m, int64_t s, const T* w) {
  for (int64_t p = 0; p < m; ++p, w += 6) {
    for (int64_t q = 0; q < s; ++q) {
      const Number<T>* from = x + q + s * p;
      const Number<T>&a = from[0], &b = from[s * m], &c = from[2 * s * m], &d = from[3 * s * m];
      const auto ac_re = a.re + c.re, ac_im = a.im + c.im, a_c_re = a.re - c.re,
                 a_c_im = a.im - c.im, bd_re = b.re + d.re, bd_im = b.im + d.im,
                 b_d_re = b.re - d.re, b_d_im = b.im - d.im;
      Number<T>* to = y + q + s * 4 * p;
      to[0].re = ac_re + bd_re;
      to[0].im = ac_im + bd_im;
      const Number<T> first{a_c_re + b_d_im, a_c_im - b_d_re}, second{ac_re - bd_re, ac_im - bd_im},
          third{a_c_re - b_d_im, a_c_im + b_d_re};
      if (p == 0) {
        to[s] = first;
        to[2 * s] = second;
        to[3 * s] = third;
      } else {
        Twisted<T>(first, w[0], w[1], to + s);
        Twisted<T>(second, w[2], w[3], to + 2 * s);
        Twisted<T>(third, w[4], w[5], to + 3 * s);
      }
    }
  }
}

template <int r, class T>
DYGRAPH_INLINE void PassOdd(const Number<T>* x, Number<T>* y, int64_t m, int64_t s, const T* w,
                            const T* cosines, const T* sines) {
  constexpr int kHalf = (r - 1) / 2;
  for (int64_t p = 0; p < m; ++p, w += 2 * (r - 1)) {
    for (int64_t q = 0; q < s; ++q) {
      const Number<T>* from = x + q + s * p;
      Number<T>* to = y + q + s * r * p;
      const Number<T> first = from[0];
      Number<T> sums[kHalf], differences[kHalf], total = first;
      for (int j = 0; j < kHalf; ++j) {
        const Number<T>&a = from[(j + 1) * s * m], &b = from[(r - 1 - j) * s * m];
        sums[j].re = a.re + b.re;
        sums[j].im = a.im + b.im;
        differences[j].re = a.re - b.re;
        differences[j].im = a.im - b.im;
        total.re += sums[j].re;
        total.im += sums[j].im;
      }
      to[0] = total;
      for (int k = 1; k <= kHalf; ++k) {
        Number<T> even = first, odd{};
        for (int j = 0; j < kHalf; ++j) {
          const T c = cosines[k * (j + 1) % r], v = sines[k * (j + 1) % r];
          even.re += sums[j].re * c;
          even.im += sums[j].im * c;
          odd.re += differences[j].re * v;
          odd.im += differences[j].im * v;
        }
        const Number<T> one{even.re + odd.im, even.im - odd.re},
            other{even.re - odd.im, even.im + odd.re};
        Twisted<T>(one, w[2 * (k - 1)], w[2 * (k - 1) + 1], to + k * s);
        Twisted<T>(other, w[2 * (r - k - 1)], w[2 * (r - k - 1) + 1], to + (r - k) * s);
      }
    }
  }
}

}  // namespace dygraph::kernels::fft
