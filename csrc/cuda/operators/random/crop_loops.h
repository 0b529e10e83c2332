// operators/random/crop_loops.h on the device: a thread for each number.
#pragma once

#include <vector>

#include "cuda/scratch.h"
#include "kernels/loops.h"
#include "kernels/table.h"
#include "operators/random/random.h"

namespace dygraph::random {

// Of each instance of `size` numbers with these sizes and strides, a part.
template <class T>
void CopyParts(const kernels::Philox& generator, const T* x, int64_t instances, int64_t size,
               const Dims& sizes, const std::vector<int32_t>& part,
               const std::vector<int64_t>& strides, T* to) {
  const int axes = sizes.rank();
  cuda::Workspace<double> room(instances * axes);
  double* drawn = room.data();
  generator.Uniform(drawn, instances * axes);
  std::vector<int64_t> numbers(sizes.begin(), sizes.end());
  numbers.insert(numbers.end(), part.begin(), part.end());
  numbers.insert(numbers.end(), strides.begin(), strides.end());
  kernels::Table<int64_t> table(numbers);
  const int64_t *whole = table.data(), *part_of = whole + axes, *stride = part_of + axes;
  int64_t count = 1;
  for (int32_t n : part) count *= n;
  kernels::ForEach(instances * count, [=] DYGRAPH_FN(int64_t at) {
    const int64_t n = at / count;
    int64_t rest = at % count;
    const T* from = x + n * size;
    for (int i = axes - 1; i >= 0; --i) {
      const double places = static_cast<double>(whole[i] - part_of[i] + 1);
      const int64_t first = static_cast<int64_t>(drawn[n * axes + i] * places);
      from += (first + rest % part_of[i]) * stride[i];
      rest /= part_of[i];
    }
    to[at] = *from;
  });
}

}  // namespace dygraph::random
