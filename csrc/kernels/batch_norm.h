// Per-channel sums and affine maps of an array seen as [outer, channels, inner]: NCHW data has the
// pixels inside, NHWC data has an inner size of 1.
//
// Sums are taken over blocks whose borders depend on the shape alone: floats within a block,
// doubles between blocks in order. The bits do not depend on the thread count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/parallel.h"
#include "kernels/simd.h"

namespace dygraph::kernels {

struct ChannelShape {
  int64_t outer, channels, inner;
  int64_t count() const { return outer * inner; }  // elements of a channel
  int64_t numel() const { return count() * channels; }
};

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

// Blocks of whole rows for an inner size of 1.
struct RowBlocks {
  int64_t together, rows, count;
  explicit RowBlocks(const ChannelShape& s) {
    together = RowsTogether(s.channels);
    rows = std::max<int64_t>(kStatBlock / (s.channels * together), 1) * together;
    count = (s.outer + rows - 1) / rows;
  }
};

}  // namespace detail

// mean[c] and variance[c], the biased one, of each channel. A block's mean is first taken roughly,
// then corrected by the deviations from it, so that channels far from zero lose nothing.
template <class T>
void ChannelMoments(const T* x, const ChannelShape& s, double* mean, double* variance) {
  int64_t channels = s.channels, outer = s.outer, inner = s.inner;
  // Joins n elements whose mean is m + e and whose squared deviations from m add up to v.
  auto join = [](double n, double m, double e, double v, double seen, double* mean, double* squares)
                  __attribute__((always_inline)) {
                    double d = m + e - *mean, total = seen + n;
                    *mean += d * n / total;
                    *squares += v - n * e * e + d * d * seen * n / total;
                  };
  if (inner == 1) {
    detail::RowBlocks b(s);
    std::vector<T> sums(3 * b.count * channels);
    T* all = sums.data();
    ParallelRows(b.count, b.rows * channels * 3, [=](int64_t begin, int64_t end) {
      int64_t width = b.together * channels;
      std::vector<T> buffer(3 * width);
      T *acc = buffer.data(), *squares = acc + width, *wide = squares + width;
      Simd([=] {
        for (int64_t i = begin; i < end; ++i) {
          int64_t rows = std::min(b.rows, outer - i * b.rows), groups = rows / b.together;
          const T* from = x + i * b.rows * channels;
          T *m = all + 3 * i * channels, *e = m + channels, *v = e + channels;
          for (int64_t j = 0; j < width; ++j) acc[j] = squares[j] = 0;
          for (int64_t r = 0; r < groups; ++r) {
            DYGRAPH_IVDEP
            for (int64_t j = 0; j < width; ++j) acc[j] += from[r * width + j];
          }
          detail::Fold(acc, b.together, channels, m);
          for (int64_t at = groups * width; at < rows * channels; ++at)
            m[at % channels] += from[at];
          T factor = T(1) / static_cast<T>(rows);
          for (int64_t c = 0; c < channels; ++c) m[c] *= factor;
          for (int64_t k = 0; k < b.together; ++k) {
            for (int64_t c = 0; c < channels; ++c) wide[k * channels + c] = m[c];
          }
          for (int64_t j = 0; j < width; ++j) acc[j] = 0;
          for (int64_t r = 0; r < groups; ++r) {
            DYGRAPH_IVDEP
            for (int64_t j = 0; j < width; ++j) {
              T d = from[r * width + j] - wide[j];
              acc[j] += d;
              squares[j] += d * d;
            }
          }
          detail::Fold(acc, b.together, channels, e);
          detail::Fold(squares, b.together, channels, v);
          for (int64_t at = groups * width; at < rows * channels; ++at) {
            T d = from[at] - m[at % channels];
            e[at % channels] += d;
            v[at % channels] += d * d;
          }
        }
      });
    });
    for (int64_t c = 0; c < channels; ++c) mean[c] = variance[c] = 0;
    double seen = 0;
    for (int64_t i = 0; i < b.count; ++i) {
      double rows = static_cast<double>(std::min(b.rows, outer - i * b.rows));
      const T *m = all + 3 * i * channels, *e = m + channels, *v = e + channels;
      for (int64_t c = 0; c < channels; ++c) {
        join(rows, m[c], static_cast<double>(e[c]) / rows, v[c], seen, mean + c, variance + c);
      }
      seen += rows;
    }
    for (int64_t c = 0; c < channels; ++c) variance[c] = std::max(variance[c] / seen, 0.0);
    return;
  }
  ParallelRows(channels, outer * inner * 3, [=](int64_t begin, int64_t end) {
    Simd([=] {
      for (int64_t c = begin; c < end; ++c) {
        double m = 0, v = 0, seen = 0;
        for (int64_t o = 0; o < outer; ++o) {
          for (int64_t at = 0; at < inner; at += detail::kStatBlock) {
            int64_t n = std::min(detail::kStatBlock, inner - at);
            const T* from = x + (o * channels + c) * inner + at;
            T rough = detail::AddLane<T>(n, [=](int64_t i) { return from[i]; }) / static_cast<T>(n);
            T rest = detail::AddLane<T>(n, [=](int64_t i) { return from[i] - rough; });
            T squares = detail::AddLane<T>(
                n, [=](int64_t i) { return (from[i] - rough) * (from[i] - rough); });
            double count = static_cast<double>(n);
            join(count, rough, static_cast<double>(rest) / count, squares, seen, &m, &v);
            seen += count;
          }
        }
        mean[c] = m;
        variance[c] = std::max(v / seen, 0.0);
      }
    });
  });
}

