#include "operators/conv/resize.h"

namespace dygraph {
namespace {

struct NearestV2 {
  static constexpr const char* kName = "nearest_interp_v2";
  static constexpr int kAxes = 2;
  static constexpr auto kBy = interp::By::kNearest;
  using Attrs = interp::AttrsV2;
};

void DefineNearestV2(OpDef& op) {
  op.Comment(
        "Out is X resized: each pixel is the one nearest to its place in X. scale has a number for "
        "each axis; where it gives the sizes, pixels lie 1 / scale apart.")
      .Example(
          ">>> x = to_variable([[[[1.0, 2.0], [3.0, 4.0]]]])\n"
          ">>> F.nearest_interp_v2(x, scale=[1.0, 2.0], align_corners=False).tolist()\n"
          "[[[[1.0, 1.0, 2.0, 2.0], [3.0, 3.0, 4.0, 4.0]]]]");
  interp::Define<NearestV2>(op);
}

template <class T>
using NearestV2Kernel = interp::Forward<NearestV2>::Kernel<T>;
template <class T>
using NearestV2GradKernel = interp::grad::Backward<NearestV2>::Kernel<T>;

REGISTER_OPERATOR(nearest_interp_v2, DefineNearestV2);
REGISTER_KERNELS(nearest_interp_v2, NearestV2Kernel, uint8_t, float, double);
REGISTER_OPERATOR(nearest_interp_v2_grad, interp::grad::Define<NearestV2>);
REGISTER_KERNELS(nearest_interp_v2_grad, NearestV2GradKernel, float, double);

}  // namespace
}  // namespace dygraph
