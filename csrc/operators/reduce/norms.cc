// Compiled for each device.
#include "operators/reduce/norms.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dygraph::norms {

namespace {

// The norm of a whole order from 1 to 4 as a reduction, in doubles.
template <class T, int kP>
struct PowerSumOp {
  using In = T;
  using Lane = double;
  using Total = double;
  static constexpr Lane kInit = 0;
  static constexpr bool kCheap = false;
  DYGRAPH_INLINE static Lane Add(Lane a, T x) {
    double v = std::fabs(static_cast<double>(x));
    if constexpr (kP == 1) return a + v;
    if constexpr (kP == 2) return a + v * v;
    if constexpr (kP == 3) return a + v * v * v;
    return a + (v * v) * (v * v);
  }
  DYGRAPH_INLINE static Lane Fold(Lane a, Lane b) { return a + b; }
  DYGRAPH_INLINE static Total Merge(Total a, Total b) { return a + b; }
  DYGRAPH_INLINE static Total Finish(Total a, int64_t) {
    return kP == 1 ? a : kP == 2 ? std::sqrt(a) : std::pow(a, 1.0 / kP);
  }
};

using kernels::Team;
using reduce::Elements;

// The first element whose |x| is the norm; count where there is none.
template <class T>
DYGRAPH_INLINE int64_t Extreme(Team team, const T* x, const Elements* elements, T norm) {
  return kernels::First(team, elements->count, [=](int64_t i) {
    return std::fabs(x[(*elements)[i]]) == norm;
  });
}

DYGRAPH_INLINE double Sign(double v) { return v > 0 ? 1 : v < 0 ? -1 : 0; }

// d norm / d x of an element, for a finite p and a norm other than 0.
DYGRAPH_INLINE double Slope(double v, double norm, double p) {
  if (v == 0 || p == 0) return 0;
  if (p == 1) return Sign(v);
  if (p == 2) return v / norm;
  return Sign(v) * std::pow(std::fabs(v) / norm, p - 1);
}

// x_grad = f(x, factor of its result), in one pass.
template <class T, class F>
void Scaled(const Tensor& x, const double* factor, const Norm& norm, Tensor* x_grad, F f) {
  reduce::Strides strides(x.dims(), reduce::Axes(x.rank(), norm.over));
  kernels::Broadcast(x.dims(), x.data<T>(), strides.x, factor, strides.out,
                     x_grad->mutable_data<T>(), f);
}

}  // namespace

template <class T>
void Compute(const Tensor& x, const Norm& norm, Tensor* out) {
  double p = norm.p;
  const T* from = x.data<T>();
  T* to = out->mutable_data<T>();
  ENFORCE(!std::isinf(p) || x.numel() > 0 || out->numel() == 0, InvalidArgument,
          "X must have elements for a norm of order ", p, ", got shape ", x.dims());
  reduce::Axes axes(x.rank(), norm.over);
  Span<const bool> reduced(axes.reduced.data(), x.dims().size());
  if (p == 1) return kernels::Reduce<PowerSumOp<T, 1>>(from, x.dims(), reduced, to);
  if (p == 2) return kernels::Reduce<PowerSumOp<T, 2>>(from, x.dims(), reduced, to);
  if (p == 3) return kernels::Reduce<PowerSumOp<T, 3>>(from, x.dims(), reduced, to);
  if (p == 4) return kernels::Reduce<PowerSumOp<T, 4>>(from, x.dims(), reduced, to);
  reduce::ForEachResult(
      x.dims(), axes,
      [=] DYGRAPH_FN(int64_t place, int64_t first, const Elements& elements, Team team) {
        const T* in = from + first;
        const Elements* at = &elements;
        double total;
        if (std::isinf(p)) {
          total = kernels::Fold(
              team, at->count, p < 0 ? -p : 0.0,
              [=](int64_t i) { return std::fabs(static_cast<double>(in[(*at)[i]])); },
              [=](double a, double b) {
                if (p > 0 ? b <= a : b >= a) return a;
                return a != a ? a : b;
              });
        } else {
          total = kernels::Fold(
              team, at->count, 0.0,
              [=](int64_t i) {
                const double v = std::fabs(static_cast<double>(in[(*at)[i]]));
                return p == 0 ? static_cast<double>(v != 0) : std::pow(v, p);
              },
              kernels::Sum());
          if (p != 0) total = std::pow(total, 1 / p);
        }
        team.Once([=] { to[place] = static_cast<T>(total); });
      },
      8);
}

