// Per-channel sums and affine maps of an array seen as [outer, channels, inner]: NCHW data has the
// pixels inside, NHWC data has an inner size of 1.
//
// Sums are taken over blocks whose borders depend on the shape alone: floats within a block,
// doubles between blocks in order. The bits do not depend on the thread count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/channel_shape.h"
#include "kernels/parallel.h"
#include "kernels/simd.h"

namespace dygraph::kernels {

namespace detail {

constexpr int64_t kStatBlock = 4096;  // elements of a block: they stay in the first cache

// Rows of few channels are taken several at a time, so that vectors are full.
inline int64_t RowsTogether(int64_t channels) { return channels >= 64 ? 1 : 64 / channels; }

template <class T, class F>
DYGRAPH_INLINE T AddLane(int64_t n, F f) {
  constexpr int kLanes = 32;
  T lane[kLanes];
  for (int k = 0; k < kLanes; ++k) lane[k] = 0;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) lane[k] += f(i + k);
  }
  for (int step = kLanes / 2; step > 0; step /= 2) {
    for (int k = 0; k < step; ++k) lane[k] += lane[k + step];
  }
  for (; i < n; ++i) lane[0] += f(i);
  return lane[0];
}

// to[c] = acc[c] + acc[channels + c] + ...
template <class T>
DYGRAPH_INLINE void Fold(const T* acc, int64_t together, int64_t channels, T* to) {
  for (int64_t c = 0; c < channels; ++c) to[c] = acc[c];
  for (int64_t k = 1; k < together; ++k) {
    for (int64_t c = 0; c < channels; ++c) to[c] += acc[k * channels + c];
  }
}

// The opposite: `to` gets the channels `together` times.
template <class T>
DYGRAPH_INLINE void Repeat(const T* from, int64_t together, int64_t channels, T* to) {
  for (int64_t k = 0; k < together; ++k) {
    for (int64_t c = 0; c < channels; ++c) to[k * channels + c] = from[c];
  }
}

// sum[j] and sum_x[j] get the sums over rows, `stride` apart, of what body(at, j, s, sx) sets s and
// sx to, `at` being the number of the element of column j. Sums in registers over a few columns
// were measured slower: memory is best read in order.
template <bool kFourRows, class T, class Body>
DYGRAPH_INLINE void SumRows(int64_t rows, int64_t stride, int64_t width, T* sum, T* sum_x,
                            const Body& body) {
  for (int64_t j = 0; j < width; ++j) sum[j] = sum_x[j] = 0;
  int64_t r = 0;
  for (; kFourRows && r + 4 <= rows; r += 4) {
    DYGRAPH_IVDEP
    for (int64_t j = 0; j < width; ++j) {
      T s0, s1, s2, s3, x0, x1, x2, x3;
      body(r * stride + j, j, s0, x0);
      body((r + 1) * stride + j, j, s1, x1);
      body((r + 2) * stride + j, j, s2, x2);
      body((r + 3) * stride + j, j, s3, x3);
      sum[j] += (s0 + s1) + (s2 + s3);
      sum_x[j] += (x0 + x1) + (x2 + x3);
    }
  }
  for (; r < rows; ++r) {
    DYGRAPH_IVDEP
    for (int64_t j = 0; j < width; ++j) {
      T s, sx;
      body(r * stride + j, j, s, sx);
      sum[j] += s;
      sum_x[j] += sx;
    }
  }
}

// Joins n elements to `seen` others, whose mean is *mean and whose squared deviations add up to
// *squares. Of the n, m is a rough mean, e the sum and v the squared sum of the deviations from it.
struct Joint {
  double n, inverse, weight, cross;
  DYGRAPH_INLINE Joint(int64_t count, int64_t seen)
      : n(static_cast<double>(count)), inverse(1 / n) {
    weight = n / (n + static_cast<double>(seen));
    cross = static_cast<double>(seen) * weight;
  }
  template <class T>
  DYGRAPH_INLINE void Add(T m, T e, T v, double* mean, double* squares) const {
    double rest = static_cast<double>(e) * inverse;
    double d = static_cast<double>(m) + rest - *mean;
    *mean += d * weight;
    *squares += static_cast<double>(v) - n * rest * rest + d * d * cross;
  }
};

