// One number of Poisson's distribution.
#pragma once

#include <cmath>

#include "kernels/philox_numbers.h"
#include "kernels/special.h"

namespace dygraph::random {

// A mean below kFew: the sum of the probabilities up to which a uniform number lies above.
constexpr double kFew = 12;
DYGRAPH_INLINE double Few(double mean, double uniform) {
  double probability = std::exp(-mean), sum = probability, count = 0;
  while (uniform >= sum && count < 200) {
    probability *= mean / ++count;
    sum += probability;
  }
  return count;
}

// Pairs of uniform numbers from blocks of the generator's sequence.
struct Pairs {
  uint64_t seed, stream;
  DYGRAPH_INLINE void Draw(uint64_t block, double* u, double* v) const {
    uint32_t c0 = static_cast<uint32_t>(block), c1 = static_cast<uint32_t>(block >> 32);
    uint32_t c2 = static_cast<uint32_t>(stream), c3 = static_cast<uint32_t>(stream >> 32);
    kernels::Philox4x32(c0, c1, c2, c3, static_cast<uint32_t>(seed),
                        static_cast<uint32_t>(seed >> 32));
    *u = static_cast<double>((uint64_t{c0} << 32 | c1) >> 11) * 0x1p-53;
    *v = static_cast<double>((uint64_t{c2} << 32 | c3) >> 11) * 0x1p-53;
  }
};

// The transformed rejection method with a decision table (Hoermann, "The transformed rejection
// method for generating Poisson random variables", 1993). Element i takes blocks i + n, i + 2 n,
// ... until a pair is accepted; those before belong to the small means.
DYGRAPH_INLINE double Many(double mean, const Pairs& pairs, int64_t i, int64_t n) {
  const double root = std::sqrt(mean), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  for (uint64_t block = static_cast<uint64_t>(i) + n;; block += n) {
    double u, v;
    pairs.Draw(block, &u, &v);
    u -= 0.5;
    v = 1 - v;  // above 0
    const double s = 0.5 - std::fabs(u);
    const double count = std::floor((2 * a / s + b) * u + mean + 0.43);
    if (s >= 0.07 && v <= v_r) return count;
    if (!(count >= 0) || (s < 0.013 && v > s)) continue;
    if (std::log(v * inverse_alpha / (a / (s * s) + b)) <=
        count * std::log(mean) - mean - kernels::LogGamma(count + 1))
      return count;
  }
}

}  // namespace dygraph::random
