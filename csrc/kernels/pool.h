// 2-D pooling over explicit windows. One loop serves both orders: an NCHW array is n * c images of
// one channel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/parallel.h"
#include "kernels/pool_lines.h"
#include "kernels/pool_shape.h"
#include "kernels/simd.h"

namespace dygraph::kernels {

namespace detail {

// Few channels are worked on as if there were this many, so that loops have a fixed length: what is
// too much belongs to the next pixels, which come later and put it right.
constexpr int64_t kPoolLanes = 16;
using PoolLanes = std::integral_constant<int64_t, kPoolLanes>;

// That much can be read from every pixel of the window.
DYGRAPH_INLINE bool LanesReadable(const PoolShape& s, int64_t image, int64_t i, int64_t j) {
  int64_t last = image * s.InPixels() + (s.h.end[i] - 1) * s.w.in + s.w.end[j] - 1;
  return s.channels <= kPoolLanes && (s.images * s.InPixels() - last) * s.channels >= kPoolLanes;
}

// Calls body(image, oh, ow, first channel, channels) for every output pixel, sharing out rows of
// outputs.
template <class Body>
void ForPoolRows(const PoolShape& s, const Body& body) {
  int64_t oh = s.h.out(), ow = s.w.out();
  int64_t window = oh * ow == 0 ? 1 : std::max<int64_t>(s.InPixels() / (oh * ow), 1);
  const PoolShape* p = &s;
  ParallelRows(s.images * oh, ow * s.channels * window * 2, [=](int64_t begin, int64_t end) {
    Simd([=] {
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t j = 0; j < ow; ++j) {
          if (p->channels == 1) {
            body(*p, r / oh, r % oh, j, int64_t{0}, std::integral_constant<int64_t, 1>());
            continue;
          }
          if ((ow - j) * p->channels >= kPoolLanes && LanesReadable(*p, r / oh, r % oh, j)) {
            body(*p, r / oh, r % oh, j, int64_t{0}, PoolLanes());
            continue;
          }
          for (int64_t c = 0; c < p->channels; c += kPoolTile) {
            body(*p, r / oh, r % oh, j, c, std::min(kPoolTile, p->channels - c));
          }
        }
      }
    });
  });
}

// The same, but one thread sees all pixels of its channels: for gradients, whose windows overlap
// and which therefore write no more than min(n, s.channels - c) values.
template <class Body>
void ForPoolImages(const PoolShape& s, const Body& body) {
  constexpr int64_t kTile = 64;
  int64_t oh = s.h.out(), ow = s.w.out(), tiles = (s.channels + kTile - 1) / kTile;
  const PoolShape* p = &s;
  ParallelRows(s.images * tiles, s.InPixels() * std::min(s.channels, kTile) * 2,
               [=](int64_t begin, int64_t end) {
                 Simd([=] {
                   for (int64_t t = begin; t < end; ++t) {
                     int64_t c = t % tiles * kTile;
                     for (int64_t i = 0; i < oh; ++i) {
                       for (int64_t j = 0; j < ow; ++j) {
                         if (p->channels == 1) {
                           body(*p, t / tiles, i, j, int64_t{0},
                                std::integral_constant<int64_t, 1>());
                         } else if (LanesReadable(*p, t / tiles, i, j)) {
                           body(*p, t / tiles, i, j, int64_t{0}, PoolLanes());
                         } else {
                           body(*p, t / tiles, i, j, c, std::min(kTile, p->channels - c));
                         }
                       }
                     }
                   }
                 });
               });
}