// Blocks for an inner size of 1. Those of many channels hold a tile of them, so that their sums
// stay in the first cache; few channels are taken several rows together, so that vectors are full.
struct RowBlocks {
  static constexpr int64_t kWidth = 512;
  int64_t channels, outer, together, tile, rows, tiles, down;
  explicit RowBlocks(const ChannelShape& s) : channels(s.channels), outer(s.outer) {
    constexpr int64_t kBlock = 16384;  // elements: they stay in the second cache
    together = RowsTogether(channels);
    tile = std::min(channels, kWidth);
    tiles = (channels + tile - 1) / tile;
    rows = std::max<int64_t>(kBlock / (tile * together), 1) * together;
    down = (outer + rows - 1) / rows;
  }
  int64_t RowsOf(int64_t i) const { return std::min(rows, outer - i * rows); }
};

// One of them: `groups` lines of `width` numbers, `stride` apart, and `rest` numbers behind the
// last, where rows are taken together. `first` is its first channel, `from` its first element.
struct RowBlock {
  int64_t first, from, n, groups, stride, width, rest, row;
  DYGRAPH_INLINE RowBlock(const RowBlocks& b, int64_t block) {
    row = block / b.tiles;
    first = block % b.tiles * b.tile;
    from = row * b.rows * b.channels + first;
    n = std::min(b.tile, b.channels - first);
    groups = b.RowsOf(row) / b.together;
    stride = b.together * b.channels;
    width = b.together > 1 ? stride : n;
    rest = b.RowsOf(row) % b.together * b.channels;
  }
};

// Calls body(block) for all of them.
template <class Body>
void ForBlocks(const RowBlocks& b, const Body& body) {
  ParallelRows(b.down * b.tiles, b.rows * b.tile * 3, [=](int64_t begin, int64_t end) {
    Simd([=] {
      for (int64_t i = begin; i < end; ++i) body(RowBlock(b, i));
    });
  });
}

// Calls body(first, last) for runs of channels, in loops over blocks x channels.
template <class Body>
void ForChannels(const ChannelShape& s, int64_t blocks, const Body& body) {
  ParallelRows((s.channels + 63) / 64, 64 * blocks * 4, [&](int64_t begin, int64_t end) {
    int64_t first = begin * 64, last = std::min(end * 64, s.channels);
    Simd([=] { body(first, last); });
  });
}

}  // namespace detail

