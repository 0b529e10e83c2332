#include "kernels/trigonometry.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Sin : Elementwise {
  static constexpr const char* kComment = "Out = sin(X), elementwise, X in radians.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.sin(to_variable([0.0, np.pi / 6, np.pi / 2])).tolist()]\n"
      "[0.0, 0.5, 1.0]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD * cos(X).";
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return std::sin(x); }
    DYGRAPH_INLINE T Slope(T x) const { return std::cos(x); }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    Finish(g, product, g.Apply("sin", {x}), -1.0f, result);
  }
};
template <class T>
struct SinKernel : Kernel<Sin, T> {};
template <>
struct SinKernel<float> {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    kernels::MapAngles<kernels::SinOfAngle>(x.data<float>(), ctx.Out(kOut).mutable_data<float>(),
                                            x.numel());
  }
};
template <class T>
struct SinGradKernel : GradKernel<Sin, T> {};
template <>
struct SinGradKernel<float> {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(grad::kGiven);
    kernels::ZipAngles<kernels::CosOfAngle>(x.data<float>(), ctx.In(grad::kOutGrad).data<float>(),
                                            1.0f, ctx.Out(grad::kXGrad).mutable_data<float>(),
                                            x.numel());
  }
};

REGISTER_ELEMENTWISE_OPERATORS(sin, Sin);
REGISTER_ELEMENTWISE_KERNELS(sin, Sin, float, double);

}  // namespace
}  // namespace dygraph::activation