// The maximum of one window per channel, the first of equals, and its pixel; NaN wins; -1 and 0 for
// an empty window.
template <class T, class N>
DYGRAPH_INLINE void MaxWindow(const PoolShape& s, const T* x, int64_t image, int64_t i, int64_t j,
                              int64_t c, N n, T* value, int32_t* at) {
  const T* plane = x + image * s.InPixels() * s.channels + c;
  int64_t h0 = s.h.begin[i], h1 = s.h.end[i], w0 = s.w.begin[j], w1 = s.w.end[j];
  bool empty = h0 >= h1 || w0 >= w1;
  int32_t first = empty ? -1 : static_cast<int32_t>(h0 * s.w.in + w0);
  for (int64_t k = 0; k < n; ++k) {
    value[k] = empty ? T(0) : plane[first * s.channels + k];
    at[k] = first;
  }
  for (int64_t h = h0; h < h1; ++h) {
    for (int64_t w = w0; w < w1; ++w) {
      int32_t pixel = static_cast<int32_t>(h * s.w.in + w);
      const T* from = plane + pixel * s.channels;
      for (int64_t k = 0; k < n; ++k) {
        bool better = ((from[k] > value[k]) | (from[k] != from[k])) & (value[k] == value[k]);
        value[k] = better ? from[k] : value[k];
        at[k] = better ? pixel : at[k];
      }
    }
  }
}

// The maximum alone.
template <class T, class N>
DYGRAPH_INLINE void MaxWindowValue(const PoolShape& s, const T* x, int64_t image, int64_t i,
                                   int64_t j, int64_t c, N n, T* value) {
  const T* plane = x + image * s.InPixels() * s.channels + c;
  int64_t h0 = s.h.begin[i], h1 = s.h.end[i], w0 = s.w.begin[j], w1 = s.w.end[j];
  bool empty = h0 >= h1 || w0 >= w1;
  const T* first = plane + (empty ? 0 : h0 * s.w.in + w0) * s.channels;
  for (int64_t k = 0; k < n; ++k) value[k] = empty ? T(0) : first[k];
  for (int64_t h = h0; h < h1; ++h) {
    for (int64_t w = w0; w < w1; ++w) {
      const T* from = plane + (h * s.w.in + w) * s.channels;
      for (int64_t k = 0; k < n; ++k) value[k] = Larger(value[k], from[k]);
    }
  }
}

// Few channels, channels last: a loop over the channels of one pixel is too short, so work goes
// along lines of pixels, and the picking of pixels copies kPoolLanes values whatever the number of
// channels: what is too much is overwritten by the next copy.
constexpr int64_t kPoolLine = 2048;

inline bool FitsLines(const PoolShape& s) {
  return s.channels > 1 && s.channels <= kPoolLanes && s.w.in * s.channels <= kPoolLine &&
         LongestWindow(s.h) > 0 && LongestWindow(s.w) > 0;
}

// to[0, n) = from[0, n), n <= kPoolLanes; more where `room` has space for kPoolLanes.
template <class T>
DYGRAPH_INLINE void CopyPixel(const T* from, T* to, int64_t n, bool room) {
  if (!room) {
    for (int64_t k = 0; k < n; ++k) to[k] = from[k];
  } else if (n <= kPoolLanes / 2) {
    std::memcpy(to, from, kPoolLanes / 2 * sizeof(T));
  } else {
    std::memcpy(to, from, kPoolLanes * sizeof(T));
  }
}

