// operators/linear/spectral_loops.h on the device: a team for each row of the matrix, and one for
// each vector.
#pragma once

#include <cmath>

#include "cuda/scratch.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "operators/linear/spectral_matrix.h"

namespace dygraph::spectral {

// Where element i of a tensor of Weight's shape stands in the matrix.
struct Places {
  int64_t rows, after, columns;
  DYGRAPH_INLINE int64_t operator()(int64_t i) const {
    const int64_t b = i / (rows * after), r = i / after % rows;
    return r * columns + b * after + i % after;
  }
};

// to[0] = the sum of a[i] * b[i].
inline void Dot(const double* a, const double* b, int64_t n, double* to) {
  kernels::ForEachRow(1, n, [=] DYGRAPH_FN(int64_t, kernels::Team team) {
    const double sum = team.Sum<double>(n, [=](int64_t i) { return a[i] * b[i]; });
    team.Once([=] { *to = sum; });
  });
}
// to[r] = the sum over row r of m * (x of the row, or of the column alone).
inline void RowSums(const double* m, const double* x, bool by_column, int64_t rows, int64_t columns,
                    double* to) {
  kernels::ForEachRow(rows, columns, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
    const double *line = m + r * columns, *other = by_column ? x : x + r * columns;
    const double sum = team.Sum<double>(columns, [=](int64_t c) { return line[c] * other[c]; });
    team.Once([=] { to[r] = sum; });
  });
}
inline void ColumnSums(const double* m, const double* x, int64_t rows, int64_t columns,
                       double* to) {
  kernels::ForEach(columns, [=] DYGRAPH_FN(int64_t c) {
    double sum = 0;
    for (int64_t r = 0; r < rows; ++r) sum += m[r * columns + c] * x[r];
    to[c] = sum;
  });
}
inline void Normalise(double* x, int64_t n, double eps) {
  kernels::ForEachRow(1, n, [=] DYGRAPH_FN(int64_t, kernels::Team team) {
    const double length =
        std::sqrt(team.Sum<double>(n, [=](int64_t i) { return x[i] * x[i]; })) + eps;
    team.Each(n, [=](int64_t i) { x[i] /= length; });
  });
}
template <class T>
void ReadMatrix(const T* from, int64_t n, const Places& places, double* to) {
  const Places place = places;
  kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) { to[place(i)] = static_cast<double>(from[i]); });
}

// As Matrix of the host; `room` is for a vector of a row each.
template <class T>
struct DeviceMatrix {
  Places place;
  int64_t n;
  cuda::Workspace<double> memory;
  double *w, *u, *v, *room, *sigma;

  explicit DeviceMatrix(const KernelContext& ctx)
      : place(PlacesOf(ctx)),
        n(ctx.In(kWeight).numel()),
        memory(n + 2 * place.rows + place.columns + 1),
        w(memory.data()),
        u(w + n),
        v(u + place.rows),
        room(v + place.columns),
        sigma(room + place.rows) {
    const double eps = NumberFor<T>(ctx.attrs<SpectralNormAttrs>().eps);
    ReadMatrix(ctx.In(kWeight).data<T>(), n, place, w);
    Widen(ctx.In(kU).data<T>(), place.rows, u);
    Widen(ctx.In(kV).data<T>(), place.columns, v);
    for (int32_t i = 0; i < ctx.attrs<SpectralNormAttrs>().power_iters; ++i) {
      ColumnSums(w, u, place.rows, place.columns, v);
      Normalise(v, place.columns, eps);
      RowSums(w, v, true, place.rows, place.columns, u);
      Normalise(u, place.rows, eps);
    }
    Along(w, sigma);
  }
  static Places PlacesOf(const KernelContext& ctx) {
    const int axis = ctx.attrs<SpectralNormAttrs>().dim;
    const Dims& d = ctx.In(kWeight).dims();
    const int64_t after = Numel(d, axis + 1, d.rank());
    return {d[axis], after, Numel(d, 0, axis) * after};
  }
  static void Widen(const T* from, int64_t count, double* to) {
    kernels::Map(from, to, count, [] DYGRAPH_FN(T x) { return static_cast<double>(x); });
  }
  // to[0] = u^T m v
  void Along(const double* m, double* to) const {
    RowSums(m, v, true, place.rows, place.columns, room);
    Dot(u, room, place.rows, to);
  }
  // to[0] = the sum of all products
  void Products(const double* a, const double* b, double* to) const {
    RowSums(a, b, false, place.rows, place.columns, room);
    kernels::ForEachRow(1, place.rows, SumOf{room, place.rows, to});
  }
  struct SumOf {
    const double* x;
    int64_t n;
    double* to;
    DYGRAPH_FN void operator()(int64_t, kernels::Team team) const {
      const double *from = x, sum = team.Sum<double>(n, [=](int64_t i) { return from[i]; });
      double* result = to;
      team.Once([=] { *result = sum; });
    }
  };
};

