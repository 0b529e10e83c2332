#include "kernels/conv_direct.h"

#include "kernels/gemm_tile.h"
#include "tensor/scratch.h"

namespace dygraph::kernels {
namespace {

// Output channels and vectors of pixels that are summed in registers.
struct DirectV4 {
  static constexpr int kBytes = 64, kRows = 8, kVecs = 3;
};
struct DirectV3 {
  static constexpr int kBytes = 32, kRows = 4, kVecs = 3;
};
struct DirectBase {
  static constexpr int kBytes = 16, kRows = 4, kVecs = 2;
};
constexpr int64_t kLargestTile = 64;  // pixels

// One image. A pixel of the result is numbered as in the padded image, whose lines are `pitch`
// long, so that neighbours stay neighbours; what lies between two lines of the result is computed
// and left out.
struct DirectShape {
  int64_t channels, height, pitch, kernel_h, kernel_w, out_c, out_h, out_w;
  int64_t taps, size, span, padded;  // size: of a padded channel; span: pixels worked on
  DirectShape(const Im2ColShape& s, int64_t out_channels)
      : channels(s.channels),
        height(s.height + s.top + s.bottom),
        pitch(s.width + s.left + s.right),
        kernel_h(s.kernel_h),
        kernel_w(s.kernel_w),
        out_c(out_channels),
        out_h(s.OutHeight()),
        out_w(s.OutWidth()) {
    taps = channels * kernel_h * kernel_w;
    size = height * pitch;
    span = (out_h - 1) * pitch + out_w + kLargestTile;
    padded = channels * size + 2 * kLargestTile;
  }
};

template <class T>
void PadImage(const T* x, const Im2ColShape& s, const DirectShape& d, T* to) {
  std::fill_n(to, d.padded, T(0));
  for (int64_t c = 0; c < s.channels; ++c) {
    T* line = to + c * d.size + s.top * d.pitch + s.left;
    for (int64_t h = 0; h < s.height; ++h, line += d.pitch, x += s.width)
      std::copy_n(x, s.width, line);
  }
}

// sums[i][p] for kRows channels and the pixels [0, tiles * tile).
template <class T, class Tile, int kRows>
DYGRAPH_INLINE void DirectRows(const DirectShape& d, const T* image, const T* filter, T* sums) {
  constexpr int kVecs = Tile::kVecs, kLanes = Tile::kBytes / static_cast<int>(sizeof(T));
  constexpr int64_t kTile = kVecs * kLanes;
  using Vec = typename tile::VecOf<T, Tile::kBytes>::type;
  const int64_t last = (d.out_h - 1) * d.pitch + d.out_w, taps = d.taps, kernel_w = d.kernel_w;
  const int64_t next_line = d.pitch - kernel_w, next_plane = d.size - d.kernel_h * d.pitch;
  for (int64_t p = 0; p < last; p += kTile) {
    Vec acc[kRows][kVecs] = {};
    const T *from = image + p, *w = filter;
    for (int64_t c = 0; c < d.channels; ++c, from += next_plane) {
      for (int64_t u = 0; u < d.kernel_h; ++u, from += next_line) {
        for (int64_t v = 0; v < kernel_w; ++v, ++from, ++w) {
          Vec pixels[kVecs];
#pragma GCC unroll 8
          for (int q = 0; q < kVecs; ++q) std::memcpy(&pixels[q], from + q * kLanes, sizeof(Vec));
#pragma GCC unroll 8
          for (int i = 0; i < kRows; ++i) {
            T factor = w[i * taps];
#pragma GCC unroll 8
            for (int q = 0; q < kVecs; ++q) acc[i][q] += factor * pixels[q];
          }
        }
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (int q = 0; q < kVecs; ++q)
        std::memcpy(sums + i * d.span + p + q * kLanes, &acc[i][q], sizeof(Vec));
    }
  }
}

template <class T, class Tile, int kRows>
DYGRAPH_INLINE void SomeDirectRows(int64_t rows, const DirectShape& d, const T* image,
                                   const T* filter, T* sums) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return SomeDirectRows<T, Tile, kRows - 1>(rows, d, image, filter, sums);
  }
  DirectRows<T, Tile, kRows>(d, image, filter, sums);
}

// The lines of the result from `sums` of `rows` channels. A line is written in whole vectors: what
// is too much belongs to the next lines, which come later and put it right.
template <class T, class Tile>
DYGRAPH_INLINE void StoreLines(const DirectShape& d, int64_t rows, const T* sums, const T* bias,
                               const T* residual, T* y) {
  constexpr int kLanes = Tile::kBytes / static_cast<int>(sizeof(T));
  using Vec = typename tile::VecOf<T, Tile::kBytes>::type;
  const T* end = y + rows * d.out_h * d.out_w;
  for (int64_t i = 0; i < rows; ++i) {
    const T b = bias ? bias[i] : T(0);
    for (int64_t h = 0; h < d.out_h; ++h) {
      const T* from = sums + i * d.span + h * d.pitch;
      for (int64_t j = 0; j < d.out_w; j += kLanes) {
        const int64_t n = std::min<int64_t>(kLanes, d.out_w - j);
        if (end - y >= kLanes) {
          Vec value, more = {};
          std::memcpy(&value, from + j, sizeof(Vec));
          if (residual) std::memcpy(&more, residual, sizeof(Vec));
          if (bias) more += b;
          if (bias || residual) value += more;
          std::memcpy(y, &value, sizeof(Vec));
        } else {
          for (int64_t k = 0; k < n; ++k) {
            T more = residual ? residual[k] : T(0);
            if (bias) more += b;
            y[k] = bias || residual ? from[j + k] + more : from[j + k];
          }
        }
        y += n;
        if (residual) residual += n;
      }
    }
  }
}

template <class Body>
void WithDirectTile(int level, const Body& body) {
#if DYGRAPH_X86
  if (level >= 4) return RunV4([body] { body(DirectV4()); });
  if (level >= 3) return RunV3([body] { body(DirectV3()); });
#endif
  (void)level;
  RunBase([body] { body(DirectBase()); });
}

}  // namespace

