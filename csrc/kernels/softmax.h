// Softmax along the middle axis of [outer, n, inner], its gradient, and the gradient of that;
// log(sum(exp)) likewise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/math.h"
#include "kernels/parallel.h"
#include "kernels/simd.h"

namespace dygraph::kernels {

struct SoftmaxShape {
  int64_t outer, n, inner;
  int64_t rows() const { return outer * inner; }  // of independent distributions
};

namespace detail {

constexpr int64_t kSoftmaxTile = 256;  // columns worked on together when the axis is not the last

template <class T>
DYGRAPH_INLINE T RowMax(const T* x, int64_t n) {
  constexpr int kLanes = 32;
  T m = x[0];
  int64_t j = 0;
  if (n >= kLanes) {
    T lane[kLanes];
    for (int k = 0; k < kLanes; ++k) lane[k] = x[k];
    for (j = kLanes; j + kLanes <= n; j += kLanes) {
      for (int k = 0; k < kLanes; ++k) lane[k] = x[j + k] > lane[k] ? x[j + k] : lane[k];
    }
    for (int k = 0; k < kLanes; ++k) m = lane[k] > m ? lane[k] : m;
  }
  for (; j < n; ++j) m = x[j] > m ? x[j] : m;
  return m;
}

// Sum of f(i) over a row, in lanes.
template <class T, class F>
DYGRAPH_INLINE T RowSum(int64_t n, F f) {
  constexpr int kLanes = 32;
  T sum = 0;
  int64_t j = 0;
  if (n >= kLanes) {
    T lane[kLanes];
    for (int k = 0; k < kLanes; ++k) lane[k] = 0;
    for (; j + kLanes <= n; j += kLanes) {
      for (int k = 0; k < kLanes; ++k) lane[k] += f(j + k);
    }
    for (int step = kLanes / 2; step > 0; step /= 2) {
      for (int k = 0; k < step; ++k) lane[k] += lane[k + step];
    }
    sum = lane[0];
  }
  for (; j < n; ++j) sum += f(j);
  return sum;
}

// Calls rows(first, last) for an inner size of 1, else columns(offset, width) for tiles of columns.
template <class Rows, class Columns>
void ForSoftmax(const SoftmaxShape& s, int64_t cost, const Rows& rows, const Columns& columns) {
  if (s.n == 0) return;
  if (s.inner == 1) {
    return ParallelRows(s.outer, s.n * cost,
                        [=](int64_t begin, int64_t end) { Simd([=] { rows(begin, end); }); });
  }
  int64_t tiles = (s.inner + kSoftmaxTile - 1) / kSoftmaxTile, n = s.n, inner = s.inner;
  ParallelRows(s.outer * tiles, n * std::min(inner, kSoftmaxTile) * cost,
               [=](int64_t begin, int64_t end) {
                 Simd([=] {
                   for (int64_t t = begin; t < end; ++t) {
                     int64_t column = t % tiles * kSoftmaxTile;
                     columns(t / tiles, column, std::min(kSoftmaxTile, inner - column));
                   }
                 });
               });
}

}  // namespace detail

// y = softmax(x); `log_total`, where given, gets log(sum(exp(x))) of each row.
template <class T>
void Softmax(const T* x, const SoftmaxShape& shape, T* y, T* log_total = nullptr) {
  SoftmaxShape s = shape;
  auto rows = [=](int64_t begin, int64_t end) __attribute__((always_inline)) {
    // exp runs over several short rows at once: vectors stay full.
    int64_t n = s.n, step = std::max<int64_t>(2048 / n, 1);
    for (int64_t b = begin; b < end; b += step) {
      int64_t last = std::min(end, b + step);
      for (int64_t r = b; r < last; ++r) {
        T m = detail::RowMax(x + r * n, n);
        if (log_total) log_total[r] = m;
        DYGRAPH_IVDEP
        for (int64_t j = r * n; j < r * n + n; ++j) y[j] = x[j] - m;
      }
      DYGRAPH_IVDEP
      for (int64_t j = b * n; j < last * n; ++j) y[j] = ExpBelowZero(y[j]);
      for (int64_t r = b; r < last; ++r) {
        T* row = y + r * n;
        T sum = detail::RowSum<T>(n, [=](int64_t j) { return row[j]; });
        if (log_total) log_total[r] += Log(sum);
        T factor = T(1) / sum;
        DYGRAPH_IVDEP
        for (int64_t j = 0; j < n; ++j) row[j] *= factor;
      }
    }
  };
  auto columns = [=](int64_t o, int64_t c, int64_t width) __attribute__((always_inline)) {
    T m[detail::kSoftmaxTile], sum[detail::kSoftmaxTile];
    const T* from = x + o * s.n * s.inner + c;
    T* to = y + o * s.n * s.inner + c;
    for (int64_t k = 0; k < width; ++k) m[k] = from[k], sum[k] = 0;
    for (int64_t i = 1; i < s.n; ++i) {
      for (int64_t k = 0; k < width; ++k) {
        T v = from[i * s.inner + k];
        m[k] = v > m[k] ? v : m[k];
      }
    }
    for (int64_t i = 0; i < s.n; ++i) {
      DYGRAPH_IVDEP
      for (int64_t k = 0; k < width; ++k) {
        T e = ExpBelowZero(from[i * s.inner + k] - m[k]);
        to[i * s.inner + k] = e;
        sum[k] += e;
      }
    }
    for (int64_t k = 0; k < width; ++k) {
      if (log_total) log_total[o * s.inner + c + k] = m[k] + Log(sum[k]);
      sum[k] = T(1) / sum[k];
    }
    for (int64_t i = 0; i < s.n; ++i) {
      DYGRAPH_IVDEP
      for (int64_t k = 0; k < width; ++k) to[i * s.inner + k] *= sum[k];
    }
  };
  detail::ForSoftmax(s, 5, rows, columns);
}

// dx = y (dy - sum(dy y)).
template <class T>
void SoftmaxGrad(const T* y, const T* dy, const SoftmaxShape& shape, T* dx) {
  SoftmaxShape s = shape;
  auto rows = [=](int64_t begin, int64_t end) __attribute__((always_inline)) {
    for (int64_t r = begin; r < end; ++r) {
      const T *a = y + r * s.n, *g = dy + r * s.n;
      T* to = dx + r * s.n;
      T dot = detail::RowSum<T>(s.n, [=](int64_t j) { return a[j] * g[j]; });
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < s.n; ++j) to[j] = a[j] * (g[j] - dot);
    }
  };
  auto columns = [=](int64_t o, int64_t c, int64_t width) __attribute__((always_inline)) {
    T dot[detail::kSoftmaxTile];
    int64_t at = o * s.n * s.inner + c;
    for (int64_t k = 0; k < width; ++k) dot[k] = 0;
    for (int64_t i = 0; i < s.n; ++i) {
      for (int64_t k = 0; k < width; ++k)
        dot[k] += y[at + i * s.inner + k] * dy[at + i * s.inner + k];
    }
    for (int64_t i = 0; i < s.n; ++i) {
      DYGRAPH_IVDEP
      for (int64_t k = 0; k < width; ++k) {
        int64_t j = at + i * s.inner + k;
        dx[j] = y[j] * (dy[j] - dot[k]);
      }
    }
  };
  detail::ForSoftmax(s, 3, rows, columns);
}

