#include "operators/detection/deformable_loops.h"

namespace dygraph::deformable {
namespace {

struct DeformableConvV1 {
  static constexpr const char* kType = "deformable_conv_v1";
  static constexpr bool kMasked = false;
};

void DefineDeformableConvV1(OpDef& op) {
  op.Comment(
        "A convolution whose taps are moved by Offset, a height and a width for each tap and place "
        "(Dai et al., Deformable convolutional networks, 2017). Input is bilinear between its "
        "pixels and 0 outside.")
      .Example(
          ">>> x = to_variable(np.arange(9.0).reshape(1, 1, 3, 3))\n"
          ">>> offset = to_variable(np.full((1, 2, 3, 3), 0.5))\n"
          ">>> F.deformable_conv_v1(x, offset, to_variable(np.ones((1, 1, 1, 1)))).tolist()\n"
          "[[[[2.0, 3.0, 1.75], [5.0, 6.0, 3.25], [3.25, 3.75, 2.0]]]]");
  DefineConv<DeformableConvV1>(op);
}

template <class T>
using DeformableConvV1Kernel = ConvKernel<DeformableConvV1, T>;
template <class T>
using DeformableConvV1GradKernel = GradKernel<DeformableConvV1, T>;
using DeformableConvV1Third = Third<DeformableConvV1>;
template <class T>
using DeformableConvV1GradGradKernel = higher::SecondKernel<DeformableConvV1Third, T>;

REGISTER_OPERATOR(deformable_conv_v1, DefineDeformableConvV1);
REGISTER_KERNELS(deformable_conv_v1, DeformableConvV1Kernel, float, double);
REGISTER_OPERATOR(deformable_conv_v1_grad, DefineGrad<DeformableConvV1>);
REGISTER_KERNELS(deformable_conv_v1_grad, DeformableConvV1GradKernel, float, double);
REGISTER_OPERATOR(deformable_conv_v1_grad_grad, DefineGradGrad<DeformableConvV1>);
REGISTER_CPU_KERNEL(deformable_conv_v1_grad_grad, DeformableConvV1GradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(deformable_conv_v1_grad_grad, DeformableConvV1Third);

}  // namespace
}  // namespace dygraph::deformable
