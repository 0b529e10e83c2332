// Pooling of planes of one channel: work goes along rows of outputs. The bulk of a row has equal
// windows at equal distances, whose taps are picked by strided loads; what is left at the borders
// is picked one by one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/parallel.h"
#include "kernels/pool_shape.h"
#include "kernels/simd.h"

namespace dygraph::kernels::detail {

// Windows [first, last) of an axis all have the longest length and lie `stride` apart.
struct EvenWindows {
  int64_t first = 0, last = 0, stride = 1;
};
inline EvenWindows FindEvenWindows(const PoolAxis& axis, int64_t longest) {
  EvenWindows run;
  int64_t out = axis.out();
  auto whole = [&](int64_t o) { return axis.end[o] - axis.begin[o] == longest; };
  while (run.first < out && !whole(run.first)) ++run.first;
  run.last = std::min(run.first + 1, out);
  if (run.last < out) run.stride = axis.begin[run.last] - axis.begin[run.first];
  while (run.last < out && whole(run.last) &&
         axis.begin[run.last] - axis.begin[run.last - 1] == run.stride) {
    ++run.last;
  }
  return run;
}

// A row of outputs, in pieces of at most kPoolTile: body(plane, row, first, n).
template <class Body>
void ForPoolLines(const PoolShape& s, int64_t taps, const Body& body) {
  int64_t oh = s.h.out(), ow = s.w.out();
  ParallelRows(s.images * oh, ow * taps, [=](int64_t begin, int64_t end) {
    Simd([=] {
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t j = 0; j < ow; j += kPoolTile)
          body(r / oh, r % oh, j, std::min(kPoolTile, ow - j));
      }
    });
  });
}

// Calls one(k) for the windows first + k, k < n, that lie outside the even run, and
// even(k, m, first pixel) for the m from the k-th inside.
template <class One, class Even>
DYGRAPH_INLINE void SplitLine(const PoolAxis& w, const EvenWindows& run, int64_t first, int64_t n,
                              const One& one, const Even& even) {
  int64_t a = std::min(std::max<int64_t>(run.first - first, 0), n);
  int64_t b = std::min(std::max<int64_t>(run.last - first, a), n);
  for (int64_t k = 0; k < a; ++k) one(k);
  if (a < b) even(a, b - a, w.begin[first + a]);
  for (int64_t k = b; k < n; ++k) one(k);
}

// to[k] = from[k * stride].
template <class T>
DYGRAPH_INLINE void PickStrided(const T* from, int64_t stride, int64_t n, T* to) {
  if (stride == 1) {
    for (int64_t k = 0; k < n; ++k) to[k] = from[k];
  } else if (stride == 2) {
    for (int64_t k = 0; k < n; ++k) to[k] = from[2 * k];
  } else {
    for (int64_t k = 0; k < n; ++k) to[k] = from[k * stride];
  }
}

// The maxima of the n windows from `first` of row i of a plane, and where they are.
template <class T>
DYGRAPH_INLINE void MaxLine(const T* from, const PoolShape& s, const EvenWindows& run,
                            int64_t longest, int64_t i, int64_t first, int64_t n, T* value,
                            int32_t* at) {
  T tap[kPoolTile];
  int32_t column[kPoolTile];
  const int64_t *w0 = s.w.begin.data() + first, *w1 = s.w.end.data() + first;
  int64_t width = s.w.in, h0 = s.h.begin[i], h1 = s.h.end[i];
  for (int64_t k = 0; k < n; ++k) column[k] = static_cast<int32_t>(w0[k]);
  for (int64_t h = h0; h < h1; ++h) {
    const T* row = from + h * width;
    for (int64_t t = 0; t < longest; ++t) {
      // A shorter window looks again at its first pixel, which changes nothing.
      SplitLine(
          s.w, run, first, n,
          [&](int64_t k)
              __attribute__((always_inline)) { tap[k] = row[w0[k] + (t < w1[k] - w0[k] ? t : 0)]; },
          [&](int64_t k, int64_t m, int64_t pixel) __attribute__((always_inline)) {
            PickStrided(row + pixel + t, run.stride, m, tap + k);
          });
      int32_t start = static_cast<int32_t>(h * width + t);
      if (h == h0 && t == 0) {
        for (int64_t k = 0; k < n; ++k) {
          value[k] = tap[k];
          at[k] = start + column[k];
        }
        continue;
      }
      for (int64_t k = 0; k < n; ++k) {
        T v = tap[k];
        bool better = ((v > value[k]) | (v != v)) & (value[k] == value[k]);
        value[k] = better ? v : value[k];
        at[k] = better ? start + column[k] : at[k];
      }
    }
  }
}

