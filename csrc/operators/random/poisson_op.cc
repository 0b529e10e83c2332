#include <cmath>

#include "kernels/special.h"
#include "operators/random/random.h"
#include "operators/random/weights.h"

namespace dygraph::random {
namespace {

constexpr int kX = 0, kOut = 0;

void DefinePoisson(OpDef& op) {
  op.Comment("Out is drawn from Poisson's distribution with the mean X, for each element.")
      .Example(
          ">>> F.poisson(to_variable([0.0])).tolist()\n"
          "[0.0]\n"
          ">>> x = F.poisson(dygraph.full([1000], 50.0)).numpy()\n"
          ">>> bool(48 < x.mean() < 52)\n"
          "True")
      .Input(kX, "X", "means of at least 0, any shape")
      .Output(kOut, "Out", "shape of X, whole numbers")
      .SameShape(kX, kOut)
      .ShareLoD(kX)
      .KeepsLayout()
      .Random()
      .NoGrad();
}

// A mean below kFew: the sum of the probabilities up to which a uniform number lies above.
constexpr double kFew = 12;
double Few(double mean, double uniform) {
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
  void Draw(uint64_t block, double* u, double* v) const {
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
double Many(double mean, const Pairs& pairs, int64_t i, int64_t n) {
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

template <class T>
struct PoissonKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const T* mean = x.data<T>();
    const int64_t n = x.numel();
    // above, a float64 does not hold each whole number
    RequireWithin(mean, n, static_cast<T>(0x1p52), "lie in [0, 2^52]");
    T* to = ctx.Out(kOut).mutable_data<T>();
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
          to[first + i] =
              static_cast<T>(m < kFew ? Few(m, drawn[i]) : Many(m, pairs, first + i, n));
        }
      }
    });
  }
};

REGISTER_OPERATOR(poisson, DefinePoisson);
REGISTER_CPU_KERNEL(poisson, PoissonKernel, float, double);

}  // namespace
}  // namespace dygraph::random