template <class T>
void Divide(const KernelContext& ctx, Tensor* out) {
  DeviceMatrix<T> m(ctx);
  const T* from = ctx.In(kWeight).data<T>();
  const double* sigma = m.sigma;
  kernels::Map(from, out->mutable_data<T>(), m.n,
               [=] DYGRAPH_FN(T x) { return static_cast<T>(static_cast<double>(x) / *sigma); });
}

template <class T>
void DivideGradient(const KernelContext& ctx, const Tensor& given, Tensor* out) {
  DeviceMatrix<T> m(ctx);
  cuda::Workspace<double> memory(m.n + 1);
  double *g = memory.data(), *dot = g + m.n;
  ReadMatrix(given.data<T>(), m.n, m.place, g);
  m.Products(g, m.w, dot);
  const Places place = m.place;
  const double *sigma = m.sigma, *u = m.u, *v = m.v;
  T* to = out->mutable_data<T>();
  kernels::ForEach(m.n, [=] DYGRAPH_FN(int64_t i) {
    const int64_t at = place(i);
    const double along = *dot / (*sigma * *sigma);
    const double direction = u[at / place.columns] * v[at % place.columns];
    to[i] = static_cast<T>(g[at] / *sigma - along * direction);
  });
}

// What DivideGradient gives Out@GRAD and Weight where `arriving` arrives at its result; each may be
// nullptr.
template <class T>
void DivideSecond(const KernelContext& ctx, const Tensor& given, const Tensor& arriving,
                  Tensor* out_given, Tensor* out_weight) {
  DeviceMatrix<T> m(ctx);
  cuda::Workspace<double> memory(2 * m.n + 3);
  double *g = memory.data(), *x = g + m.n, *dots = x + m.n;
  ReadMatrix(given.data<T>(), m.n, m.place, g);
  ReadMatrix(arriving.data<T>(), m.n, m.place, x);
  m.Along(x, dots);
  m.Products(g, m.w, dots + 1);
  m.Products(g, x, dots + 2);
  const Places place = m.place;
  const double *sigma = m.sigma, *u = m.u, *v = m.v, *w = m.w;
  T* to_given = out_given ? out_given->mutable_data<T>() : nullptr;
  T* to_weight = out_weight ? out_weight->mutable_data<T>() : nullptr;
  kernels::ForEach(m.n, [=] DYGRAPH_FN(int64_t i) {
    const int64_t at = place(i);
    const double s = *sigma, along = dots[0], gw = dots[1], gx = dots[2];
    const double direction = u[at / place.columns] * v[at % place.columns];
    if (to_given) to_given[i] = static_cast<T>(x[at] / s - w[at] * along / (s * s));
    if (to_weight) {
      to_weight[i] =
          static_cast<T>((2 * gw * along / s - gx) / (s * s) * direction - g[at] * along / (s * s));
    }
  });
}

}  // namespace dygraph::spectral