template <class T>
void MaxPoolLines(const T* x, const PoolShape& shape, int64_t longest, T* y, int32_t* index) {
  const PoolShape* p = &shape;
  EvenWindows run = FindEvenWindows(shape.w, longest);
  ForPoolLines(shape, longest * longest,
               [=](int64_t plane, int64_t i, int64_t first, int64_t n)
                   __attribute__((always_inline)) {
                     T value[kPoolTile];
                     int32_t at[kPoolTile];
                     MaxLine(x + plane * p->InPixels(), *p, run, longest, i, first, n, value, at);
                     int64_t to = (plane * p->h.out() + i) * p->w.out() + first;
                     for (int64_t k = 0; k < n; ++k) y[to + k] = value[k];
                     if (index) {
                       for (int64_t k = 0; k < n; ++k) index[to + k] = at[k];
                     }
                   });
}

// One thread sees a whole plane: windows may overlap.
template <class T>
void MaxPoolLinesBackward(const T* x, const T* dy, const PoolShape& shape, int64_t longest, T* dx) {
  const PoolShape* p = &shape;
  EvenWindows run = FindEvenWindows(shape.w, longest);
  ParallelRows(shape.images, shape.InPixels() * 2, [=](int64_t begin, int64_t end) {
    Simd([=] {
      T value[kPoolTile];
      int32_t at[kPoolTile];
      int64_t oh = p->h.out(), ow = p->w.out();
      for (int64_t plane = begin; plane < end; ++plane) {
        T* to = dx + plane * p->InPixels();
        const T* g = dy + plane * p->OutPixels();
        std::fill(to, to + p->InPixels(), T(0));
        for (int64_t i = 0; i < oh; ++i) {
          for (int64_t j = 0; j < ow; j += kPoolTile) {
            int64_t n = std::min(kPoolTile, ow - j);
            MaxLine(x + plane * p->InPixels(), *p, run, longest, i, j, n, value, at);
            for (int64_t k = 0; k < n; ++k) to[at[k]] += g[i * ow + j + k];
          }
        }
      }
    });
  });
}

// Every window is 2 x 2, and the next one begins where it ends; a last row and column may be over.
inline bool PairsUp(const PoolAxis& axis) {
  for (int64_t o = 0; o < axis.out(); ++o) {
    if (axis.begin[o] != 2 * o || axis.end[o] != 2 * o + 2) return false;
  }
  return axis.out() > 0 && axis.in < 2 * axis.out() + 2;
}

// The larger of two, NaN winning, the first of equals.
template <class T>
DYGRAPH_INLINE T Larger(T a, T b) {
  T m = b > a ? b : a;
  m = b != b ? b : m;
  return a != a ? a : m;
}

// Windows of 2 x 2 side by side, a fixed number at a time: what is too much belongs to the next
// rows, which come later and put it right.
template <class T>
void MaxPoolPairs(const T* x, const PoolShape& shape, T* y) {
  int64_t oh = shape.h.out(), ow = shape.w.out(), height = shape.h.in, width = shape.w.in;
  const T* last = x + shape.images * height * width;
  ParallelRows(shape.images * oh, ow * 4, [=](int64_t begin, int64_t end) {
    Simd([=] {
      constexpr int64_t kBlock = 16;
      T edge[4 * kBlock] = {};
      const T* stop = y + end * ow;
      for (int64_t r = begin; r < end; ++r) {
        const T* rows = x + (r / oh * height + r % oh * 2) * width;
        T* to = y + r * ow;
        for (int64_t j = 0; j < ow; j += kBlock, to += kBlock) {
          const int64_t n = std::min(kBlock, ow - j);
          const T *top = rows + 2 * j, *low = top + width;
          if (last - low < 2 * kBlock) {
            for (int64_t k = 0; k < 2 * n; ++k) edge[k] = top[k];
            for (int64_t k = 0; k < 2 * n; ++k) edge[2 * kBlock + k] = low[k];
            top = edge;
            low = edge + 2 * kBlock;
          }
          T value[kBlock];
          for (int64_t k = 0; k < kBlock; ++k) {
            value[k] =
                Larger(Larger(top[2 * k], top[2 * k + 1]), Larger(low[2 * k], low[2 * k + 1]));
          }
          if (stop - to >= kBlock) {
            for (int64_t k = 0; k < kBlock; ++k) to[k] = value[k];
          } else {
            for (int64_t k = 0; k < n; ++k) to[k] = value[k];
          }
        }
      }
    });
  });
}

