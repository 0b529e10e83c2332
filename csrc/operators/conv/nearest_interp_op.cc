#include "operators/conv/resize.h"

namespace dygraph {
namespace {

struct Nearest {
  static constexpr const char* kName = "nearest_interp";
  static constexpr int kAxes = 2;
  static constexpr auto kBy = interp::By::kNearest;
  using Attrs = interp::Attrs;
};

void DefineNearest(OpDef& op) {
  op.Comment("Out is X resized: each pixel is the one nearest to its place in X.")
      .Example(
          ">>> x = to_variable([[[[1.0, 2.0], [3.0, 4.0]]]])\n"
          ">>> F.nearest_interp(x, out_h=2, out_w=4, align_corners=False).tolist()\n"
          "[[[[1.0, 1.0, 2.0, 2.0], [3.0, 3.0, 4.0, 4.0]]]]");
  interp::Define<Nearest>(op);
}

template <class T>
using NearestKernel = interp::Forward<Nearest>::Kernel<T>;
template <class T>
using NearestGradKernel = interp::grad::Backward<Nearest>::Kernel<T>;

REGISTER_OPERATOR(nearest_interp, DefineNearest);
REGISTER_KERNELS(nearest_interp, NearestKernel, uint8_t, float, double);
REGISTER_OPERATOR(nearest_interp_grad, interp::grad::Define<Nearest>);
REGISTER_KERNELS(nearest_interp_grad, NearestGradKernel, float, double);

}  // namespace
}  // namespace dygraph
