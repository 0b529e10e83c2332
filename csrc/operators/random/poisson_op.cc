#include "operators/random/poisson_loops.h"
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

template <class T>
struct PoissonKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const T* mean = x.data<T>();
    const int64_t n = x.numel();
    // above, a float64 does not hold each whole number
    RequireWithin(mean, n, static_cast<T>(0x1p52), "X must lie in [0, 2^52], got %");
    T* to = ctx.Out(kOut).mutable_data<T>();
    DrawPoisson(ctx, mean, n, to);
  }
};

REGISTER_OPERATOR(poisson, DefinePoisson);
REGISTER_KERNELS(poisson, PoissonKernel, float, double);

}  // namespace
}  // namespace dygraph::random