// The rows of a window first, a whole line at a time, then its columns.
template <class T>
void MaxPoolFewChannels(const T* x, const PoolShape& shape, T* y) {
  const PoolShape* p = &shape;
  int64_t oh = shape.h.out(), ow = shape.w.out(), c = shape.channels, width = shape.w.in * c;
  ParallelRows(shape.images * oh, width * 4, [=](int64_t begin, int64_t end) {
    Simd([=] {
      T line[kPoolLine + kPoolLanes], out[kPoolLine + kPoolLanes];
      for (int64_t r = begin; r < end; ++r) {
        const T* rows = x + (r / oh) * p->InPixels() * c;
        int64_t h0 = p->h.begin[r % oh], h1 = p->h.end[r % oh];
        for (int64_t k = 0; k < width; ++k) line[k] = rows[h0 * width + k];
        for (int64_t h = h0 + 1; h < h1; ++h) {
          const T* row = rows + h * width;
          DYGRAPH_IVDEP
          for (int64_t k = 0; k < width; ++k) line[k] = Larger(line[k], row[k]);
        }
        for (int64_t j = 0; j < ow; ++j) {
          const T* first = line + p->w.begin[j] * c;
          T* to = out + j * c;
          int64_t taps = p->w.end[j] - p->w.begin[j];
          if (taps == 2) {
            DYGRAPH_IVDEP
            for (int64_t k = 0; k < kPoolLanes; ++k) to[k] = Larger(first[k], first[c + k]);
            continue;
          }
          for (int64_t k = 0; k < kPoolLanes; ++k) to[k] = first[k];
          for (int64_t t = 1; t < taps; ++t) {
            DYGRAPH_IVDEP
            for (int64_t k = 0; k < kPoolLanes; ++k) to[k] = Larger(to[k], first[t * c + k]);
          }
        }
        for (int64_t k = 0; k < ow * c; ++k) y[r * ow * c + k] = out[k];
      }
    });
  });
}

// The pixels at one place of all windows of a row make a line: lines are compared, and the gradient
// goes to the line that won. All lines are picked before any is compared, and all shares made
// before any is put back: a vector that was just written in overlapping pieces is slow to read.
constexpr int64_t kTiledRows = 4;  // of a window, at most

template <class T>
void MaxPoolBackwardTiled(const T* x, const T* dy, const PoolShape& shape, T* dx) {
  const PoolShape* p = &shape;
  int64_t oh = shape.h.out(), ow = shape.w.out(), c = shape.channels, width = shape.w.in * c;
  ParallelRows(shape.images * oh, width * 8, [=](int64_t begin, int64_t end) {
    Simd([=] {
      T lines[kTiledRows * kPoolLine + kPoolLanes], value[kPoolLine + kPoolLanes];
      int32_t at[kPoolLine + kPoolLanes];
      int64_t kh = p->h.in / oh, kw = p->w.in / ow, n = ow * c, taps = kh * kw;
      int64_t whole = (n + kPoolLanes - 1) / kPoolLanes * kPoolLanes;
      for (int64_t r = begin; r < end; ++r) {
        const T* rows = x + ((r / oh) * p->InPixels() + r % oh * kh * p->w.in) * c;
        T* to = dx + (rows - x);
        const T* g = dy + r * n;
        for (int64_t t = 0; t < taps; ++t) {
          const T* from = rows + t / kw * width + t % kw * c;
          for (int64_t j = 0; j < ow; ++j) {
            CopyPixel(from + j * kw * c, lines + t * n + j * c, c,
                      t % kw * c + j * kw * c + kPoolLanes <= width);
          }
        }
        // Whole vectors: what is behind a line is put right with the next one, or not used.
        for (int64_t k = 0; k < whole; ++k) {
          value[k] = lines[k];
          at[k] = 0;
        }
        for (int64_t t = 1; t < taps; ++t) {
          const T* tap = lines + t * n;
          int32_t number = static_cast<int32_t>(t);
          DYGRAPH_IVDEP
          for (int64_t k = 0; k < whole; ++k) {
            T a = value[k], b = tap[k];
            int32_t now = b > a ? number : at[k];
            now = b != b ? number : now;
            at[k] = a != a ? at[k] : now;
            value[k] = Larger(a, b);
          }
        }
        for (int64_t k = 0; k < n; ++k) value[k] = g[k];
        for (int64_t t = 0; t < taps; ++t) {
          T* share = lines + t * n;
          int32_t number = static_cast<int32_t>(t);
          DYGRAPH_IVDEP
          for (int64_t k = 0; k < whole; ++k) share[k] = at[k] == number ? value[k] : T(0);
        }
        // Pixel after pixel, because each is copied with what the next ones put right.
        for (int64_t h = 0; h < kh; ++h) {
          T* line = to + h * width;
          for (int64_t j = 0; j < ow; ++j) {
            for (int64_t w = 0; w < kw; ++w) {
              int64_t pixel = (j * kw + w) * c;
              CopyPixel(lines + (h * kw + w) * n + j * c, line + pixel, c,
                        pixel + kPoolLanes <= width);
            }
          }
        }
      }
    });
  });
}

}  // namespace detail

