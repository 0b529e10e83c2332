// Division of whole numbers.
#pragma once

#include "kernels/value_check.h"
#include "operators/arithmetic/binary.h"

namespace dygraph::elementwise {

template <class T>
void CheckDivisors(const Tensor& y) {
  kernels::CheckEach(
      y.data<T>(), y.numel(), [] DYGRAPH_FN(T b) { return b != 0; },
      "integers cannot be divided by zero, got % in Y. Convert to float32 for inf "
      "and nan");
}

}  // namespace dygraph::elementwise
