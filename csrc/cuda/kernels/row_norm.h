// kernels/row_norm.h on the device: a team for each row. Sums are taken in doubles. Beside 16-bit
// floats, parameters and statistics are floats.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cuda/scratch.h"
#include "kernels/convert.h"
#include "kernels/loops.h"
#include "kernels/row_norm_shape.h"

namespace dygraph::kernels {

namespace detail {

struct PairSum {
  double a, b;
};
struct AddPairs {
  DYGRAPH_INLINE PairSum operator()(PairSum x, PairSum y) const { return {x.a + y.a, x.b + y.b}; }
};

// The number of the parameter of element j in row r.
DYGRAPH_INLINE int64_t ParamOf(const RowNormShape& s, int64_t r, int64_t j) {
  return r % s.groups * s.per_row() + (s.inner == 1 ? j : j / s.inner);
}

struct RowMoment {
  double mean, variance;
};
// The deviations from a rough mean lose nothing in rows far from zero.
template <class T>
DYGRAPH_INLINE RowMoment MomentOf(Team team, const T* row, int64_t n, bool centered) {
  const double count = static_cast<double>(n);
  const Wide<T> rough =
      centered
          ? static_cast<Wide<T>>(
                team.Sum<double>(n, [=](int64_t j) { return static_cast<double>(row[j]); }) / count)
          : 0;
  const PairSum sums = team.Merge(
      n, PairSum{0, 0},
      [=](int64_t j) {
        const double d = static_cast<double>(row[j]) - static_cast<double>(rough);
        return PairSum{d, d * d};
      },
      AddPairs());
  if (!centered) return {0, sums.b / count};
  const double rest = sums.a / count, variance = sums.b / count - rest * rest;
  return {static_cast<double>(rough) + rest, variance < 0 ? 0 : variance};  // a NaN stays
}

// Sums over all rows for every parameter: to_a[p] = sum of fa(i, r), to_b likewise, i the position
// in the array. Either may be null.
template <class T, class FA, class FB>
void SumParams(const RowNormShape& s, T* to_a, T* to_b, FA fa, FB fb) {
  const int64_t params = s.params(), turns = s.rows / s.groups;
  if (params == 0) return;
  if (s.inner > 1) {
    return ForEachRow(params, turns * s.inner, [=] DYGRAPH_FN(int64_t p, Team team) {
      const int64_t group = p / s.per_row(), first = p % s.per_row() * s.inner;
      const PairSum sum = team.Merge(
          turns * s.inner, PairSum{0, 0},
          [=](int64_t e) {
            const int64_t r = e / s.inner * s.groups + group, i = r * s.n + first + e % s.inner;
            return PairSum{static_cast<double>(fa(i, r)), static_cast<double>(fb(i, r))};
          },
          AddPairs());
      team.Once([=] {
        if (to_a) to_a[p] = static_cast<T>(sum.a);
        if (to_b) to_b[p] = static_cast<T>(sum.b);
      });
    });
  }
  // Columns: neighbouring threads have neighbouring parameters, and some rows each.
  const int64_t parts = std::max<int64_t>(std::min<int64_t>(262144 / params, turns / 8), 1);
  const int64_t size = (turns + parts - 1) / parts;
  cuda::Workspace<PairSum> room(parts * params);
  PairSum* sums = room.data();
  ForEach(parts * params, [=] DYGRAPH_FN(int64_t at) {
    const int64_t p = at % params, group = p / s.n, first = at / params * size;
    const int64_t end = turns < first + size ? turns : first + size;
    PairSum sum{0, 0};
    for (int64_t t = first; t < end; ++t) {
      const int64_t r = t * s.groups + group, i = r * s.n + p % s.n;
      sum.a += static_cast<double>(fa(i, r));
      sum.b += static_cast<double>(fb(i, r));
    }
    sums[at] = sum;
  });
  ForEach(params, [=] DYGRAPH_FN(int64_t p) {
    PairSum sum{0, 0};
    for (int64_t part = 0; part < parts; ++part) {
      sum.a += sums[part * params + p].a;
      sum.b += sums[part * params + p].b;
    }
    if (to_a) to_a[p] = static_cast<T>(sum.a);
    if (to_b) to_b[p] = static_cast<T>(sum.b);
  });
}

// Means over a row; x is normalised, h = g * scale, u = g * v_scale.
struct RowMeans {
  double h, v, hx, vx, vh, u, ux;
};
struct AddRowMeans {
  DYGRAPH_INLINE RowMeans operator()(RowMeans a, RowMeans b) const {
    return {a.h + b.h, a.v + b.v, a.hx + b.hx, a.vx + b.vx, a.vh + b.vh, a.u + b.u, a.ux + b.ux};
  }
};

}  // namespace detail

// y = (x - mean) * inverse * scale + bias, inverse = 1 / sqrt(variance + epsilon). mean and
// variance, one a row, are written where they are not null.
template <class T>
void RowNorm(const T* x, const Wide<T>* scale, const Wide<T>* bias, const RowNormShape& shape,
             double epsilon, T* y, Wide<T>* mean, Wide<T>* variance) {
  using W = Wide<T>;
  const RowNormShape s = shape;
  ForEachRow(s.rows, s.n, [=] DYGRAPH_FN(int64_t r, Team team) {
    const T* row = x + r * s.n;
    T* to = y + r * s.n;
    const detail::RowMoment m = detail::MomentOf(team, row, s.n, s.centered);
    const W center = static_cast<W>(m.mean), rest = static_cast<W>(m.mean - double{center});
    const W inverse = static_cast<W>(1 / std::sqrt(m.variance + epsilon));
    team.Once([=] {
      if (mean) mean[r] = center;
      if (variance) variance[r] = static_cast<W>(m.variance);
    });
    team.Each(s.n, [=](int64_t j) {
      const int64_t p = detail::ParamOf(s, r, j);
      to[j] = (row[j] - center - rest) * inverse * scale[p] + bias[p];
    });
  });
}

// The mean (0 where rows are not centered) and variance alone.
template <class T>
void RowMoments(const T* x, const RowNormShape& shape, Wide<T>* mean, Wide<T>* variance) {
  const RowNormShape s = shape;
  ForEachRow(s.rows, s.n, [=] DYGRAPH_FN(int64_t r, Team team) {
    const detail::RowMoment m = detail::MomentOf(team, x + r * s.n, s.n, s.centered);
    team.Once([=] {
      mean[r] = static_cast<Wide<T>>(m.mean);
      variance[r] = static_cast<Wide<T>>(m.variance);
    });
  });
}

// With h = g * scale and u = (x - mean) * inverse: dx = inverse * (h - mean(h) - u mean(h u)),
// dscale = sum(g u), dbias = sum(g). Outputs may be null.
template <class T>
void RowNormGrad(const T* x, const T* g, const Wide<T>* scale, const Wide<T>* mean,
                 const Wide<T>* inverse, const RowNormShape& shape, T* dx, Wide<T>* dscale,
                 Wide<T>* dbias) {
  using W = Wide<T>;
  const RowNormShape s = shape;
  if (dx) {
    ForEachRow(s.rows, s.n, [=] DYGRAPH_FN(int64_t r, Team team) {
      const T *row = x + r * s.n, *top = g + r * s.n;
      const W m = mean[r], inv = inverse[r];
      T* to = dx + r * s.n;
      const detail::PairSum sums = team.Merge(
          s.n, detail::PairSum{0, 0},
          [=](int64_t j) {
            const double h = static_cast<double>(top[j] * scale[detail::ParamOf(s, r, j)]);
            return detail::PairSum{s.centered ? h : 0.0, h * static_cast<double>(row[j] - m)};
          },
          detail::AddPairs());
      const double count = static_cast<double>(s.n), i = static_cast<double>(inv);
      const W constant = static_cast<W>(-sums.a / count * i);
      const W slope = static_cast<W>(-sums.b / count * i * i * i);
      team.Each(s.n, [=](int64_t j) {
        to[j] = top[j] * scale[detail::ParamOf(s, r, j)] * inv + ((row[j] - m) * slope + constant);
      });
    });
  }
  if (!dscale && !dbias) return;
  detail::SumParams(
      s, dscale, dbias,
      [=] DYGRAPH_FN(int64_t i, int64_t r) { return g[i] * ((x[i] - mean[r]) * inverse[r]); },
      [=] DYGRAPH_FN(int64_t i, int64_t) { return static_cast<W>(g[i]); });
}

// The gradients of sum(dx v) + sum(dscale v_scale) + sum(dbias v_bias).
template <class T>
void RowNormGradGrad(const RowNormGradGradArgs<T>& args, const RowNormShape& shape) {
  const RowNormGradGradArgs<T> a = args;
  const RowNormShape s = shape;
  cuda::Workspace<detail::RowMeans> room(s.rows);
  detail::RowMeans* all = room.data();
  ForEachRow(s.rows, s.n, [=] DYGRAPH_FN(int64_t r, Team team) {
    const int64_t first = r * s.n;
    const double mean = a.mean[r], inv = a.inverse[r], count = static_cast<double>(s.n);
    const RowNormGradGradArgs<T>* in = &a;
    const RowNormShape* sp = &s;
    detail::RowMeans m = team.Merge(
        s.n, detail::RowMeans{0, 0, 0, 0, 0, 0, 0},
        [=](int64_t j) {
          const int64_t p = detail::ParamOf(*sp, r, j);
          const double g = in->g[first + j], h = g * static_cast<double>(in->scale[p]);
          const double xh = (static_cast<double>(in->x[first + j]) - mean) * inv;
          const double v = in->v ? static_cast<double>(in->v[first + j]) : 0.0;
          const double u = in->v_scale ? g * static_cast<double>(in->v_scale[p]) : 0.0;
          return detail::RowMeans{h / count,     v / count, h * xh / count, v * xh / count,
                                  v * h / count, u / count, u * xh / count};
        },
        detail::AddRowMeans());
    if (!s.centered) m.h = m.v = m.u = 0;
    team.Once([=] { all[r] = m; });
    if (!a.to_g && !a.to_x) return;
    const double rest = m.vh - m.v * m.h - m.vx * m.hx;
    team.Each(s.n, [=](int64_t j) {
      const int64_t p = detail::ParamOf(*sp, r, j), i = first + j;
      const double g = in->g[i], scale = in->scale[p], h = g * scale;
      const double xh = (static_cast<double>(in->x[i]) - mean) * inv;
      const double v = in->v ? static_cast<double>(in->v[i]) : 0.0;
      const double pv = v - m.v - xh * m.vx;
      const double vs = in->v_scale ? static_cast<double>(in->v_scale[p]) : 0.0;
      const double vb = in->v_bias ? static_cast<double>(in->v_bias[p]) : 0.0;
      if (in->to_g) in->to_g[i] = static_cast<T>(scale * inv * pv + vs * xh + vb);
      if (in->to_x) {
        const double dx = inv * (g * vs - m.u - xh * m.ux) -
                          inv * inv * (xh * rest + m.vx * (h - m.h - xh * m.hx) + m.hx * pv);
        in->to_x[i] = static_cast<T>(dx);
      }
    });
  });
  if (!a.to_scale) return;
  detail::SumParams(
      s, a.to_scale, static_cast<T*>(nullptr),
      [=] DYGRAPH_FN(int64_t i, int64_t r) {
        if (!a.v) return T(0);
        const T xh = (a.x[i] - a.mean[r]) * a.inverse[r];
        return a.g[i] * a.inverse[r] *
               (a.v[i] - static_cast<T>(all[r].v) - xh * static_cast<T>(all[r].vx));
      },
      [=] DYGRAPH_FN(int64_t, int64_t) { return T(0); });
}

}  // namespace dygraph::kernels
