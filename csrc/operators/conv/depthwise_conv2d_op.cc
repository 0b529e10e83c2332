#include "op/gradient_shapes.h"
#include "operators/conv/convolution.h"

namespace dygraph {
namespace {

struct DepthwiseConv2d {
  static constexpr const char *kName = "depthwise_conv2d", *kGrad = "depthwise_conv2d_grad";
  static constexpr int kAxes = 2;
  static constexpr bool kTransposed = false, kBias = true, kResidual = true;
};

void DefineDepthwiseConv2d(OpDef& op) {
  op.Comment(
      "conv2d whose groups are as many as the channels of Input: every channel is convolved with "
      "filters of its own. Other numbers of groups work too.");
  op.Example(
      ">>> x = to_variable([[[[1.0, 2.0]], [[3.0, 4.0]]]])\n"
      ">>> w = to_variable([[[[1.0, 1.0]]], [[[1.0, -1.0]]]])\n"
      ">>> F.depthwise_conv2d(x, w, groups=2).tolist()\n"
      "[[[[3.0]], [[-1.0]]]]");
  conv::Define<DepthwiseConv2d>(op);
}

template <class T>
using DepthwiseConv2dKernel = conv::Forward<DepthwiseConv2d>::Kernel<T>;
template <class T>
using DepthwiseConv2dGradKernel = conv::grad::Backward<DepthwiseConv2d>::Kernel<T>;

REGISTER_GRADIENT_SHAPES(depthwise_conv2d, {"ResidualData", ""});
REGISTER_OPERATOR(depthwise_conv2d, DefineDepthwiseConv2d);
REGISTER_KERNELS(depthwise_conv2d, DepthwiseConv2dKernel, float, double);
REGISTER_DEVICE_TYPES(depthwise_conv2d, DepthwiseConv2dKernel, float16, bfloat16);
REGISTER_CHANNELS_LAST(depthwise_conv2d, DepthwiseConv2dKernel, float, double, float16, bfloat16);
REGISTER_OPERATOR(depthwise_conv2d_grad, conv::grad::Define<DepthwiseConv2d>);
REGISTER_KERNELS(depthwise_conv2d_grad, DepthwiseConv2dGradKernel, float, double);
REGISTER_DEVICE_TYPES(depthwise_conv2d_grad, DepthwiseConv2dGradKernel, float16, bfloat16);
REGISTER_CHANNELS_LAST(depthwise_conv2d_grad, DepthwiseConv2dGradKernel, float, double, float16,
                       bfloat16);

}  // namespace
}  // namespace dygraph
