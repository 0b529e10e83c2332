// Convolution of plain arrays as products of matrices: one image at a time, its patches as a matrix
// [channels / groups * taps, pixels], times the filter as a matrix.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/conv_direct.h"
#include "kernels/elementwise.h"
#include "kernels/gemm.h"
#include "kernels/im2col.h"
#include "tensor/scratch.h"

namespace dygraph::kernels {

// Whether the functions below take images with their channels last.
constexpr bool kConvTakesChannelsLast = false;

namespace detail {

// Images in parallel, each with a matrix of its own; one image alone leaves the threads to the
// product.
template <class T, class Body>
void ForImages(const ConvShape& p, const Body& body) {
  ParallelRows(p.n, p.groups * p.Work(), [&](int64_t begin, int64_t end) {
    Scratch col(CPUPlace(), static_cast<size_t>(p.ColSize()) * sizeof(T));
    for (int64_t i = begin; i < end; ++i) body(i, col.as<T>());
  });
}

}  // namespace detail

// y = conv(x, filter) + bias + residual; these two may be null.
template <class T>
void ConvForward(const T* x, const T* filter, const T* bias, const T* residual, const ConvShape& p,
                 T* y) {
  if (p.groups == 1 && ConvDirectPays(p.patch, p.out_c))
    return ConvDirect(x, filter, bias, residual, p.patch, p.n, p.out_c, y);
  detail::ForImages<T>(p, [&](int64_t i, T* col) {
    for (int64_t g = 0; g < p.groups; ++g) {
      const T* from = x + (i * p.groups + g) * p.in_size;
      T* to = y + (i * p.groups + g) * p.out_size;
      if (residual) {
        std::copy_n(residual + (to - y), p.out_size, to);
      } else if (bias) {
        std::fill_n(to, p.out_size, T(0));
      }
      if (bias) {
        for (int64_t o = 0; o < p.out_c; ++o) {
          T b = bias[g * p.out_c + o];
          for (int64_t k = 0; k < p.pixels; ++k) to[o * p.pixels + k] += b;
        }
      }
      p.ForPlanes([&](int64_t at, int64_t count, int64_t d) {
        if (!p.direct) Im2Col(from, p.patch, col, d);
        Gemm<T>(false, false, p.out_c, count, p.taps, T(1), filter + g * p.out_c * p.taps, p.taps,
                p.direct ? from : col, count, T(bias || residual), to + at, p.pixels);
      });
    }
  });
}

// dx = the transposed convolution of dy + bias, which may be null.
template <class T>
void ConvBackwardInput(const T* dy, const T* filter, const T* bias, const ConvShape& p, T* dx) {
  detail::ForImages<T>(p, [&](int64_t i, T* col) {
    for (int64_t g = 0; g < p.groups; ++g) {
      T* to = dx + (i * p.groups + g) * p.in_size;
      const T* from = dy + (i * p.groups + g) * p.out_size;
      p.ForPlanes([&](int64_t at, int64_t count, int64_t d) {
        Gemm<T>(true, false, p.taps, count, p.out_c, T(1), filter + g * p.out_c * p.taps, p.taps,
                from + at, p.pixels, T(0), p.direct ? to : col, count);
        if (!p.direct) Col2Im(col, p.patch, to, d);
      });
    }
  });
  if (!bias) return;
  const int64_t channels = p.groups * p.patch.channels, size = p.in_size / p.patch.channels;
  for (int64_t r = 0; r < p.n * channels; ++r) {
    for (int64_t i = r * size; i < (r + 1) * size; ++i) dx[i] += bias[r % channels];
  }
}

// Images are added within pieces and pieces in order; how many there are follows from the shape
// alone.
template <class T>
void ConvBackwardFilter(const T* x, const T* dy, const ConvShape& p, T* dw) {
  constexpr int64_t kMostPieces = 8, kMostBytes = 16 << 20;
  int64_t size = p.groups * p.out_c * p.taps, bytes = size * static_cast<int64_t>(sizeof(T));
  int64_t pieces =
      std::max<int64_t>(std::min({kMostPieces, p.n, kMostBytes / std::max<int64_t>(bytes, 1)}), 1);
  Scratch partial(CPUPlace(), static_cast<size_t>((pieces - 1) * bytes));
  ParallelBlocks(pieces, [&](int64_t piece) {
    T* to = piece == 0 ? dw : partial.as<T>() + (piece - 1) * size;
    Scratch col(CPUPlace(), static_cast<size_t>(p.ColSize()) * sizeof(T));
    int64_t first = p.n * piece / pieces, last = p.n * (piece + 1) / pieces;
    for (int64_t i = first; i < last; ++i) {
      for (int64_t g = 0; g < p.groups; ++g) {
        const T* from = x + (i * p.groups + g) * p.in_size;
        const T* top = dy + (i * p.groups + g) * p.out_size;
        p.ForPlanes([&](int64_t at, int64_t count, int64_t d) {
          if (!p.direct) Im2Col(from, p.patch, col.as<T>(), d);
          Gemm<T>(false, true, p.out_c, p.taps, count, T(1), top + at, p.pixels,
                  p.direct ? from : col.as<T>(), count, T(i > first || at > 0),
                  to + g * p.out_c * p.taps, p.taps);
        });
      }
    }
    if (first == last) std::fill_n(to, size, T(0));
  });
  for (int64_t piece = 1; piece < pieces; ++piece) {
    Zip(static_cast<const T*>(dw), partial.as<T>() + (piece - 1) * size, dw, size,
        [](T a, T b) { return a + b; });
  }
}

// db[c] = sum over images and pixels of dy, a result of the convolution or, with `of_input`, one
// like its input.
template <class T>
void ConvBackwardBias(const T* dy, const ConvShape& p, bool of_input, T* db) {
  const int64_t channels = p.groups * (of_input ? p.patch.channels : p.out_c);
  const int64_t pixels = of_input ? p.in_size / p.patch.channels : p.pixels;
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (int64_t i = 0; i < p.n; ++i) {
      const T* plane = dy + (i * channels + c) * pixels;
      for (int64_t k = 0; k < pixels; ++k) sum += static_cast<double>(plane[k]);
    }
    db[c] = static_cast<T>(sum);
  }
}

}  // namespace dygraph::kernels
