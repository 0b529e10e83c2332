// Loops of loss scaling over the gradients of a step.
#pragma once

#include <atomic>
#include <cstring>
#include <vector>

#include "operators/optimizer/optimizer.h"

namespace dygraph::optimizer {

// y = x / Scale where y is given.
template <class T>
struct Unscaled {
  const T* x;
  T* y;
  int64_t n;
};

// Divides all arrays; `found`, where given, says whether any x is infinite or not a number.
template <class T>
void Unscale(KernelContext&, const std::vector<Unscaled<T>>& arrays, const Tensor& scale,
             bool* found) {
  const T inverse = static_cast<T>(1 / Item(scale));
  std::atomic<bool> any{false};
  std::atomic<bool>* flag = &any;
  for (const Unscaled<T>& array : arrays) {
    const T* x = array.x;
    T* y = array.y;
    ParallelFor(array.n, kernels::Grain(), [=](int64_t begin, int64_t end) {
      T poison = 0;  // x * 0 is 0, or NaN for what is not finite
      for (int64_t k = begin; k < end; ++k) poison += x[k] * T(0);
      if (poison != 0) flag->store(true, std::memory_order_relaxed);
      for (int64_t k = begin; y && k < end; ++k) y[k] = x[k] * inverse;
    });
  }
  if (found) *found = any.load();
}

// out = x, or zeros where `found`.
template <class T>
void PassUnless(KernelContext&, const bool* found, const Tensor& x, Tensor* out) {
  if (*found)
    std::memset(out->mutable_raw_data(), 0, out->bytes());
  else
    CopyThrough(x, out);
}

}  // namespace dygraph::optimizer
