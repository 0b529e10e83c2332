// Parts of instances at places of their own.
#pragma once

#include <algorithm>
#include <vector>

#include "operators/random/random.h"
#include "platform/interrupt.h"

namespace dygraph::random {

// Copies a part of the sizes `part` at `from`, axis by axis; the last axis lies together.
template <class T>
T* CopyPart(const T* from, const int64_t* strides, const int32_t* part, int axes, T* to) {
  if (axes == 1) return std::copy(from, from + part[0], to);
  for (int32_t i = 0; i < part[0]; ++i)
    to = CopyPart(from + i * strides[0], strides + 1, part + 1, axes - 1, to);
  return to;
}

// Of each instance of `size` numbers with these sizes and strides, a part.
template <class T>
void CopyParts(const kernels::Philox& generator, const T* x, int64_t instances, int64_t size,
               const Dims& sizes, const std::vector<int32_t>& part,
               const std::vector<int64_t>& strides, T* to) {
  const int axes = sizes.rank();
  std::vector<double> drawn(static_cast<size_t>(instances * axes));
  generator.Uniform(drawn.data(), instances * axes);
  for (int64_t n = 0; n < instances; ++n) {
    CheckInterrupt();
    const T* from = x + n * size;
    for (int i = 0; i < axes; ++i) {
      auto places = static_cast<double>(sizes[i] - part[i] + 1);
      from += static_cast<int64_t>(drawn[n * axes + i] * places) * strides[i];
    }
    to = CopyPart(from, strides.data(), part.data(), axes, to);
  }
}

}  // namespace dygraph::random