bool ConvDirectPays(const Im2ColShape& s, int64_t out_c) {
  constexpr int64_t kMostTaps = 1024, kMostPixels = 1 << 14;  // what stays in the first caches
  if (s.stride_h != 1 || s.stride_w != 1 || s.dilation_h != 1 || s.dilation_w != 1) return false;
  if (s.depth != 1 || s.kernel_d != 1 || s.front != 0 || s.back != 0) return false;
  if (s.kernel_h * s.kernel_w == 1 || out_c < 4) return false;
  DirectShape d(s, out_c);
  return d.taps <= kMostTaps && d.padded <= kMostPixels && d.out_h * d.out_w >= kLargestTile &&
         2 * d.pitch <= 3 * d.out_w;
}

template <class T>
void ConvDirect(const T* x, const T* filter, const T* bias, const T* residual, const Im2ColShape& s,
                int64_t n, int64_t out_c, T* y) {
  const DirectShape d(s, out_c);
  const int64_t in_size = s.channels * s.height * s.width, plane = d.out_h * d.out_w;
  const int level = CpuLevel();
  const int64_t most = level >= 4   ? DirectV4::kRows
                       : level >= 3 ? DirectV3::kRows
                                    : DirectBase::kRows;
  const int64_t blocks = (out_c + most - 1) / most;  // of nearly one height
  Scratch images(CPUPlace(), static_cast<size_t>(n * d.padded) * sizeof(T));
  T* padded = images.as<T>();
  ParallelRows(n, d.padded, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) PadImage(x + i * in_size, s, d, padded + i * d.padded);
  });
  ParallelRows(n * blocks, most * d.span * d.taps / 8, [&](int64_t begin, int64_t end) {
    Scratch room(CPUPlace(), static_cast<size_t>(most * d.span) * sizeof(T));
    T* sums = room.as<T>();
    WithDirectTile(level, [=](auto kind) __attribute__((always_inline)) {
      using Tile = decltype(kind);
      for (int64_t r = begin; r < end; ++r) {
        int64_t i = r / blocks, block = r % blocks, first = out_c * block / blocks;
        int64_t rows = out_c * (block + 1) / blocks - first, at = (i * out_c + first) * plane;
        SomeDirectRows<T, Tile, Tile::kRows>(rows, d, padded + i * d.padded,
                                             filter + first * d.taps, sums);
        StoreLines<T, Tile>(d, rows, sums, bias ? bias + first : nullptr,
                            residual ? residual + at : nullptr, y + at);
      }
    });
  });
}

template void ConvDirect<float>(const float*, const float*, const float*, const float*,
                                const Im2ColShape&, int64_t, int64_t, float*);
template void ConvDirect<double>(const double*, const double*, const double*, const double*,
                                 const Im2ColShape&, int64_t, int64_t, double*);

}  // namespace dygraph::kernels
