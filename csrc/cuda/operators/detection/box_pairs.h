// operators/detection/box_pairs.h on the device.
#pragma once

#include <cstdint>

#include "cuda/launch.h"

namespace dygraph::boxes {

template <class F>
void ForEachPair(int64_t n, int64_t m, F f, int64_t) {
  cuda::EachIndex(n * m, [=] DYGRAPH_FN(int64_t k) { f(k / m, k % m); });
}

}  // namespace dygraph::boxes
