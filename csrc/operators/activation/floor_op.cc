#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Floor : Plain {
  static constexpr const char* kType = "floor";
  static constexpr const char* kComment =
      "Out = the largest whole number not above X, elementwise. The gradient is 0.";
  static constexpr const char* kExample =
      ">>> F.floor(to_variable([1.7, -1.2, 2.0])).tolist()\n"
      "[1.0, -2.0, 2.0]";
  static constexpr const char* kGradComment = "X@GRAD = 0: the function is a step.";
  static constexpr int64_t kCost = 4;
  template <class T>
  struct F {
    explicit F(const Attrs&) {}
    DYGRAPH_INLINE T operator()(T x) const {
      if constexpr (std::is_integral_v<T>) {
        return x;
      } else {
        return std::floor(x);
      }
    }
    DYGRAPH_INLINE T Slope(T x) const { return x == x ? T(0) : T(0); }
  };
};
template <class T>
using FloorKernel = Kernel<Floor, T>;
template <class T>
using FloorGradKernel = GradKernel<Floor, T>;

REGISTER_OPERATOR(floor, Define<Floor>);
REGISTER_CPU_KERNEL(floor, FloorKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(floor_grad, DefineGrad<Floor>);
REGISTER_CPU_KERNEL(floor_grad, FloorGradKernel, float, double);

}  // namespace
}  // namespace dygraph::activation
