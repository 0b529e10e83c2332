// operators/optimizer/unscale.h on the device: one launch for all arrays.
#pragma once

#include <vector>

#include "operators/optimizer/optimizer.h"

namespace dygraph::optimizer {

template <class T>
struct Unscaled {
  const T* x;
  T* y;
  int64_t n;
};

namespace detail {
template <class T>
struct UnscaleStep {
  const T* x;
  T* y;
  bool* found;
  DYGRAPH_BOTH void operator()(T inverse, int64_t i) const {
    const T v = x[i];
    if (found && v * T(0) != 0) *found = true;
    if (y) y[i] = v * inverse;
  }
};
template <class T>
struct Inverse {
  Number<double> scale;
  DYGRAPH_BOTH T operator()() const { return static_cast<T>(1 / scale()); }
};
}  // namespace detail

template <class T>
void Unscale(KernelContext&, const std::vector<Unscaled<T>>& arrays, const Tensor& scale,
             bool* found) {
  if (found) kernels::Fill(found, 1, false);
  using Loop = detail::StepLoop<detail::Inverse<T>, detail::UnscaleStep<T>>;
  std::vector<Loop> loops;
  const detail::Inverse<T> inverse{Number<double>(scale)};
  for (const Unscaled<T>& a : arrays) {
    if (a.n > 0) loops.push_back({inverse, {a.x, a.y, found}, a.n});
  }
  detail::LaunchAll(loops);
}

template <class T>
void PassUnless(KernelContext&, const bool* found, const Tensor& x, Tensor* out) {
  kernels::Map(x.data<T>(), out->mutable_data<T>(), x.numel(),
               [=] DYGRAPH_FN(T v) { return *found ? T(0) : v; });
}

}  // namespace dygraph::optimizer
