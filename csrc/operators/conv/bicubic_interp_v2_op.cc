#include "operators/conv/resize.h"

namespace dygraph {
namespace {

struct BicubicV2 {
  static constexpr const char* kName = "bicubic_interp_v2";
  static constexpr int kAxes = 2;
  static constexpr auto kBy = interp::By::kCubic;
  using Attrs = interp::AttrsV2;
};

void DefineBicubicV2(OpDef& op) {
  op.Comment(
        "Out is X resized: each pixel a weighted sum of the sixteen around its place in X, by "
        "cubic convolution with a = -0.75 (Keys, 1981). scale has a number for each axis; where it "
        "gives the sizes, pixels lie 1 / scale apart.")
      .Example(
          ">>> x = to_variable([[[[0.0, 2.0], [4.0, 6.0]]]])\n"
          ">>> F.bicubic_interp_v2(x, out_h=2, out_w=3).tolist()\n"
          "[[[[0.0, 1.0, 2.0], [4.0, 5.0, 6.0]]]]");
  interp::Define<BicubicV2>(op);
}

template <class T>
using BicubicV2Kernel = interp::Forward<BicubicV2>::Kernel<T>;
template <class T>
using BicubicV2GradKernel = interp::grad::Backward<BicubicV2>::Kernel<T>;

REGISTER_OPERATOR(bicubic_interp_v2, DefineBicubicV2);
REGISTER_KERNELS(bicubic_interp_v2, BicubicV2Kernel, float, double);
REGISTER_OPERATOR(bicubic_interp_v2_grad, interp::grad::Define<BicubicV2>);
REGISTER_KERNELS(bicubic_interp_v2_grad, BicubicV2GradKernel, float, double);

}  // namespace
}  // namespace dygraph
