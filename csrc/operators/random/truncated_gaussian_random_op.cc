#include "kernels/loops.h"
#include "operators/random/random.h"

namespace dygraph {
namespace {

constexpr int kOut = 0;

struct TruncatedGaussianRandomAttrs {
  std::vector<int64_t> shape;
  double mean = 0.0;
  double std = 1.0;
  int32_t seed = 0;
  DType dtype = DType::kFloat32;
};

void InferShape(InferContext& ctx) {
  const auto& a = ctx.attrs<TruncatedGaussianRandomAttrs>();
  ctx.SetOutput(kOut, Dims(Span<const int64_t>(a.shape)), a.dtype);
}

void DefineTruncatedGaussianRandom(OpDef& op) {
  op.Comment(
        "Out is drawn from the normal distribution of the given mean and standard deviation, what "
        "lies further than two standard "
        "deviations from the mean being drawn again.")
      .Example(
          ">>> x = F.truncated_gaussian_random(shape=[20, 30], mean=1.0, std=0.5)\n"
          ">>> x.shape, bool((np.abs(x.numpy() - 1.0) <= 1.0).all())\n"
          "((20, 30), True)")
      .Output(kOut, "Out", "the numbers")
      .Attr(&TruncatedGaussianRandomAttrs::shape, "shape", "sizes of Out", EachAtLeast(0))
      .Attr(&TruncatedGaussianRandomAttrs::mean, "mean", "of the distribution before truncation")
      .Attr(&TruncatedGaussianRandomAttrs::std, "std", "its standard deviation", AtLeast(0))
      .Attr(&TruncatedGaussianRandomAttrs::seed, "seed",
            "0: the generator's; others give the same numbers at each call")
      .Attr(&TruncatedGaussianRandomAttrs::dtype, "dtype", "float32 or float64")
      .Shape(InferShape)
      .KernelDType(random::KernelDType<TruncatedGaussianRandomAttrs>)
      .Random()
      .NoGrad();
}

template <class T>
struct TruncatedGaussianRandomKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<TruncatedGaussianRandomAttrs>();
    Tensor& out = ctx.Out(kOut);
    T* y = out.mutable_data<T>();
    int64_t n = out.numel();
    kernels::Philox generator = random::Generator(ctx, a.seed);
    generator.Normal(y, n);
    T mean = static_cast<T>(a.mean), std = static_cast<T>(a.std);
    kernels::ForEach(
        n,
        [=] DYGRAPH_FN(int64_t i) {
          // Further draws of element i stand at i + n, i + 2n, ...: the same for any cut of the
          // work. About one in 22 needs one.
          T v = y[i];
          for (int64_t at = i + n; !(v >= -2 && v <= 2); at += n) v = generator.NormalAt<T>(at);
          y[i] = mean + std * v;
        },
        8);
  }
};

REGISTER_OPERATOR(truncated_gaussian_random, DefineTruncatedGaussianRandom);
REGISTER_KERNELS(truncated_gaussian_random, TruncatedGaussianRandomKernel, float, double);

}  // namespace
}  // namespace dygraph
