// The loop of poisson.
#pragma once

#include "operators/random/poisson_number.h"
#include "operators/random/random.h"

namespace dygraph::random {

template <class T>
void DrawPoisson(const KernelContext& ctx, const T* mean, int64_t n, T* to) {
  const kernels::Philox generator = Generator(ctx, 0);
  const Pairs pairs{ctx.random_seed(), ctx.random_stream()};
  constexpr int64_t kBlock = 512;
  kernels::ParallelRows((n + kBlock - 1) / kBlock, kBlock * 64, [=](int64_t begin, int64_t end) {
    double drawn[kBlock];
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b * kBlock, count = std::min(kBlock, n - first);
      generator.Uniform(drawn, count, first);
      for (int64_t i = 0; i < count; ++i) {
        const double m = static_cast<double>(mean[first + i]);
        to[first + i] = static_cast<T>(m < kFew ? Few(m, drawn[i]) : Many(m, pairs, first + i, n));
      }
    }
  });
}

}  // namespace dygraph::random
