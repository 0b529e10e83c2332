#include "kernels/row_norm.h"

#include <cmath>
#include <vector>

#include "kernels/batch_norm.h"

namespace dygraph::kernels {
namespace {

// Sum of f(0) ... f(n - 1): numbers of T within a block, a double between blocks.
template <class T, class F>
DYGRAPH_INLINE double BlockSum(int64_t n, F f) {
  double total = 0;
  for (int64_t at = 0; at < n; at += detail::kStatBlock) {
    total += static_cast<double>(detail::AddLane<T>(std::min(detail::kStatBlock, n - at),
                                                    [=](int64_t i) { return f(at + i); }));
  }
  return total;
}

// Two sums in one pass: f(i) gives both terms.
template <class T>
struct Pair {
  T a, b;
};
template <class T, class F>
DYGRAPH_INLINE Pair<double> BlockSums(int64_t n, F f) {
  constexpr int kLanes = 32;
  Pair<double> total = {0, 0};
  for (int64_t at = 0; at < n; at += detail::kStatBlock) {
    int64_t end = std::min(n, at + detail::kStatBlock), i = at;
    T a[kLanes], b[kLanes];
    for (int k = 0; k < kLanes; ++k) a[k] = b[k] = 0;
    for (; i + kLanes <= end; i += kLanes) {
      for (int k = 0; k < kLanes; ++k) {
        Pair<T> terms = f(i + k);
        a[k] += terms.a;
        b[k] += terms.b;
      }
    }
    for (int step = kLanes / 2; step > 0; step /= 2) {
      for (int k = 0; k < step; ++k) {
        a[k] += a[k + step];
        b[k] += b[k + step];
      }
    }
    for (; i < end; ++i) {
      Pair<T> terms = f(i);
      a[0] += terms.a;
      b[0] += terms.b;
    }
    total.a += static_cast<double>(a[0]);
    total.b += static_cast<double>(b[0]);
  }
  return total;
}

// Sums of both terms of f(j), times scale of j, over row r.
template <class T, class F>
DYGRAPH_INLINE Pair<double> ScaledSums(const RowNormShape& s, int64_t r, const T* scale, F f) {
  const T* factor = scale + r % s.groups * s.per_row();
  if (s.inner == 1) {
    return BlockSums<T>(s.n, [=](int64_t j) {
      Pair<T> terms = f(j);
      return Pair<T>{terms.a * factor[j], terms.b * factor[j]};
    });
  }
  Pair<double> total = {0, 0};
  for (int64_t p = 0; p < s.per_row(); ++p) {
    int64_t at = p * s.inner;
    Pair<double> sums = BlockSums<T>(s.inner, [=](int64_t j) { return f(at + j); });
    total.a += static_cast<double>(factor[p]) * sums.a;
    total.b += static_cast<double>(factor[p]) * sums.b;
  }
  return total;
}

// Sum of f(j) * scale of j over row r.
template <class T, class F>
DYGRAPH_INLINE double ScaledSum(const RowNormShape& s, int64_t r, const T* scale, F f) {
  const T* factor = scale + r % s.groups * s.per_row();
  if (s.inner == 1) return BlockSum<T>(s.n, [=](int64_t j) { return f(j) * factor[j]; });
  double total = 0;
  for (int64_t p = 0; p < s.per_row(); ++p) {
    int64_t at = p * s.inner;
    total +=
        static_cast<double>(factor[p]) * BlockSum<T>(s.inner, [=](int64_t j) { return f(at + j); });
  }
  return total;
}

// f(j, number of j's parameter) for every element of row r.
template <class F>
DYGRAPH_INLINE void ForRow(const RowNormShape& s, int64_t r, F f) {
  int64_t first = r % s.groups * s.per_row();
  if (s.inner == 1) {
    DYGRAPH_IVDEP
    for (int64_t j = 0; j < s.n; ++j) f(j, first + j);
    return;
  }
  for (int64_t p = 0; p < s.per_row(); ++p) {
    DYGRAPH_IVDEP
    for (int64_t j = p * s.inner; j < (p + 1) * s.inner; ++j) f(j, first + p);
  }
}

// The mean is rough + rest: nothing is lost in rows far from zero.
template <class T>
struct Moments {
  T rough = 0, rest = 0;
  double variance = 0;
};
template <class T>
DYGRAPH_INLINE Moments<T> MomentsOf(const T* row, int64_t n, bool centered) {
  Moments<T> m;
  double count = static_cast<double>(n);
  if (centered) {
    T rough = static_cast<T>(BlockSum<T>(n, [=](int64_t j) { return row[j]; }) / count);
    Pair<double> sums = BlockSums<T>(n, [=](int64_t j) {
      T d = row[j] - rough;
      return Pair<T>{d, d * d};
    });
    double rest = sums.a / count, squares = sums.b / count;
    m.rough = rough;
    m.rest = static_cast<T>(rest);
    m.variance = squares - rest * rest;
    m.variance = m.variance < 0 ? 0 : m.variance;  // a NaN stays
  } else {
    m.variance = BlockSum<T>(n, [=](int64_t j) { return row[j] * row[j]; }) / count;
  }
  return m;
}

// Sums over all rows for every parameter: to_a[p] = sum of fa(i, r), to_b likewise, i the position
// in the array.
template <class T, class FA, class FB>
void SumParams(const RowNormShape& s, T* to_a, T* to_b, FA fa, FB fb) {
  int64_t per_row = s.per_row(), turns = s.rows / s.groups;
  if (s.inner > 1) {
    ParallelRows(s.params(), turns * s.inner * 3, [=](int64_t begin, int64_t end) {
      Simd([=] {
        for (int64_t p = begin; p < end; ++p) {
          double a = 0, b = 0;
          for (int64_t t = 0; t < turns; ++t) {
            int64_t r = t * s.groups + p / per_row, at = r * s.n + p % per_row * s.inner;
            a += BlockSum<T>(s.inner, [=](int64_t j) { return fa(at + j, r); });
            if (to_b) b += BlockSum<T>(s.inner, [=](int64_t j) { return fb(at + j, r); });
          }
          if (to_a) to_a[p] = static_cast<T>(a);
          if (to_b) to_b[p] = static_cast<T>(b);
        }
      });
    });
    return;
  }
  // Columns: tiles of them in blocks of rows, whose sums are added in order.
  constexpr int64_t kTile = 128, kRows = 64, kBlock = 1024;
  int64_t tiles = (s.n + kTile - 1) / kTile, blocks = (turns + kBlock - 1) / kBlock;
  int64_t params = s.params();
  std::vector<double> sums(2 * params * blocks);
  double* parts = sums.data();
  ParallelRows(blocks * s.groups * tiles, std::min(turns, kBlock) * std::min(s.n, kTile) * 3,
               [=](int64_t begin, int64_t end) {
                 Simd([=] {
                   for (int64_t task = begin; task < end; ++task) {
                     int64_t column = task % tiles * kTile, group = task / tiles % s.groups,
                             block = task / tiles / s.groups;
                     int64_t width = std::min(kTile, s.n - column);
                     double* a = parts + 2 * block * params + group * s.n + column;
                     double* b = a + params;
                     int64_t last = std::min((block + 1) * kBlock, turns);
                     for (int64_t t = block * kBlock; t < last;) {
                       T la[kTile], lb[kTile];
                       for (int64_t j = 0; j < width; ++j) la[j] = lb[j] = 0;
                       int64_t stop = std::min(t + kRows, last);
                       for (; t + 2 <= stop; t += 2) {
                         int64_t r = t * s.groups + group, next = r + s.groups;
                         int64_t at = r * s.n + column, below = next * s.n + column;
                         for (int64_t j = 0; j < width; ++j) {
                           la[j] = la[j] + fa(at + j, r) + fa(below + j, next);
                           lb[j] = lb[j] + fb(at + j, r) + fb(below + j, next);
                         }
                       }
                       for (; t < stop; ++t) {
                         int64_t r = t * s.groups + group, at = r * s.n + column;
                         for (int64_t j = 0; j < width; ++j) {
                           la[j] += fa(at + j, r);
                           lb[j] += fb(at + j, r);
                         }
                       }
                       for (int64_t j = 0; j < width; ++j) {
                         a[j] += static_cast<double>(la[j]);
                         b[j] += static_cast<double>(lb[j]);
                       }
                     }
                   }
                 });
               });
  for (int64_t block = 1; block < blocks; ++block) {
    for (int64_t p = 0; p < 2 * params; ++p) parts[p] += parts[2 * block * params + p];
  }
  for (int64_t p = 0; p < params; ++p) {
    if (to_a) to_a[p] = blocks > 0 ? static_cast<T>(parts[p]) : T(0);
    if (to_b) to_b[p] = blocks > 0 ? static_cast<T>(parts[params + p]) : T(0);
  }
}

}  // namespace

template <class T>
void RowNorm(const T* x, const T* scale, const T* bias, const RowNormShape& s, double epsilon, T* y,
             T* mean, T* variance) {
  ParallelRows(s.rows, s.n * 5, [=](int64_t begin, int64_t end) {
    Simd([=] {
      for (int64_t r = begin; r < end; ++r) {
        const T* row = x + r * s.n;
        T* to = y + r * s.n;
        Moments<T> m = MomentsOf(row, s.n, s.centered);
        if (mean) mean[r] = m.rough + m.rest;
        if (variance) variance[r] = static_cast<T>(m.variance);
        T rough = m.rough, rest = m.rest;
        T inverse = static_cast<T>(1 / std::sqrt(m.variance + epsilon));
        ForRow(s, r, [=](int64_t j, int64_t p) {
          to[j] = (row[j] - rough - rest) * inverse * scale[p] + bias[p];
        });
      }
    });
  });
}

template <class T>
void RowMoments(const T* x, const RowNormShape& s, T* mean, T* variance) {
  ParallelRows(s.rows, s.n * 3, [=](int64_t begin, int64_t end) {
    Simd([=] {
      for (int64_t r = begin; r < end; ++r) {
        Moments<T> m = MomentsOf(x + r * s.n, s.n, s.centered);
        mean[r] = m.rough + m.rest;
        variance[r] = static_cast<T>(m.variance);
      }
    });
  });
}

template <class T>
void RowNormGrad(const T* x, const T* g, const T* scale, const T* mean, const T* inverse,
                 const RowNormShape& s, T* dx, T* dscale, T* dbias) {
  if (dx) {
    ParallelRows(s.rows, s.n * 5, [=](int64_t begin, int64_t end) {
      Simd([=] {
        for (int64_t r = begin; r < end; ++r) {
          const T *row = x + r * s.n, *top = g + r * s.n;
          T* to = dx + r * s.n;
          T m = mean[r], inv = inverse[r];
          double count = static_cast<double>(s.n), h = 0, hx = 0;
          if (s.centered) {
            Pair<double> sums = ScaledSums(
                s, r, scale, [=](int64_t j) { return Pair<T>{top[j], top[j] * (row[j] - m)}; });
            h = sums.a;
            hx = sums.b;
          } else {
            hx = ScaledSum(s, r, scale, [=](int64_t j) { return top[j] * (row[j] - m); });
          }
          T constant = static_cast<T>(-h / count * static_cast<double>(inv));
          double cube =
              static_cast<double>(inv) * static_cast<double>(inv) * static_cast<double>(inv);
          T slope = static_cast<T>(-hx / count * cube);
          ForRow(s, r, [=](int64_t j, int64_t p) {
            to[j] = top[j] * scale[p] * inv + ((row[j] - m) * slope + constant);
          });
        }
      });
    });
  }
  if (!dscale && !dbias) return;
  SumParams(
      s, dscale, dbias,
      [=](int64_t i, int64_t r) { return g[i] * ((x[i] - mean[r]) * inverse[r]); },
      [=](int64_t i, int64_t) { return g[i]; });
}

template <class T>
void RowNormGradGrad(const RowNormGradGradArgs<T>& a, const RowNormShape& s) {
  struct Row {
    double h, v, hx, vx;  // means over the row; x is normalised, h = g * scale
  };
  std::vector<Row> rows(s.rows);
  Row* all = rows.data();
  ParallelRows(s.rows, s.n * 20, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t first = r * s.n;
      double mean = a.mean[r], inv = a.inverse[r], count = static_cast<double>(s.n);
      // With u = g * v_scale, the gradient that arrives at the normalised x itself.
      Row m = {0, 0, 0, 0};
      double vh = 0, u_mean = 0, ux = 0;
      auto each = [&](auto body) {
        ForRow(s, r, [&](int64_t j, int64_t p) {
          double g = a.g[first + j];
          body(j, p, (static_cast<double>(a.x[first + j]) - mean) * inv, g,
               g * static_cast<double>(a.scale[p]), a.v ? static_cast<double>(a.v[first + j]) : 0.0,
               a.v_scale ? g * static_cast<double>(a.v_scale[p]) : 0.0);
        });
      };
      each([&](int64_t, int64_t, double xh, double, double h, double v, double u) {
        m.h += h / count;
        m.v += v / count;
        m.hx += h * xh / count;
        m.vx += v * xh / count;
        vh += v * h / count;
        u_mean += u / count;
        ux += u * xh / count;
      });
      if (!s.centered) m.h = m.v = u_mean = 0;
      all[r] = m;
      if (!a.to_g && !a.to_x) continue;
      double rest = vh - m.v * m.h - m.vx * m.hx;
      each([&](int64_t j, int64_t p, double xh, double, double h, double v, double u) {
        double pv = v - m.v - xh * m.vx;
        if (a.to_g) {
          double vs = a.v_scale ? static_cast<double>(a.v_scale[p]) : 0.0;
          double vb = a.v_bias ? static_cast<double>(a.v_bias[p]) : 0.0;
          a.to_g[first + j] =
              static_cast<T>(static_cast<double>(a.scale[p]) * inv * pv + vs * xh + vb);
        }
        if (a.to_x) {
          double dx = inv * (u - u_mean - xh * ux) -
                      inv * inv * (xh * rest + m.vx * (h - m.h - xh * m.hx) + m.hx * pv);
          a.to_x[first + j] = static_cast<T>(dx);
        }
      });
    }
  });
  if (!a.to_scale) return;
  SumParams(
      s, a.to_scale, static_cast<T*>(nullptr),
      [=](int64_t i, int64_t r) {
        if (!a.v) return T(0);
        T xh = (a.x[i] - a.mean[r]) * a.inverse[r];
        return a.g[i] * a.inverse[r] *
               (a.v[i] - static_cast<T>(all[r].v) - xh * static_cast<T>(all[r].vx));
      },
      [](int64_t, int64_t) { return T(0); });
}

template void RowNorm(const float*, const float*, const float*, const RowNormShape&, double, float*,
                      float*, float*);
template void RowNorm(const double*, const double*, const double*, const RowNormShape&, double,
                      double*, double*, double*);
template void RowMoments(const float*, const RowNormShape&, float*, float*);
template void RowMoments(const double*, const RowNormShape&, double*, double*);
template void RowNormGrad(const float*, const float*, const float*, const float*, const float*,
                          const RowNormShape&, float*, float*, float*);
template void RowNormGrad(const double*, const double*, const double*, const double*, const double*,
                          const RowNormShape&, double*, double*, double*);
template void RowNormGradGrad(const RowNormGradGradArgs<float>&, const RowNormShape&);
template void RowNormGradGrad(const RowNormGradGradArgs<double>&, const RowNormShape&);

}  // namespace dygraph::kernels
