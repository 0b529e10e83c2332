#include "op/open_attr.h"
#include "operators/conv/convolution.h"

namespace dygraph {
namespace {

struct Conv2dTranspose {
  static constexpr const char *kName = "conv2d_transpose", *kGrad = "conv2d_transpose_grad";
  static constexpr int kAxes = 2;
  static constexpr bool kTransposed = true, kBias = true, kResidual = false;
};

void DefineConv2dTranspose(OpDef& op) {
  op.Comment(
      "The transpose of conv2d as a linear map, its gradient with respect to Input: each number of "
      "Input, times Filter, is added to Output around i * stride - pad (+ Bias). Output's size is "
      "(size - 1) * stride - paddings + dilation * (kernel - 1) + 1, or output_size where that "
      "gives the same Input.");
  op.Example(
      ">>> x = to_variable([[[[1.0, 2.0]]]])\n"
      ">>> F.conv2d_transpose(x, to_variable([[[[1.0, 10.0]]]])).tolist()\n"
      "[[[[1.0, 12.0, 20.0]]]]");
  conv::Define<Conv2dTranspose>(op);
}

template <class T>
using Conv2dTransposeKernel = conv::Forward<Conv2dTranspose>::Kernel<T>;
template <class T>
using Conv2dTransposeGradKernel = conv::grad::Backward<Conv2dTranspose>::Kernel<T>;

REGISTER_OPERATOR(conv2d_transpose, DefineConv2dTranspose);
REGISTER_OPEN_ATTRS(conv2d_transpose, "output_size");
REGISTER_KERNELS(conv2d_transpose, Conv2dTransposeKernel, float, double);
REGISTER_DEVICE_TYPES(conv2d_transpose, Conv2dTransposeKernel, float16, bfloat16);
REGISTER_CHANNELS_LAST(conv2d_transpose, Conv2dTransposeKernel, float, double, float16, bfloat16);
REGISTER_OPERATOR(conv2d_transpose_grad, conv::grad::Define<Conv2dTranspose>);
REGISTER_KERNELS(conv2d_transpose_grad, Conv2dTransposeGradKernel, float, double);
REGISTER_DEVICE_TYPES(conv2d_transpose_grad, Conv2dTransposeGradKernel, float16, bfloat16);
REGISTER_CHANNELS_LAST(conv2d_transpose_grad, Conv2dTransposeGradKernel, float, double, float16,
                       bfloat16);

}  // namespace
}  // namespace dygraph
