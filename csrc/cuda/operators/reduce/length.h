// operators/reduce/length.h on the device.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/fold.h"

namespace dygraph::reduce {

template <class T, class P>
void WithLength(const T* x, int64_t n, P put) {
  kernels::FoldAll(
      n, 0.0, [=] DYGRAPH_FN(int64_t i) { return static_cast<double>(x[i]) * x[i]; },
      kernels::Sum(), [=] DYGRAPH_FN(double squares) { put(std::sqrt(squares)); });
}

}  // namespace dygraph::reduce
