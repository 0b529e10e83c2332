#include "operators/random/random.h"
#include "operators/random/weights.h"

namespace dygraph::random {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineBernoulli(OpDef& op) {
  op.Comment("Out = 1 with the probability X, else 0, drawn for each element.")
      .Example(">>> F.bernoulli(to_variable([0.0, 1.0])).tolist()\n[0.0, 1.0]")
      .Input(kX, "X", "probabilities, any shape")
      .Output(kOut, "Out", "shape of X")
      .SameShape(kX, kOut)
      .ShareLoD(kX)
      .KeepsLayout()
      .Random()
      .NoGrad();
}

template <class T>
struct BernoulliKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const T* p = x.data<T>();
    RequireWithin(p, x.numel(), T(1), "X must hold probabilities, got %");
    T* to = ctx.Out(kOut).mutable_data<T>();
    Generator(ctx, 0).Uniform(to, x.numel());
    kernels::Zip(p, to, to, x.numel(), [] DYGRAPH_FN(T p, T u) { return u < p ? T(1) : T(0); });
  }
};

REGISTER_OPERATOR(bernoulli, DefineBernoulli);
REGISTER_KERNELS(bernoulli, BernoulliKernel, float, double);

}  // namespace
}  // namespace dygraph::random
