// One number that a kernel reads from a tensor: its value on the host, its address on a device,
// where the host cannot look. A functor takes it by value and calls it:
//
//   Number<float> rate(tensor.data<float>());
//   Zip(p, g, p, n, [=] DYGRAPH_FN(float w, float d) { return w - rate() * d; });
#pragma once

#include "kernels/simd.h"

namespace dygraph::kernels {

template <class T>
class Number {
 public:
  explicit Number(const T* at) : value_(*at) {}
  explicit Number(T value) : value_(value) {}  // known to the host
  DYGRAPH_INLINE T operator()() const { return value_; }

 private:
  T value_;
};

}  // namespace dygraph::kernels
