// kernels/pairs.h on the device: a thread for each pair.
#pragma once

#include <cstdint>

#include "cuda/launch.h"
#include "kernels/walk.h"

namespace dygraph::kernels {

template <class F>
void ForEachPair(int64_t rows, int64_t n, F f, int64_t = 1) {
  const detail::Divisor by(n);
  cuda::EachIndex(rows * n, [=] DYGRAPH_FN(int64_t at) {
    const int64_t r = by.Quotient(at);
    f(r, at - r * by.by);
  });
}

}  // namespace dygraph::kernels