// sum_g[c] = sum of g, sum_gx[c] = sum of g (x - mean[c]).
template <class T>
void ChannelGradSums(const T* x, const T* g, const T* mean, const ChannelShape& s, double* sum_g,
                     double* sum_gx) {
  int64_t channels = s.channels, outer = s.outer, inner = s.inner;
  if (inner == 1) {
    detail::RowBlocks b(s);
    std::vector<T> sums(2 * b.count * channels);
    T* all = sums.data();
    ParallelRows(b.count, b.rows * channels * 3, [=](int64_t begin, int64_t end) {
      std::vector<T> buffer(3 * channels * b.together);
      int64_t width = b.together * channels;
      T *acc = buffer.data(), *acc_x = acc + width, *wide = acc_x + width;
      for (int64_t j = 0; j < width; ++j) wide[j] = mean[j % channels];
      Simd([=] {
        for (int64_t i = begin; i < end; ++i) {
          int64_t rows = std::min(b.rows, outer - i * b.rows), groups = rows / b.together;
          const T *xs = x + i * b.rows * channels, *gs = g + i * b.rows * channels;
          T *to = all + 2 * i * channels, *to_x = to + channels;
          for (int64_t j = 0; j < width; ++j) acc[j] = acc_x[j] = 0;
          for (int64_t r = 0; r < groups; ++r) {
            DYGRAPH_IVDEP
            for (int64_t j = 0; j < width; ++j) {
              T v = gs[r * width + j];
              acc[j] += v;
              acc_x[j] += v * (xs[r * width + j] - wide[j]);
            }
          }
          detail::Fold(acc, b.together, channels, to);
          detail::Fold(acc_x, b.together, channels, to_x);
          for (int64_t at = groups * width; at < rows * channels; ++at) {
            to[at % channels] += gs[at];
            to_x[at % channels] += gs[at] * (xs[at] - wide[at % channels]);
          }
        }
      });
    });
    for (int64_t c = 0; c < channels; ++c) sum_g[c] = sum_gx[c] = 0;
    for (int64_t i = 0; i < b.count; ++i) {
      for (int64_t c = 0; c < channels; ++c) {
        sum_g[c] += static_cast<double>(all[2 * i * channels + c]);
        sum_gx[c] += static_cast<double>(all[(2 * i + 1) * channels + c]);
      }
    }
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
            const T *xs = x + from, *gs = g + from;
            total += static_cast<double>(detail::AddLane<T>(n, [=](int64_t i) { return gs[i]; }));
            total_x += static_cast<double>(
                detail::AddLane<T>(n, [=](int64_t i) { return gs[i] * (xs[i] - m); }));
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
