// operators/random/poisson_loops.h on the device: a thread for each number.
#pragma once

#include "cuda/scratch.h"
#include "kernels/loops.h"
#include "operators/random/poisson_number.h"
#include "operators/random/random.h"

namespace dygraph::random {

template <class T>
void DrawPoisson(const KernelContext& ctx, const T* mean, int64_t n, T* to) {
  cuda::Workspace<double> room(n);
  double* drawn = room.data();
  const kernels::Philox generator = Generator(ctx, 0);
  generator.Uniform(drawn, n);
  cuda::Workspace<int64_t> numbers(2);
  const int64_t* source = numbers.data();
  generator.Store(numbers.data());
  kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) {
    const double m = static_cast<double>(mean[i]);
    const Pairs pairs{static_cast<uint64_t>(source[0]), static_cast<uint64_t>(source[1])};
    if (!(m >= 0 && m <= 0x1p52)) {  // reported
      to[i] = T(0);
    } else {
      to[i] = static_cast<T>(m < kFew ? Few(m, drawn[i]) : Many(m, pairs, i, n));
    }
  });
}

}  // namespace dygraph::random
