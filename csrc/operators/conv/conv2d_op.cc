#include "op/gradient_shapes.h"
#include "operators/conv/convolution.h"

namespace dygraph {
namespace {

struct Conv2d {
  static constexpr const char *kName = "conv2d", *kGrad = "conv2d_grad";
  static constexpr int kAxes = 2;
  static constexpr bool kTransposed = false, kBias = true, kResidual = true;
};

void DefineConv2d(OpDef& op) {
  op.Comment(
      "Output[n, o, i, j] = sum over c, u, v of Input[n, c, i * stride + u * dilation - pad, ...] "
      "* Filter[o, c, u, v] (+ Bias[o]) (+ ResidualData), c over the channels of o's group.");
  op.Example(
      ">>> x = to_variable(np.arange(9.0).reshape(1, 1, 3, 3))\n"
      ">>> F.conv2d(x, to_variable(np.ones((1, 1, 2, 2)))).tolist()\n"
      "[[[[8.0, 12.0], [20.0, 24.0]]]]");
  conv::Define<Conv2d>(op);
}

template <class T>
using Conv2dKernel = conv::Forward<Conv2d>::Kernel<T>;
template <class T>
using Conv2dGradKernel = conv::grad::Backward<Conv2d>::Kernel<T>;

REGISTER_GRADIENT_SHAPES(conv2d, {"ResidualData", ""});
REGISTER_OPERATOR(conv2d, DefineConv2d);
REGISTER_KERNELS(conv2d, Conv2dKernel, float, double);
REGISTER_DEVICE_TYPES(conv2d, Conv2dKernel, float16, bfloat16);
REGISTER_CHANNELS_LAST(conv2d, Conv2dKernel, float, double, float16, bfloat16);
REGISTER_OPERATOR(conv2d_grad, conv::grad::Define<Conv2d>);
REGISTER_KERNELS(conv2d_grad, Conv2dGradKernel, float, double);
REGISTER_DEVICE_TYPES(conv2d_grad, Conv2dGradKernel, float16, bfloat16);
REGISTER_CHANNELS_LAST(conv2d_grad, Conv2dGradKernel, float, double, float16, bfloat16);

}  // namespace
}  // namespace dygraph