// y = x - log(sum(exp(x))). A row of -inf alone gives NaN, as softmax does.
template <class T>
void LogSoftmax(const T* x, const SoftmaxShape& shape, T* y) {
  SoftmaxShape s = shape;
  auto rows = [=](int64_t begin, int64_t end) __attribute__((always_inline)) {
    for (int64_t r = begin; r < end; ++r) {
      const T* from = x + r * s.n;
      T* to = y + r * s.n;
      T m = detail::RowMax(from, s.n);
      T total = Log(detail::RowSum<T>(s.n, [=](int64_t j) { return ExpBelowZero(from[j] - m); }));
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < s.n; ++j) to[j] = (from[j] - m) - total;
    }
  };
  auto columns = [=](int64_t o, int64_t c, int64_t width) __attribute__((always_inline)) {
    T m[detail::kSoftmaxTile], sum[detail::kSoftmaxTile];
    const T* from = x + o * s.n * s.inner + c;
    T* to = y + o * s.n * s.inner + c;
    for (int64_t k = 0; k < width; ++k) m[k] = from[k], sum[k] = 0;
    for (int64_t i = 1; i < s.n; ++i) {
      for (int64_t k = 0; k < width; ++k) {
        T v = from[i * s.inner + k];
        m[k] = v > m[k] ? v : m[k];
      }
    }
    for (int64_t i = 0; i < s.n; ++i) {
      for (int64_t k = 0; k < width; ++k) sum[k] += ExpBelowZero(from[i * s.inner + k] - m[k]);
    }
    for (int64_t k = 0; k < width; ++k) sum[k] = Log(sum[k]);
    for (int64_t i = 0; i < s.n; ++i) {
      DYGRAPH_IVDEP
      for (int64_t k = 0; k < width; ++k)
        to[i * s.inner + k] = (from[i * s.inner + k] - m[k]) - sum[k];
    }
  };
  detail::ForSoftmax(s, 5, rows, columns);
}