// y = max of each window; `index`, where given, gets the pixel (h * width + w) it came from.
template <class T>
void MaxPool(const T* x, const PoolShape& shape, T* y, int32_t* index = nullptr) {
  if (shape.channels == 1) {
    if (!index && detail::PairsUp(shape.h) && detail::PairsUp(shape.w))
      return detail::MaxPoolPairs(x, shape, y);
    int64_t longest = detail::LongestWindow(shape.w);
    if (longest > 0 && detail::LongestWindow(shape.h) > 0)
      return detail::MaxPoolLines(x, shape, longest, y, index);
  }
  if (!index && detail::FitsLines(shape)) return detail::MaxPoolFewChannels(x, shape, y);
  detail::ForPoolRows(shape, [=](const PoolShape& s, int64_t image, int64_t i, int64_t j, int64_t c,
                                 auto n) __attribute__((always_inline)) {
    T value[detail::kPoolTile];
    int64_t to = (image * s.OutPixels() + i * s.w.out() + j) * s.channels + c;
    if (!index) {
      detail::MaxWindowValue(s, x, image, i, j, c, n, value);
      for (int64_t k = 0; k < n; ++k) y[to + k] = value[k];
      return;
    }
    int32_t at[detail::kPoolTile];
    detail::MaxWindow(s, x, image, i, j, c, n, value, at);
    for (int64_t k = 0; k < n; ++k) y[to + k] = value[k];
    for (int64_t k = 0; k < n; ++k) index[to + k] = at[k];
  });
}

// dx from dy by the first maximum of each window of x.
template <class T>
void MaxPoolBackward(const T* x, const T* dy, const PoolShape& shape, T* dx) {
  if (detail::FitsLines(shape) && detail::Tiles(shape.h) && detail::Tiles(shape.w) &&
      shape.h.in <= detail::kTiledRows * shape.h.out()) {
    return detail::MaxPoolBackwardTiled(x, dy, shape, dx);
  }
  if (shape.channels == 1) {
    if (detail::PairsUp(shape.h) && detail::PairsUp(shape.w))
      return detail::MaxPoolPairsBackward(x, dy, shape, dx);
    int64_t longest = detail::LongestWindow(shape.w);
    if (longest > 0 && detail::LongestWindow(shape.h) > 0)
      return detail::MaxPoolLinesBackward(x, dy, shape, longest, dx);
  }
  std::fill(dx, dx + shape.images * shape.InPixels() * shape.channels, T(0));
  detail::ForPoolImages(shape, [=](const PoolShape& s, int64_t image, int64_t i, int64_t j,
                                   int64_t c, auto n) __attribute__((always_inline)) {
    T value[detail::kPoolTile];
    int32_t at[detail::kPoolTile];
    detail::MaxWindow(s, x, image, i, j, c, n, value, at);
    const T* from = dy + (image * s.OutPixels() + i * s.w.out() + j) * s.channels + c;
    T* plane = dx + image * s.InPixels() * s.channels + c;
    int64_t real = std::min<int64_t>(n, s.channels - c);
    for (int64_t k = 0; k < real; ++k) {
      if (at[k] >= 0) plane[at[k] * s.channels + k] += from[k];
    }
  });
}

