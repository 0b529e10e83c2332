#include "operators/conv/convolution.h"

namespace dygraph {
namespace {

struct Conv3dTranspose {
  static constexpr const char *kName = "conv3d_transpose", *kGrad = "conv3d_transpose_grad";
  static constexpr int kAxes = 3;
  static constexpr bool kTransposed = true, kBias = false, kResidual = false;
};

void DefineConv3dTranspose(OpDef& op) {
  op.Comment(
      "The transpose of conv3d as a linear map, its gradient with respect to Input: each number of "
      "Input, times Filter, is added to Output around i * stride - pad. Output's size is (size - "
      "1) * stride - paddings + dilation * (kernel - 1) + 1, or output_size where that gives the "
      "same Input.");
  op.Example(
      ">>> x = to_variable([[[[[3.0]]]]])\n"
      ">>> F.conv3d_transpose(x, to_variable([[[[[1.0, 2.0], [3.0, 4.0]]]]])).tolist()\n"
      "[[[[[3.0, 6.0], [9.0, 12.0]]]]]");
  conv::Define<Conv3dTranspose>(op);
}

template <class T>
using Conv3dTransposeKernel = conv::Forward<Conv3dTranspose>::Kernel<T>;
template <class T>
using Conv3dTransposeGradKernel = conv::grad::Backward<Conv3dTranspose>::Kernel<T>;

REGISTER_OPERATOR(conv3d_transpose, DefineConv3dTranspose);
REGISTER_KERNELS(conv3d_transpose, Conv3dTransposeKernel, float, double);
REGISTER_DEVICE_TYPES(conv3d_transpose, Conv3dTransposeKernel, float16, bfloat16);
REGISTER_CHANNELS_LAST(conv3d_transpose, Conv3dTransposeKernel, float, double, float16, bfloat16);
REGISTER_OPERATOR(conv3d_transpose_grad, conv::grad::Define<Conv3dTranspose>);
REGISTER_KERNELS(conv3d_transpose_grad, Conv3dTransposeGradKernel, float, double);
REGISTER_DEVICE_TYPES(conv3d_transpose_grad, Conv3dTransposeGradKernel, float16, bfloat16);
REGISTER_CHANNELS_LAST(conv3d_transpose_grad, Conv3dTransposeGradKernel, float, double, float16,
                       bfloat16);

}  // namespace
}  // namespace dygraph