template <class T>
void Grad(const Tensor& x, const Tensor& out, const Tensor& g, const Norm& norm, Tensor* x_grad) {
  double p = norm.p;
  const T *from = x.data<T>(), *o = out.data<T>(), *gd = g.data<T>();
  if (x.numel() == 0) return;
  if (p == 1 || p == 2) {
    Scratch room(x.place(), out.numel() * sizeof(double));
    double* factors = room.as<double>();
    kernels::ForEach(out.numel(), [=] DYGRAPH_FN(int64_t i) {
      double length = p == 1 ? 1 : o[i];
      factors[i] = o[i] == 0 ? 0 : gd[i] / length;
    });
    if (p == 1) {
      return Scaled<T>(x, factors, norm, x_grad, [] DYGRAPH_FN(T v, double factor) {
        return static_cast<T>(v > 0 ? factor : v < 0 ? -factor : 0.0);
      });
    }
    return Scaled<T>(x, factors, norm, x_grad, [] DYGRAPH_FN(T v, double factor) {
      return static_cast<T>(v == 0 ? 0.0 : static_cast<double>(v) * factor);
    });
  }
  T* to = x_grad->mutable_data<T>();
  reduce::ForEachResult(
      x.dims(), reduce::Axes(x.rank(), norm.over),
      [=] DYGRAPH_FN(int64_t place, int64_t first, const Elements& elements, Team team) {
        const T* in = from + first;
        T* result = to + first;
        const Elements* at = &elements;
        const int64_t winner = std::isinf(p) ? Extreme(team, in, at, o[place]) : at->count;
        const bool flat = o[place] == 0 || std::isinf(p);
        team.Each(at->count, [=](int64_t i) {
          const double v = in[(*at)[i]];
          const double slope = i == winner ? Sign(v) : flat ? 0 : Slope(v, o[place], p);
          result[(*at)[i]] = flat && i != winner ? T(0) : static_cast<T>(gd[place] * slope);
        });
      },
      8);
}

template <class T>
void GradGrad(const Tensor& x, const Tensor& out, const Tensor& g, const Tensor& w,
              const Norm& norm, Tensor* g_grad, Tensor* x_grad) {
  double p = norm.p;
  const T *from = x.data<T>(), *o = out.data<T>(), *gd = g.data<T>(), *wd = w.data<T>();
  T* to_g = g_grad ? g_grad->mutable_data<T>() : nullptr;
  T* to_x = x_grad ? x_grad->mutable_data<T>() : nullptr;
  reduce::ForEachResult(
      x.dims(), reduce::Axes(x.rank(), norm.over),
      [=] DYGRAPH_FN(int64_t place, int64_t first, const Elements& elements, Team team) {
        const T *in = from + first, *wi = wd + first;
        const Elements* at = &elements;
        const double size = o[place];
        double product = 0;
        if (std::isinf(p)) {
          const int64_t winner = Extreme(team, in, at, o[place]);
          if (winner < at->count) product = wi[(*at)[winner]] * Sign(in[(*at)[winner]]);
        } else if (size != 0) {
          product = kernels::Fold(
              team, at->count, 0.0,
              [=](int64_t i) { return Slope(in[(*at)[i]], size, p) * wi[(*at)[i]]; },
              kernels::Sum());
        }
        team.Once([=] {
          if (to_g) to_g[place] = static_cast<T>(product);
        });
        if (!to_x) return;
        const bool straight = size == 0 || p == 0 || p == 1 || std::isinf(p);
        team.Each(at->count, [=](int64_t i) {
          const int64_t e = (*at)[i];
          double bend = 0, v = in[e];
          if (!straight) {
            double own = p == 2 ? 1 : v == 0 ? 0 : std::pow(std::fabs(v) / size, p - 2);
            bend = gd[place] * (p - 1) * (own * wi[e] - Slope(v, size, p) * product) / size;
          }
          to_x[first + e] = static_cast<T>(bend);
        });
      },
      8);
}

void RunThird(higher::Problem& problem, const Norm& norm) {
  using higher::Scalar;
  const Dims& x = problem.ctx.In(0).dims();
  const double p = norm.p;
  reduce::Axes axes(x.rank(), norm.over);
  std::vector<int64_t> elements = reduce::ElementOffsets(x, axes);
  if (p == 0 || Numel(x) == 0) return;
  reduce::ForEachResultInOrder(x, axes, [&](int64_t place, int64_t first) {
    std::vector<Scalar> sizes;  // |x|
    for (int64_t e : elements) {
      Scalar v = problem.Leaf(0, first + e);
      const double sign = Sign(ValueOf(v));
      if (sign != 0 || p == 2 || p < 0) sizes.push_back(v * (p == 2 && sign == 0 ? 1 : sign));
    }
    auto less = [](Scalar a, Scalar b) { return ValueOf(a) < ValueOf(b); };
    auto most = std::max_element(sizes.begin(), sizes.end(), less);
    if (most == sizes.end()) return;
    if (std::isinf(p)) {
      if (p < 0) most = std::min_element(sizes.begin(), sizes.end(), less);
      problem.Set(0, place, *most);
    } else if (ValueOf(*most) != 0) {
      Scalar sum = kernels::Constant(0);
      for (Scalar v : sizes) sum = sum + (p == 1 ? v : p == 2 ? v * v : Pow(v, p));
      if (ValueOf(sum) > 0) problem.Set(0, place, p == 1 ? sum : Pow(sum, 1 / p));
    }
    problem.Flush();
  });
}

#define REGISTER_TYPE(T)                                                                       \
  template void Compute<T>(const Tensor&, const Norm&, Tensor*);                               \
  template void Grad<T>(const Tensor&, const Tensor&, const Tensor&, const Norm&, Tensor*);    \
  template void GradGrad<T>(const Tensor&, const Tensor&, const Tensor&, const Tensor&,        \
                            const Norm&, Tensor*, Tensor*)
REGISTER_TYPE(float);
REGISTER_TYPE(double);
#undef REGISTER_TYPE

}  // namespace dygraph::norms
