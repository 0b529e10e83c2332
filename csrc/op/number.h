// One number in a tensor that a loop reads, such as a learning rate: the host reads it before the
// loop; on a device the loop does (csrc/cuda/op/number.h), so that nothing waits.
#pragma once

#include "base/marks.h"
#include "tensor/tensor.h"

namespace dygraph {

template <class T>
class Number {
 public:
  explicit Number(const Tensor& t) : value_(static_cast<T>(Item(t))) {}
  explicit Number(T value) : value_(value) {}
  T operator()() const { return value_; }

 private:
  T value_;
};

}  // namespace dygraph
