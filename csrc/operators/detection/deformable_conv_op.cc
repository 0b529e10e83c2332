#include "operators/detection/deformable_loops.h"

namespace dygraph::deformable {
namespace {

struct DeformableConv {
  static constexpr const char* kType = "deformable_conv";
  static constexpr bool kMasked = true;
};

void DefineDeformableConv(OpDef& op) {
  op.Comment(
        "A convolution whose taps are moved by Offset, a height and a width for each tap and "
        "place, and multiplied by Mask (Zhu et al., Deformable ConvNets v2, 2019). Input is "
        "bilinear between its pixels and 0 outside.")
      .Example(
          ">>> x = to_variable(np.arange(9.0).reshape(1, 1, 3, 3))\n"
          ">>> offset = to_variable(np.full((1, 2, 3, 3), 0.5))\n"
          ">>> F.deformable_conv(x, offset, to_variable(np.ones((1, 1, 1, 1)))).tolist()\n"
          "[[[[2.0, 3.0, 1.75], [5.0, 6.0, 3.25], [3.25, 3.75, 2.0]]]]");
  DefineConv<DeformableConv>(op);
}

template <class T>
using DeformableConvKernel = ConvKernel<DeformableConv, T>;
template <class T>
using DeformableConvGradKernel = GradKernel<DeformableConv, T>;
using DeformableConvThird = Third<DeformableConv>;
template <class T>
using DeformableConvGradGradKernel = higher::SecondKernel<DeformableConvThird, T>;

REGISTER_OPERATOR(deformable_conv, DefineDeformableConv);
REGISTER_KERNELS(deformable_conv, DeformableConvKernel, float, double);
REGISTER_OPERATOR(deformable_conv_grad, DefineGrad<DeformableConv>);
REGISTER_KERNELS(deformable_conv_grad, DeformableConvGradKernel, float, double);
REGISTER_OPERATOR(deformable_conv_grad_grad, DefineGradGrad<DeformableConv>);
REGISTER_CPU_KERNEL(deformable_conv_grad_grad, DeformableConvGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(deformable_conv_grad_grad, DeformableConvThird);

}  // namespace
}  // namespace dygraph::deformable
