#include "kernels/trigonometry.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Cos : Elementwise {
  static constexpr const char* kComment = "Out = cos(X), elementwise, X in radians.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.cos(to_variable([0.0, np.pi / 3, np.pi])).tolist()]\n"
      "[1.0, 0.5, -1.0]";
  static constexpr const char* kGradComment = "X@GRAD = -Out@GRAD * sin(X).";
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return std::cos(x); }
    DYGRAPH_INLINE T Slope(T x) const { return -std::sin(x); }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    Finish(g, product, g.Apply("cos", {x}), -1.0f, result);
  }
};
template <class T>
struct CosKernel : Kernel<Cos, T> {};
template <>
struct CosKernel<float> {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    kernels::MapAngles<kernels::CosOfAngle>(x.data<float>(), ctx.Out(kOut).mutable_data<float>(),
                                            x.numel());
  }
};
template <class T>
struct CosGradKernel : GradKernel<Cos, T> {};
template <>
struct CosGradKernel<float> {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(grad::kGiven);
    kernels::ZipAngles<kernels::SinOfAngle>(x.data<float>(), ctx.In(grad::kOutGrad).data<float>(),
                                            -1.0f, ctx.Out(grad::kXGrad).mutable_data<float>(),
                                            x.numel());
  }
};

REGISTER_ELEMENTWISE_OPERATORS(cos, Cos);
REGISTER_ELEMENTWISE_KERNELS(cos, Cos, float, double);

}  // namespace
}  // namespace dygraph::activation