// Each pixel is written once: its window's gradient where it won, else 0. In three loops, of which
// each becomes vectors: taps are picked, shares made, shares interleaved.
template <class T>
void MaxPoolPairsBackward(const T* x, const T* dy, const PoolShape& shape, T* dx) {
  int64_t oh = shape.h.out(), ow = shape.w.out(), height = shape.h.in, width = shape.w.in;
  ParallelRows(shape.images, height * width * 2, [=](int64_t begin, int64_t end) {
    Simd([=] {
      constexpr int64_t kBlock = 64;
      T a[kBlock] = {}, b[kBlock] = {}, c[kBlock] = {}, d[kBlock] = {}, v[kBlock] = {};
      int32_t at[kBlock];
      for (int64_t r = begin * oh; r < end * oh; ++r) {
        int64_t corner = (r / oh * height + r % oh * 2) * width;
        const T* g = dy + r * ow;
        T* to_low = dx + corner + width;
        for (int64_t j = 0; j < ow; j += kBlock) {
          int64_t n = std::min(kBlock, ow - j), whole = (n + 15) / 16 * 16;
          const T *top = x + corner + 2 * j, *low = top + width;
          for (int64_t k = 0; k < n; ++k) {
            a[k] = top[2 * k];
            b[k] = top[2 * k + 1];
          }
          for (int64_t k = 0; k < n; ++k) {
            c[k] = low[2 * k];
            d[k] = low[2 * k + 1];
            v[k] = g[j + k];
          }
          for (int64_t k = 0; k < whole; ++k) {  // the later one where it wins
            T m = a[k], l = c[k], r = b[k];
            int32_t above = r > m ? 1 : 0;
            above = r != r ? 1 : above;
            above = m != m ? 0 : above;
            m = above == 1 ? r : m;
            r = d[k];
            int32_t under = r > l ? 3 : 2;
            under = r != r ? 3 : under;
            under = l != l ? 2 : under;
            l = under == 3 ? r : l;
            int32_t number = l > m ? under : above;
            number = l != l ? under : number;
            at[k] = m != m ? above : number;
          }
          for (int64_t k = 0; k < whole; ++k) {
            a[k] = at[k] == 0 ? v[k] : T(0);
            b[k] = at[k] == 1 ? v[k] : T(0);
            c[k] = at[k] == 2 ? v[k] : T(0);
            d[k] = at[k] == 3 ? v[k] : T(0);
          }
          T* to = to_low - width + 2 * j;
          for (int64_t k = 0; k < n; ++k) {
            to[2 * k] = a[k];
            to[2 * k + 1] = b[k];
          }
          to += width;
          for (int64_t k = 0; k < n; ++k) {
            to[2 * k] = c[k];
            to[2 * k + 1] = d[k];
          }
        }
        if (width > 2 * ow) to_low[-1] = to_low[width - 1] = T(0);
        if (r % oh == oh - 1 && height > 2 * oh) std::fill_n(to_low + width, width, T(0));
      }
    });
  });
}

// The sum of from[0, n), on 16 lanes.
template <class T>
DYGRAPH_INLINE T LaneSum(const T* from, int64_t n) {
  constexpr int64_t kLanes = 16;
  T lanes[kLanes] = {};
  int64_t whole = n / kLanes * kLanes;
  for (int64_t k = 0; k < whole; k += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] += from[k + l];
  }
  for (int64_t k = whole; k < n; ++k) lanes[k - whole] += from[k];
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

// Few large windows: work goes along the rows of each.
template <class T>
void AvgPoolLarge(const T* x, const PoolShape& shape, T* y) {
  const PoolShape* p = &shape;
  int64_t oh = shape.h.out(), ow = shape.w.out();
  ParallelRows(shape.images * oh, shape.InPixels() / oh, [=](int64_t begin, int64_t end) {
    Simd([=] {
      for (int64_t r = begin; r < end; ++r) {
        int64_t i = r % oh, rows = p->h.end[i] - p->h.begin[i];
        const T* from = x + r / oh * p->InPixels() + p->h.begin[i] * p->w.in;
        for (int64_t j = 0; j < ow; ++j) {
          int64_t w0 = p->w.begin[j], n = p->w.end[j] - w0;
          T sum = 0;
          if (n == p->w.in) {
            sum = LaneSum(from, rows * n);
          } else {
            for (int64_t h = 0; h < rows; ++h) sum += LaneSum(from + h * p->w.in + w0, n);
          }
          y[r * ow + j] = sum / static_cast<T>(p->h.size[i] * p->w.size[j]);
        }
      }
    });
  });
}