// dx = dy - exp(y) sum(dy).
template <class T>
void LogSoftmaxGrad(const T* y, const T* dy, const SoftmaxShape& shape, T* dx) {
  SoftmaxShape s = shape;
  auto rows = [=](int64_t begin, int64_t end) __attribute__((always_inline)) {
    for (int64_t r = begin; r < end; ++r) {
      const T *a = y + r * s.n, *g = dy + r * s.n;
      T* to = dx + r * s.n;
      T total = detail::RowSum<T>(s.n, [=](int64_t j) { return g[j]; });
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < s.n; ++j) to[j] = g[j] - Exp(a[j]) * total;
    }
  };
  auto columns = [=](int64_t o, int64_t c, int64_t width) __attribute__((always_inline)) {
    T total[detail::kSoftmaxTile];
    int64_t at = o * s.n * s.inner + c;
    for (int64_t k = 0; k < width; ++k) total[k] = 0;
    for (int64_t i = 0; i < s.n; ++i) {
      for (int64_t k = 0; k < width; ++k) total[k] += dy[at + i * s.inner + k];
    }
    for (int64_t i = 0; i < s.n; ++i) {
      DYGRAPH_IVDEP
      for (int64_t k = 0; k < width; ++k) {
        int64_t j = at + i * s.inner + k;
        dx[j] = dy[j] - Exp(y[j]) * total[k];
      }
    }
  };
  detail::ForSoftmax(s, 5, rows, columns);
}

