#include "op/gradient_shapes.h"
#include "operators/conv/convolution.h"

namespace dygraph {
namespace {

struct Conv3d {
  static constexpr const char *kName = "conv3d", *kGrad = "conv3d_grad";
  static constexpr int kAxes = 3;
  static constexpr bool kTransposed = false, kBias = false, kResidual = true;
};

void DefineConv3d(OpDef& op) {
  op.Comment(
      "Output[n, o, i, j, k] = sum over c, u, v, w of Input[n, c, i * stride + u * dilation - pad, "
      "...] * Filter[o, c, u, v, w] (+ ResidualData), c over the channels of o's group.");
  op.Example(
      ">>> x = to_variable(np.arange(8.0).reshape(1, 1, 2, 2, 2))\n"
      ">>> F.conv3d(x, to_variable(np.ones((1, 1, 2, 2, 1)))).tolist()\n"
      "[[[[[12.0, 16.0]]]]]");
  conv::Define<Conv3d>(op);
}

template <class T>
using Conv3dKernel = conv::Forward<Conv3d>::Kernel<T>;
template <class T>
using Conv3dGradKernel = conv::grad::Backward<Conv3d>::Kernel<T>;

REGISTER_GRADIENT_SHAPES(conv3d, {"ResidualData", ""});
REGISTER_OPERATOR(conv3d, DefineConv3d);
REGISTER_KERNELS(conv3d, Conv3dKernel, float, double);
REGISTER_DEVICE_TYPES(conv3d, Conv3dKernel, float16, bfloat16);
REGISTER_CHANNELS_LAST(conv3d, Conv3dKernel, float, double, float16, bfloat16);
REGISTER_OPERATOR(conv3d_grad, conv::grad::Define<Conv3d>);
REGISTER_KERNELS(conv3d_grad, Conv3dGradKernel, float, double);
REGISTER_DEVICE_TYPES(conv3d_grad, Conv3dGradKernel, float16, bfloat16);
REGISTER_CHANNELS_LAST(conv3d_grad, Conv3dGradKernel, float, double, float16, bfloat16);

}  // namespace
}  // namespace dygraph