// mean[c] and variance[c], the biased one, of each channel. A block's mean is first taken roughly,
// then corrected by the deviations from it, so that channels far from zero lose nothing.
template <class T>
void ChannelMoments(const T* x, const ChannelShape& s, double* mean, double* variance) {
  int64_t channels = s.channels, outer = s.outer, inner = s.inner;
  if (inner == 1) {
    detail::RowBlocks b(s);
    std::vector<T> sums(3 * b.down * channels);
    T* all = sums.data();
    detail::ForBlocks(b, [=](const detail::RowBlock& k) __attribute__((always_inline)) {
      T acc[detail::RowBlocks::kWidth], squares[detail::RowBlocks::kWidth];
      T wide[detail::RowBlocks::kWidth];
      const T *from = x + k.from, *behind = from + k.groups * k.stride;
      T *m = all + 3 * k.row * channels + k.first, *e = m + channels, *v = e + channels;
      int64_t n = k.n, width = k.width, stride = k.stride;
      for (int64_t j = 0; j < width; ++j) acc[j] = 0;
      for (int64_t r = 0; r < k.groups; ++r) {
        DYGRAPH_IVDEP
        for (int64_t j = 0; j < width; ++j) acc[j] += from[r * stride + j];
      }
      detail::Fold(acc, b.together, n, m);
      for (int64_t at = 0; at < k.rest; ++at) m[at % n] += behind[at];
      T factor = T(1) / static_cast<T>(b.RowsOf(k.row));
      for (int64_t c = 0; c < n; ++c) m[c] *= factor;
      detail::Repeat(m, b.together, n, wide);
      detail::SumRows<true>(k.groups, stride, width, acc, squares,
                            [=](int64_t at, int64_t j, T& d, T& square)
                                __attribute__((always_inline)) {
                                  d = from[at] - wide[j];
                                  square = d * d;
                                });
      detail::Fold(acc, b.together, n, e);
      detail::Fold(squares, b.together, n, v);
      for (int64_t at = 0; at < k.rest; ++at) {
        T d = behind[at] - m[at % n];
        e[at % n] += d;
        v[at % n] += d * d;
      }
    });
    detail::ForChannels(s, b.down, [=](int64_t first, int64_t last) {
      for (int64_t c = first; c < last; ++c) mean[c] = variance[c] = 0;
      for (int64_t i = 0; i < b.down; ++i) {
        detail::Joint share(b.RowsOf(i), i * b.rows);
        const T *m = all + 3 * i * channels, *e = m + channels, *v = e + channels;
        DYGRAPH_IVDEP
        for (int64_t c = first; c < last; ++c) share.Add(m[c], e[c], v[c], mean + c, variance + c);
      }
      for (int64_t c = first; c < last; ++c) {
        double v = variance[c] / static_cast<double>(outer);
        variance[c] = v < 0 ? 0 : v;  // a NaN stays
      }
    });
    return;
  }
  ParallelRows(channels, outer * inner * 3, [=](int64_t begin, int64_t end) {
    Simd([=] {
      for (int64_t c = begin; c < end; ++c) {
        double m = 0, v = 0;
        int64_t seen = 0;
        for (int64_t o = 0; o < outer; ++o) {
          for (int64_t at = 0; at < inner; at += detail::kStatBlock) {
            int64_t n = std::min(detail::kStatBlock, inner - at);
            const T* from = x + (o * channels + c) * inner + at;
            T rough = detail::AddLane<T>(n, [=](int64_t i) { return from[i]; }) / static_cast<T>(n);
            T rest = detail::AddLane<T>(n, [=](int64_t i) { return from[i] - rough; });
            T squares = detail::AddLane<T>(
                n, [=](int64_t i) { return (from[i] - rough) * (from[i] - rough); });
            detail::Joint(n, seen).Add(rough, rest, squares, &m, &v);
            seen += n;
          }
        }
        mean[c] = m;
        variance[c] = v < 0 ? 0 : v / static_cast<double>(seen);  // a NaN stays
      }
    });
  });
}