// y = log(sum(exp(x))), one a row; -inf of -inf alone and of nothing. Long sums go on in doubles.
template <class T>
void LogSumExp(const T* x, const SoftmaxShape& shape, T* y) {
  SoftmaxShape s = shape;
  const T inf = std::numeric_limits<T>::infinity();
  auto base_of = [inf](T m) __attribute__((always_inline)) {  // inf - inf would be NaN
    return m == inf || m == -inf ? T(0) : m;
  };
  auto rows = [=](int64_t begin, int64_t end) __attribute__((always_inline)) {
    constexpr int64_t kPart = 4096;
    for (int64_t r = begin; r < end; ++r) {
      const T* from = x + r * s.n;
      T base = base_of(detail::RowMax(from, s.n));
      double total = 0;
      for (int64_t at = 0; at < s.n; at += kPart) {
        total += static_cast<double>(detail::RowSum<T>(
            std::min(kPart, s.n - at), [=](int64_t j) { return Exp(from[at + j] - base); }));
      }
      y[r] = base + static_cast<T>(Log(total));
    }
  };
  auto columns = [=](int64_t o, int64_t c, int64_t width) __attribute__((always_inline)) {
    T base[detail::kSoftmaxTile], sum[detail::kSoftmaxTile];
    double total[detail::kSoftmaxTile];
    const T* from = x + o * s.n * s.inner + c;
    for (int64_t k = 0; k < width; ++k) base[k] = from[k], total[k] = 0;
    for (int64_t i = 1; i < s.n; ++i) {
      for (int64_t k = 0; k < width; ++k) {
        T v = from[i * s.inner + k];
        base[k] = v > base[k] ? v : base[k];
      }
    }
    for (int64_t k = 0; k < width; ++k) base[k] = base_of(base[k]);
    for (int64_t i = 0; i < s.n;) {
      int64_t stop = std::min<int64_t>(s.n, i + 256);
      for (int64_t k = 0; k < width; ++k) sum[k] = 0;
      for (; i < stop; ++i) {
        DYGRAPH_IVDEP
        for (int64_t k = 0; k < width; ++k) sum[k] += Exp(from[i * s.inner + k] - base[k]);
      }
      for (int64_t k = 0; k < width; ++k) total[k] += static_cast<double>(sum[k]);
    }
    for (int64_t k = 0; k < width; ++k) {
      y[o * s.inner + c + k] = base[k] + static_cast<T>(Log(total[k]));
    }
  };
  detail::ForSoftmax(s, 5, rows, columns);
}

// dx = dy exp(x - y), y and dy one a row.
template <class T>
void LogSumExpGrad(const T* x, const T* y, const T* dy, const SoftmaxShape& shape, T* dx) {
  SoftmaxShape s = shape;
  const T inf = std::numeric_limits<T>::infinity();
  auto rows = [=](int64_t begin, int64_t end) __attribute__((always_inline)) {
    for (int64_t r = begin; r < end; ++r) {
      const T* from = x + r * s.n;
      T* to = dx + r * s.n;
      T base = y[r] == -inf ? T(0) : y[r], g = dy[r];
      DYGRAPH_IVDEP
      for (int64_t j = 0; j < s.n; ++j) to[j] = g * Exp(from[j] - base);
    }
  };
  auto columns = [=](int64_t o, int64_t c, int64_t width) __attribute__((always_inline)) {
    const T *all = y + o * s.inner + c, *g = dy + o * s.inner + c;
    for (int64_t i = 0; i < s.n; ++i) {
      int64_t at = (o * s.n + i) * s.inner + c;
      DYGRAPH_IVDEP
      for (int64_t k = 0; k < width; ++k) {
        T base = all[k] == -inf ? T(0) : all[k];
        dx[at + k] = g[k] * Exp(x[at + k] - base);
      }
    }
  };
  detail::ForSoftmax(s, 4, rows, columns);
}

// The gradient of sum(v * dx) of softmax with respect to y: v (dy - sum(dy y)) - dy sum(v y).
template <class T>
void SoftmaxGradGrad(const T* y, const T* dy, const T* v, const SoftmaxShape& shape, T* out) {
  SoftmaxShape s = shape;
  ParallelRows(s.rows(), s.n * 5, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t at = r / s.inner * s.n * s.inner + r % s.inner;
      T dot_g = 0, dot_v = 0;
      for (int64_t i = 0; i < s.n; ++i) {
        int64_t j = at + i * s.inner;
        dot_g += y[j] * dy[j];
        dot_v += y[j] * v[j];
      }
      for (int64_t i = 0; i < s.n; ++i) {
        int64_t j = at + i * s.inner;
        out[j] = v[j] * (dy[j] - dot_g) - dy[j] * dot_v;
      }
    }
  });
}

}  // namespace dygraph::kernels
