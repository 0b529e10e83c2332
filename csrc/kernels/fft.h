// Discrete Fourier transforms along one axis, of any length:
//
//   y[k] = scale * sum_t x[t] exp(-+ 2 pi i t k / n)        - forward, + backward
//
// of float and double. A result does not depend on the number of threads, nor on the lines that are
// transformed with it.
#pragma once

#include <complex>
#include <cstdint>

namespace dygraph::kernels {

// Along the middle axis of [outer, n, inner]; y may be x. n > 0.
template <class T>
void Fft(const std::complex<T>* x, std::complex<T>* y, int64_t outer, int64_t n, int64_t inner,
         bool forward, T scale);

// The first n / 2 + 1 results of each of `rows` rows of n real numbers. The others are their
// conjugates, from the end.
template <class T>
void FftOfReal(const T* x, std::complex<T>* y, int64_t rows, int64_t n, bool forward, T scale);

// The way back: rows of n / 2 + 1 numbers, which stand for n with that symmetry, become n real
// ones. The imaginary parts of those that are their own conjugates count as 0.
template <class T>
void FftToReal(const std::complex<T>* x, T* y, int64_t rows, int64_t n, bool forward, T scale);

}  // namespace dygraph::kernels