// sum_g[c] = sum of g(i), sum_gx[c] = sum of g(i) (x[i] - mean[c]).
template <class T, class G>
void ChannelGradSums(const T* x, const G& g, const T* mean, const ChannelShape& s, double* sum_g,
                     double* sum_gx) {
  int64_t channels = s.channels, outer = s.outer, inner = s.inner;
  if (inner == 1) {
    detail::RowBlocks b(s);
    std::vector<T> sums(2 * b.down * channels);
    T* all = sums.data();
    detail::ForBlocks(b, [=](const detail::RowBlock& k) __attribute__((always_inline)) {
      T acc[detail::RowBlocks::kWidth], acc_x[detail::RowBlocks::kWidth];
      T wide[detail::RowBlocks::kWidth];
      const T* xs = x + k.from;
      int64_t from = k.from;
      T *to = all + 2 * k.row * channels + k.first, *to_x = to + channels;
      int64_t n = k.n, behind = k.groups * k.stride;
      detail::Repeat(mean + k.first, b.together, n, wide);
      detail::SumRows<false>(k.groups, k.stride, k.width, acc, acc_x,
                             [=](int64_t at, int64_t j, T& v, T& vx)
                                 __attribute__((always_inline)) {
                                   v = g(from + at);
                                   vx = v * (xs[at] - wide[j]);
                                 });
      detail::Fold(acc, b.together, n, to);
      detail::Fold(acc_x, b.together, n, to_x);
      for (int64_t at = 0; at < k.rest; ++at) {
        T v = g(from + behind + at);
        to[at % n] += v;
        to_x[at % n] += v * (xs[behind + at] - wide[at % n]);
      }
    });
    detail::ForChannels(s, b.down, [=](int64_t first, int64_t last) {
      for (int64_t c = first; c < last; ++c) sum_g[c] = sum_gx[c] = 0;
      for (int64_t i = 0; i < b.down; ++i) {
        const T *to = all + 2 * i * channels, *to_x = to + channels;
        DYGRAPH_IVDEP
        for (int64_t c = first; c < last; ++c) {
          sum_g[c] += static_cast<double>(to[c]);
          sum_gx[c] += static_cast<double>(to_x[c]);
        }
      }
    });
    return;
  }
  ParallelRows(channels, outer * inner * 3, [=](int64_t begin, int64_t end) {
    Simd([=] {
      for (int64_t c = begin; c < end; ++c) {
        double total = 0, total_x = 0;
        T m = mean[c];
        for (int64_t o = 0; o < outer; ++o) {
          for (int64_t at = 0; at < inner; at += detail::kStatBlock) {
            int64_t n = std::min(detail::kStatBlock, inner - at),
                    from = (o * channels + c) * inner + at;
            const T* xs = x + from;
            total +=
                static_cast<double>(detail::AddLane<T>(n, [=](int64_t i) { return g(from + i); }));
            total_x += static_cast<double>(
                detail::AddLane<T>(n, [=](int64_t i) { return g(from + i) * (xs[i] - m); }));
          }
        }
        sum_g[c] = total;
        sum_gx[c] = total_x;
      }
    });
  });
}

// out = f(element, a[c], b[c], d[c], e[c]) for every element; `vectors` holds the four one after
// the other.
template <class T, class F>
void ChannelMap(const ChannelShape& s, const T* vectors, T* out, F f) {
  int64_t channels = s.channels, outer = s.outer, inner = s.inner;
  const T *a = vectors, *b = a + channels, *d = b + channels, *e = d + channels;
  if (inner == 1) {
    int64_t together = detail::RowsTogether(channels), width = together * channels;
    int64_t groups = (outer + together - 1) / together, numel = outer * channels;
    std::vector<T> wide(together > 1 ? 4 * width : 0);
    if (together > 1) {
      for (int v = 0; v < 4; ++v) {
        for (int64_t j = 0; j < width; ++j)
          wide[v * width + j] = vectors[v * channels + j % channels];
      }
      a = wide.data();
      b = a + width;
      d = b + width;
      e = d + width;
    }
    ParallelRows(groups, width * 2, [=](int64_t begin, int64_t end) {
      Simd([=] {
        for (int64_t r = begin; r < end; ++r) {
          int64_t from = r * width, n = std::min(width, numel - from);
          DYGRAPH_IVDEP
          for (int64_t j = 0; j < n; ++j) out[from + j] = f(from + j, a[j], b[j], d[j], e[j]);
        }
      });
    });
    return;
  }
  ParallelRows(outer * channels, inner * 2, [=](int64_t begin, int64_t end) {
    Simd([=] {
      for (int64_t r = begin; r < end; ++r) {
        int64_t c = r % channels, from = r * inner;
        T ac = a[c], bc = b[c], dc = d[c], ec = e[c];
        DYGRAPH_IVDEP
        for (int64_t j = from; j < from + inner; ++j) out[j] = f(j, ac, bc, dc, ec);
      }
    });
  });
}

}  // namespace dygraph::kernels
