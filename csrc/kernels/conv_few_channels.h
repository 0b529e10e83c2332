// The input gradient of a convolution of few input channels, channels last. All taps of a row of
// the window are one short line of memory, and a line of pixels is the sum of such lines: one
// product for each, over the rows of outputs that reach it, which is added in registers and stored
// once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/gemm_tile.h"
#include "kernels/parallel.h"
#include "tensor/scratch.h"

namespace dygraph::kernels {

// The outputs lie next to each other vertically: no vertical stride, no dilation, no groups.
struct FewChannels {
  int64_t n, c, height, width;           // of the input
  int64_t out_c, out_height, out_width;  // of the output
  int64_t kernel_h, kernel_w, stride_w;  // of the window
  int64_t top, left;                     // padding
  int64_t Line() const { return kernel_w * c; }
};

namespace detail {

// All bits of what belongs to a line, none of what a vector reaches beyond: there a NaN times 0
// must not become a share.
template <class T>
using LineMask = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

constexpr int64_t kLinePad = 32;  // a multiple of what a step of every instruction set covers
constexpr int kLinePixels = 5;    // outputs in registers at a time

inline int64_t PaddedLine(const FewChannels& s) {
  return (s.Line() + kLinePad - 1) / kLinePad * kLinePad;
}
// A line of input pixels with its padding, and room for what vectors reach beyond.
inline int64_t PixelLine(const FewChannels& s) {
  return std::max(s.left + s.width, (s.out_width - 1) * s.stride_w + s.kernel_w) * s.c + kLinePad;
}

// line += the shares of outputs [first, first + kPixels): k numbers of each, from `top` on, times
// as many rows of `taps`.
template <class T, int kBytes, int kPixels, int kVecs>
DYGRAPH_INLINE void AddShares(const FewChannels& s, const T* top, const T* taps,
                              const LineMask<T>* mask, int64_t k, int64_t first, T* line) {
  using Vec = typename tile::VecOf<T, kBytes>::type;
  using Bits = typename tile::VecOf<LineMask<T>, kBytes>::type;
  constexpr int kLanes = kBytes / sizeof(T);
  int64_t row = s.out_height * s.out_c, padded = PaddedLine(s);
  for (int64_t at = 0; at < s.Line(); at += kVecs * kLanes) {
    Vec acc[kPixels][kVecs];
    tile::Multiply<T, kBytes, kPixels, kVecs>(k, top + first * row, row, 1, taps + at, padded, acc);
    for (int i = 0; i < kPixels; ++i) {
      T* to = line + (first + i) * s.stride_w * s.c + at;
      for (int v = 0; v < kVecs; ++v) {
        Vec sum;
        Bits bits;
        std::memcpy(&sum, to + v * kLanes, kBytes);
        std::memcpy(&bits, mask + at + v * kLanes, kBytes);
        sum += reinterpret_cast<Vec>(reinterpret_cast<Bits>(acc[i][v]) & bits);
        std::memcpy(to + v * kLanes, &sum, kBytes);
      }
    }
  }
}

// One image. turned: room for it as [out_width, out_height, out_c]; line: for PixelLine(s).
template <class T, int kBytes, int kVecs>
DYGRAPH_INLINE void FewChannelsImage(const FewChannels& s, const T* dy, const T* taps,
                                     const LineMask<T>* mask, T* turned, T* line, T* dx) {
  for (int64_t i = 0; i < s.out_height; ++i) {
    for (int64_t j = 0; j < s.out_width; ++j) {
      T* to = turned + (j * s.out_height + i) * s.out_c;
      for (int64_t o = 0; o < s.out_c; ++o) to[o] = *dy++;
    }
  }
  int64_t length = PixelLine(s);
  for (int64_t h = 0; h < s.height; ++h) {
    int64_t last = h + s.top;  // the row of outputs whose window begins here, and those before
    int64_t first = std::max<int64_t>(last - s.kernel_h + 1, 0);
    int64_t k = (std::min(last + 1, s.out_height) - first) * s.out_c;
    std::fill_n(line, length, T(0));
    if (k > 0) {
      const T* from = turned + first * s.out_c;
      const T* rows = taps + (s.kernel_h - 1 - (last - first)) * s.out_c * PaddedLine(s);
      int64_t j = 0;
      for (; j + kLinePixels <= s.out_width; j += kLinePixels)
        AddShares<T, kBytes, kLinePixels, kVecs>(s, from, rows, mask, k, j, line);
      for (; j < s.out_width; ++j) AddShares<T, kBytes, 1, kVecs>(s, from, rows, mask, k, j, line);
    }
    std::memcpy(dx + h * s.width * s.c, line + s.left * s.c, s.width * s.c * sizeof(T));
  }
}

template <class T, int kBytes>
DYGRAPH_INLINE void FewChannelsImages(const FewChannels& s, const T* dy, const T* taps,
                                      const LineMask<T>* mask, T* turned, T* line, int64_t begin,
                                      int64_t end, T* dx) {
  constexpr int kLanes = kBytes / sizeof(T);
  int64_t outputs = s.out_height * s.out_width * s.out_c, pixels = s.height * s.width * s.c;
  for (int64_t i = begin; i < end; ++i) {
    if (s.Line() <= kLanes) {
      FewChannelsImage<T, kBytes, 1>(s, dy + i * outputs, taps, mask, turned, line,
                                     dx + i * pixels);
    } else {
      FewChannelsImage<T, kBytes, 2>(s, dy + i * outputs, taps, mask, turned, line,
                                     dx + i * pixels);
    }
  }
}

}  // namespace detail

// dx [n, height, width, c] from dy [n, out_height, out_width, out_c] and the filter [out_c, c,
// kernel_h, kernel_w].
template <class T>
void FewChannelsBackwardInput(const T* dy, const T* filter, const FewChannels& shape, T* dx) {
  const FewChannels* s = &shape;
  int64_t padded = detail::PaddedLine(shape), line = detail::PixelLine(shape);
  int64_t turned = shape.out_height * shape.out_width * shape.out_c;
  // [kernel_h, from below to above][out_c][kernel_w, c]
  int64_t size = shape.kernel_h * shape.out_c * padded;
  Scratch packed(CPUPlace(), static_cast<size_t>(size) * sizeof(T));
  T* taps = packed.as<T>();
  std::fill_n(taps, size, T(0));
  Scratch masks(CPUPlace(), static_cast<size_t>(padded) * sizeof(T));
  auto* mask = masks.as<detail::LineMask<T>>();
  for (int64_t k = 0; k < padded; ++k) mask[k] = k < shape.Line() ? -1 : 0;
  for (int64_t o = 0; o < shape.out_c; ++o) {
    for (int64_t k = 0; k < shape.c; ++k) {
      for (int64_t u = 0; u < shape.kernel_h; ++u) {
        T* to = taps + ((shape.kernel_h - 1 - u) * shape.out_c + o) * padded + k;
        for (int64_t v = 0; v < shape.kernel_w; ++v) to[v * shape.c] = *filter++;
      }
    }
  }
  ParallelRows(shape.n, turned * shape.kernel_h * padded / 8, [=](int64_t begin, int64_t end) {
    Scratch room(CPUPlace(), static_cast<size_t>(turned + line) * sizeof(T));
    T *outputs = room.as<T>(), *pixels = outputs + turned;
#if DYGRAPH_X86
    int level = CpuLevel();
    if (level >= 4) {
      return RunV4([=] {
        detail::FewChannelsImages<T, 64>(*s, dy, taps, mask, outputs, pixels, begin, end, dx);
      });
    }
    if (level >= 3) {
      return RunV3([=] {
        detail::FewChannelsImages<T, 32>(*s, dy, taps, mask, outputs, pixels, begin, end, dx);
      });
    }
#endif
    RunBase([=] {
      detail::FewChannelsImages<T, 16>(*s, dy, taps, mask, outputs, pixels, begin, end, dx);
    });
  });
}

}  // namespace dygraph::kernels
