#include "op/open_attr.h"
#include "operators/conv/convolution.h"

namespace dygraph {
namespace {

struct DepthwiseConv2dTranspose {
  static constexpr const char *kName = "depthwise_conv2d_transpose",
                              *kGrad = "depthwise_conv2d_transpose_grad";
  static constexpr int kAxes = 2;
  static constexpr bool kTransposed = true, kBias = true, kResidual = false;
};

void DefineDepthwiseConv2dTranspose(OpDef& op) {
  op.Comment(
      "conv2d_transpose whose groups are as many as the channels of Input. Other numbers of groups "
      "work too.");
  op.Example(
      ">>> x = to_variable([[[[1.0]], [[2.0]]]])\n"
      ">>> w = to_variable([[[[1.0, 1.0]]], [[[1.0, -1.0]]]])\n"
      ">>> F.depthwise_conv2d_transpose(x, w, groups=2).tolist()\n"
      "[[[[1.0, 1.0]], [[2.0, -2.0]]]]");
  conv::Define<DepthwiseConv2dTranspose>(op);
}

template <class T>
using DepthwiseConv2dTransposeKernel = conv::Forward<DepthwiseConv2dTranspose>::Kernel<T>;
template <class T>
using DepthwiseConv2dTransposeGradKernel =
    conv::grad::Backward<DepthwiseConv2dTranspose>::Kernel<T>;

REGISTER_OPERATOR(depthwise_conv2d_transpose, DefineDepthwiseConv2dTranspose);
REGISTER_OPEN_ATTRS(depthwise_conv2d_transpose, "output_size");
REGISTER_KERNELS(depthwise_conv2d_transpose, DepthwiseConv2dTransposeKernel, float, double);
REGISTER_DEVICE_TYPES(depthwise_conv2d_transpose, DepthwiseConv2dTransposeKernel, float16,
                      bfloat16);
REGISTER_CHANNELS_LAST(depthwise_conv2d_transpose, DepthwiseConv2dTransposeKernel, float, double,
                       float16, bfloat16);
REGISTER_OPERATOR(depthwise_conv2d_transpose_grad, conv::grad::Define<DepthwiseConv2dTranspose>);
REGISTER_KERNELS(depthwise_conv2d_transpose_grad, DepthwiseConv2dTransposeGradKernel, float,
                 double);
REGISTER_DEVICE_TYPES(depthwise_conv2d_transpose_grad, DepthwiseConv2dTransposeGradKernel, float16,
                      bfloat16);
REGISTER_CHANNELS_LAST(depthwise_conv2d_transpose_grad, DepthwiseConv2dTransposeGradKernel, float,
                       double, float16, bfloat16);

}  // namespace
}  // namespace dygraph
