// What spectral_norm and its gradients compute.
#pragma once

#include "operators/linear/spectral_matrix.h"

namespace dygraph::spectral {

inline double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

template <class T>
void Divide(const KernelContext& ctx, Tensor* out) {
  Matrix m(ctx, T());
  for (double& e : m.w) e /= m.sigma;
  m.Write<T>(m.w, out);
}

template <class T>
void DivideGradient(const KernelContext& ctx, const Tensor& given, Tensor* out) {
  Matrix m(ctx, T());
  std::vector<double> g = m.Read<T>(given);
  double along = Dot(g, m.w) / (m.sigma * m.sigma);
  int64_t n = static_cast<int64_t>(g.size());
  for (int64_t i = 0; i < n; ++i) g[i] = g[i] / m.sigma - along * m.Direction(i);
  m.Write<T>(g, out);
}

// What DivideGradient gives Out@GRAD and Weight where `arriving` arrives at its result; each may be
// nullptr.
template <class T>
void DivideSecond(const KernelContext& ctx, const Tensor& given, const Tensor& arriving,
                  Tensor* to_given, Tensor* to_weight) {
  Matrix m(ctx, T());
  std::vector<double> g = m.Read<T>(given), x = m.Read<T>(arriving);
  double s = m.sigma, along = m.Along(x), gw = Dot(g, m.w), gx = Dot(g, x);
  std::vector<double> to(g.size());
  int64_t n = static_cast<int64_t>(g.size());
  if (to_given) {
    for (int64_t i = 0; i < n; ++i) to[i] = x[i] / s - m.w[i] * along / (s * s);
    m.Write<T>(to, to_given);
  }
  if (to_weight) {
    for (int64_t i = 0; i < n; ++i) {
      to[i] = (2 * gw * along / s - gx) / (s * s) * m.Direction(i) - g[i] * along / (s * s);
    }
    m.Write<T>(to, to_weight);
  }
}

}  // namespace dygraph::spectral
