// kernels/number.h on the device.
#pragma once

#include "kernels/simd.h"

namespace dygraph::kernels {

template <class T>
class Number {
 public:
  explicit Number(const T* at) : at_(at) {}
  explicit Number(T value) : value_(value) {}  // known to the host
  DYGRAPH_INLINE T operator()() const { return at_ ? *at_ : value_; }

 private:
  const T* at_ = nullptr;
  T value_ = T();
};

}  // namespace dygraph::kernels