// dx[index] += dy, and y = x[index]: backward and second order of MaxPool through its indices.
template <class T>
void MaxPoolScatter(const int32_t* index, const T* dy, const PoolShape& shape, T* dx) {
  std::fill(dx, dx + shape.images * shape.InPixels() * shape.channels, T(0));
  detail::ForPoolImages(shape, [=](const PoolShape& s, int64_t image, int64_t i, int64_t j,
                                   int64_t c, auto n) __attribute__((always_inline)) {
    int64_t from = (image * s.OutPixels() + i * s.w.out() + j) * s.channels + c;
    T* plane = dx + image * s.InPixels() * s.channels + c;
    int64_t real = std::min<int64_t>(n, s.channels - c);
    for (int64_t k = 0; k < real; ++k) {
      if (index[from + k] >= 0) plane[index[from + k] * s.channels + k] += dy[from + k];
    }
  });
}
template <class T>
void MaxPoolGather(const T* x, const int32_t* index, const PoolShape& shape, T* y) {
  detail::ForPoolRows(shape, [=](const PoolShape& s, int64_t image, int64_t i, int64_t j, int64_t c,
                                 auto n) __attribute__((always_inline)) {
    int64_t to = (image * s.OutPixels() + i * s.w.out() + j) * s.channels + c;
    const T* plane = x + image * s.InPixels() * s.channels + c;
    int64_t real = std::min<int64_t>(n, s.channels - c);
    for (int64_t k = 0; k < real; ++k) {
      y[to + k] = index[to + k] >= 0 ? plane[index[to + k] * s.channels + k] : T(0);
    }
  });
}

template <class T>
void AvgPool(const T* x, const PoolShape& shape, T* y) {
  if (shape.channels == 1) {
    int64_t longest = detail::LongestWindow(shape.w);
    if (longest > 0 && detail::LongestWindow(shape.h) > 0)
      return detail::AvgPoolLines(x, shape, longest, y);
  }
  detail::ForPoolRows(shape, [=](const PoolShape& s, int64_t image, int64_t i, int64_t j, int64_t c,
                                 auto n) __attribute__((always_inline)) {
    T sum[detail::kPoolTile];
    for (int64_t k = 0; k < n; ++k) sum[k] = 0;
    const T* plane = x + image * s.InPixels() * s.channels + c;
    for (int64_t h = s.h.begin[i]; h < s.h.end[i]; ++h) {
      for (int64_t w = s.w.begin[j]; w < s.w.end[j]; ++w) {
        const T* from = plane + (h * s.w.in + w) * s.channels;
        for (int64_t k = 0; k < n; ++k) sum[k] += from[k];
      }
    }
    T* to = y + (image * s.OutPixels() + i * s.w.out() + j) * s.channels + c;
    T area = static_cast<T>(s.h.size[i] * s.w.size[j]);
    for (int64_t k = 0; k < n; ++k) to[k] = sum[k] / area;
  });
}

template <class T>
void AvgPoolBackward(const T* dy, const PoolShape& shape, T* dx) {
  if (shape.channels == 1) return detail::AvgPoolLinesBackward(dy, shape, dx);
  std::fill(dx, dx + shape.images * shape.InPixels() * shape.channels, T(0));
  detail::ForPoolImages(shape, [=](const PoolShape& s, int64_t image, int64_t i, int64_t j,
                                   int64_t c, auto n) __attribute__((always_inline)) {
    const T* from = dy + (image * s.OutPixels() + i * s.w.out() + j) * s.channels + c;
    T* plane = dx + image * s.InPixels() * s.channels + c;
    T area = static_cast<T>(s.h.size[i] * s.w.size[j]);
    int64_t real = std::min<int64_t>(n, s.channels - c);
    for (int64_t h = s.h.begin[i]; h < s.h.end[i]; ++h) {
      for (int64_t w = s.w.begin[j]; w < s.w.end[j]; ++w) {
        T* to = plane + (h * s.w.in + w) * s.channels;
        for (int64_t k = 0; k < real; ++k) to[k] += from[k] / area;
      }
    }
  });
}

}  // namespace dygraph::kernels
