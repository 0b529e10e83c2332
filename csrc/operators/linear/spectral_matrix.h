// The matrix of spectral_norm and its vectors, on the host.
#pragma once

#include <cmath>
#include <vector>

#include "op/op_registry.h"
#include "platform/interrupt.h"

namespace dygraph::spectral {

constexpr int kWeight = 0, kU = 1, kV = 2;

struct SpectralNormAttrs {
  int32_t dim = 0;
  int32_t power_iters = 1;
  double eps = 1e-12;
};

// W as a matrix of doubles; u and v after the iterations; sigma.
struct Matrix {
  int64_t before, rows, after, columns;
  std::vector<double> w, u, v;
  double sigma = 0;

  template <class T>
  Matrix(const KernelContext& ctx, T) {
    const SpectralNormAttrs& a = ctx.attrs<SpectralNormAttrs>();
    const Dims& d = ctx.In(kWeight).dims();
    before = Numel(d, 0, a.dim);
    rows = d[a.dim];
    after = Numel(d, a.dim + 1, d.rank());
    columns = before * after;
    w = Read<T>(ctx.In(kWeight));
    const T *u0 = ctx.In(kU).data<T>(), *v0 = ctx.In(kV).data<T>();
    u.assign(u0, u0 + rows);
    v.assign(v0, v0 + columns);
    for (int32_t i = 0; i < a.power_iters; ++i) {
      for (double& x : v) x = 0;
      for (int64_t r = 0; r < rows; ++r) {
        CheckInterrupt();
        for (int64_t c = 0; c < columns; ++c) v[c] += w[r * columns + c] * u[r];
      }
      Normalise(&v, NumberFor<T>(a.eps));
      for (int64_t r = 0; r < rows; ++r) {
        CheckInterrupt();
        u[r] = 0;
        for (int64_t c = 0; c < columns; ++c) u[r] += w[r * columns + c] * v[c];
      }
      Normalise(&u, NumberFor<T>(a.eps));
    }
    sigma = Along(w);
  }
  static void Normalise(std::vector<double>* x, double eps) {
    double squares = 0;
    for (double e : *x) squares += e * e;
    double length = std::sqrt(squares) + eps;
    for (double& e : *x) e /= length;
  }
  // A tensor of Weight's shape as a matrix, and back.
  template <class T>
  std::vector<double> Read(const Tensor& t) const {
    std::vector<double> to(t.numel());
    const T* from = t.data<T>();
    for (int64_t i = 0; i < t.numel(); ++i) to[Place(i)] = static_cast<double>(from[i]);
    return to;
  }
  template <class T>
  void Write(const std::vector<double>& from, Tensor* t) const {
    T* to = t->mutable_data<T>();
    for (int64_t i = 0; i < t->numel(); ++i) to[i] = static_cast<T>(from[Place(i)]);
  }
  int64_t Place(int64_t i) const {
    int64_t b = i / (rows * after), r = i / after % rows;
    return r * columns + b * after + i % after;
  }
  // u^T m v
  double Along(const std::vector<double>& m) const {
    double sum = 0;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) sum += u[r] * m[r * columns + c] * v[c];
    }
    return sum;
  }
  double Direction(int64_t i) const { return u[i / columns] * v[i % columns]; }
};

}  // namespace dygraph::spectral
