#include "operators/conv/resize.h"

namespace dygraph {
namespace {

struct BicubicResize {
  static constexpr const char* kName = "bicubic_interp";
  static constexpr int kAxes = 2;
  static constexpr auto kBy = interp::By::kCubic;
  using Attrs = interp::Attrs;
};

void DefineBicubicResize(OpDef& op) {
  op.Comment(
        "Out is X resized: each pixel a weighted sum of the sixteen around its place in X, by "
        "cubic convolution with a = -0.75 (Keys, 1981).")
      .Example(
          ">>> x = to_variable([[[[0.0, 2.0], [4.0, 6.0]]]])\n"
          ">>> F.bicubic_interp(x, out_h=2, out_w=3).tolist()\n"
          "[[[[0.0, 1.0, 2.0], [4.0, 5.0, 6.0]]]]");
  interp::Define<BicubicResize>(op);
}

template <class T>
using BicubicResizeKernel = interp::Forward<BicubicResize>::Kernel<T>;
template <class T>
using BicubicResizeGradKernel = interp::grad::Backward<BicubicResize>::Kernel<T>;

REGISTER_OPERATOR(bicubic_interp, DefineBicubicResize);
REGISTER_KERNELS(bicubic_interp, BicubicResizeKernel, float, double);
REGISTER_OPERATOR(bicubic_interp_grad, interp::grad::Define<BicubicResize>);
REGISTER_KERNELS(bicubic_interp_grad, BicubicResizeGradKernel, float, double);

}  // namespace
}  // namespace dygraph