template <class T>
void AvgPoolLines(const T* x, const PoolShape& shape, int64_t longest, T* y) {
  if (longest >= 16 || (shape.w.out() == 1 && shape.InPixels() >= 16))
    return AvgPoolLarge(x, shape, y);
  const PoolShape* p = &shape;
  EvenWindows run = FindEvenWindows(shape.w, longest);
  ForPoolLines(
      shape, longest * longest,
      [=](int64_t plane, int64_t i, int64_t first, int64_t n) __attribute__((always_inline)) {
        T sum[kPoolTile], tap[kPoolTile];
        const int64_t *w0 = p->w.begin.data() + first, *w1 = p->w.end.data() + first;
        const int64_t* size = p->w.size.data() + first;
        const T* from = x + plane * p->InPixels();
        for (int64_t k = 0; k < n; ++k) sum[k] = 0;
        for (int64_t h = p->h.begin[i]; h < p->h.end[i]; ++h) {
          const T* row = from + h * p->w.in;
          for (int64_t t = 0; t < longest; ++t) {
            SplitLine(
                p->w, run, first, n,
                [&](int64_t k) __attribute__((always_inline)) {
                  tap[k] = t < w1[k] - w0[k] ? row[w0[k] + t] : T(0);
                },
                [&](int64_t k, int64_t m, int64_t pixel) __attribute__((always_inline)) {
                  PickStrided(row + pixel + t, run.stride, m, tap + k);
                });
            for (int64_t k = 0; k < n; ++k) sum[k] += tap[k];
          }
        }
        T* to = y + (plane * p->h.out() + i) * p->w.out() + first;
        T rows = static_cast<T>(p->h.size[i]);
        for (int64_t k = 0; k < n; ++k) to[k] = sum[k] / (rows * static_cast<T>(size[k]));
      });
}

// What a row of outputs gives its pixels is gathered in a line, which is added to every row of its
// windows. Where windows lie side by side each pixel is written once.
template <class T>
void AvgPoolLinesBackward(const T* dy, const PoolShape& shape, T* dx) {
  const PoolShape* p = &shape;
  bool tiles = Tiles(shape.h) && Tiles(shape.w), pairs = PairsUp(shape.w);
  ParallelRows(shape.images, shape.InPixels() * 2, [=](int64_t begin, int64_t end) {
    Simd([=] {
      constexpr int64_t kLine = 512;
      T line[kLine];
      int64_t oh = p->h.out(), ow = p->w.out(), width = p->w.in;
      for (int64_t plane = begin; plane < end; ++plane) {
        T* to = dx + plane * p->InPixels();
        const T* g = dy + plane * p->OutPixels();
        if (!tiles) std::fill(to, to + p->InPixels(), T(0));
        for (int64_t i = 0; i < oh; ++i) {
          T rows = static_cast<T>(p->h.size[i]);
          for (int64_t j = 0; j < ow;) {  // as many windows as fit the line
            int64_t first = p->w.begin[j], last = j, reach = first;
            while (last < ow && p->w.end[last] - first <= kLine) reach = p->w.end[last++];
            if (last == j) {  // not even one
              T share = g[i * ow + j] / (rows * static_cast<T>(p->w.size[j]));
              for (int64_t h = p->h.begin[i]; h < p->h.end[i]; ++h) {
                T* row = to + h * width;
                for (int64_t w = first; w < p->w.end[j]; ++w)
                  row[w] = tiles ? share : row[w] + share;
              }
              ++j;
              continue;
            }
            const T* from = g + i * ow + j;
            const int64_t* size = p->w.size.data() + j;
            if (pairs) {
              DYGRAPH_IVDEP
              for (int64_t k = 0; k < last - j; ++k) {
                T share = from[k] / (rows * static_cast<T>(size[k]));
                line[2 * k] = share;
                line[2 * k + 1] = share;
              }
            } else {
              for (int64_t k = 0; k < reach - first; ++k) line[k] = 0;
              for (int64_t k = 0; k < last - j; ++k) {
                T share = from[k] / (rows * static_cast<T>(size[k]));
                for (int64_t w = p->w.begin[j + k]; w < p->w.end[j + k]; ++w)
                  line[w - first] += share;
              }
            }
            for (int64_t h = p->h.begin[i]; h < p->h.end[i]; ++h) {
              T* row = to + h * width + first;
              if (tiles) {
                for (int64_t k = 0; k < reach - first; ++k) row[k] = line[k];
              } else {
                for (int64_t k = 0; k < reach - first; ++k) row[k] += line[k];
              }
            }
            j = last;
          }
        }
      }
    });
  });
}

}  // namespace dygraph::kernels::detail
