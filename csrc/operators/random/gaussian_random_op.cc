#include "operators/random/random.h"

namespace dygraph::random {
namespace {

struct GaussianRandomAttrs {
  std::vector<int64_t> shape;
  double mean = 0.0;
  double std = 1.0;
  int32_t seed = 0;
  DType dtype = DType::kFloat32;
};

void DefineGaussianRandom(OpDef& op) {
  AddSlots(
      op.Comment(
            "Out is drawn from the normal distribution of the given mean and standard deviation.")
          .Example(">>> x = F.gaussian_random(shape=[1000], mean=5.0, std=0.1).numpy()\n"
                   ">>> x.shape, bool(4.9 < x.mean() < 5.1)\n"
                   "((1000,), True)"))
      .Attr(&GaussianRandomAttrs::shape, "shape", "sizes of Out")
      .Attr(&GaussianRandomAttrs::mean, "mean", "of the distribution")
      .Attr(&GaussianRandomAttrs::std, "std", "standard deviation", AtLeast(0))
      .Attr(&GaussianRandomAttrs::seed, "seed",
            "0: the generator's; others give the same numbers at each call")
      .Attr(&GaussianRandomAttrs::dtype, "dtype", "float32 or float64")
      .Shape(InferShape<GaussianRandomAttrs>)
      .KernelDType(KernelDType<GaussianRandomAttrs>)
      .MixedDTypes()
      .Random()
      .NoGrad();
}

template <class T>
struct GaussianRandomKernel {
  static void Compute(KernelContext& ctx) {
    const GaussianRandomAttrs& a = ctx.attrs<GaussianRandomAttrs>();
    Tensor& out = ctx.Out(kOut);
    T* y = out.mutable_data<T>();
    Generator(ctx, a.seed).Normal(y, out.numel());
    T mean = static_cast<T>(a.mean), std = static_cast<T>(a.std);
    if (mean != 0 || std != 1)
      kernels::Map(y, y, out.numel(), [=] DYGRAPH_FN(T v) { return mean + std * v; });
  }
};

REGISTER_OPERATOR(gaussian_random, DefineGaussianRandom);
REGISTER_KERNELS(gaussian_random, GaussianRandomKernel, float, double);

}  // namespace
}  // namespace dygraph::random
