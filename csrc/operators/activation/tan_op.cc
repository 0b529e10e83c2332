#include "kernels/trigonometry.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Tan : Elementwise {
  static constexpr const char* kComment = "Out = tan(X), elementwise, X in radians.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.tan(to_variable([0.0, np.pi / 4, np.pi / 3])).tolist()]\n"
      "[0.0, 1.0, 1.7321]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD * (1 + Out^2).";
  static constexpr bool kFromOut = true;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return std::tan(x); }
    DYGRAPH_INLINE T Slope(T y) const { return T(1) + y * y; }
  };
  static void Bend(GradBuilder& g, RecipeRef y, RecipeRef product, RecipeRef result) {
    Finish(g, product, y, 2.0f, result);
  }
};
template <class T>
struct TanKernel : Kernel<Tan, T> {};
template <>
struct TanKernel<float> {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    kernels::MapAngles<kernels::TanOfAngle>(x.data<float>(), ctx.Out(kOut).mutable_data<float>(),
                                            x.numel());
  }
};
template <class T>
using TanGradKernel = GradKernel<Tan, T>;

REGISTER_ELEMENTWISE_OPERATORS(tan, Tan);
REGISTER_ELEMENTWISE_KERNELS(tan, Tan, float, double);

}  // namespace
}  // namespace dygraph::activation
