#include "op/gradient_shapes.h"
#include "operators/norm/normalization.h"

namespace dygraph {
namespace {

struct InstanceNormAttrs {
  double epsilon = 1e-5;
};

struct InstanceNorm {
  using Attrs = InstanceNormAttrs;
  static constexpr const char *kName = "instance_norm", *kMean = "SavedMean",
                              *kVariance = "SavedVariance", *kXHelp = "[N, C, ...], 2 to 5 axes",
                              *kParamHelp = "[C]";
  static constexpr bool kInverse = true;
  static bool ChannelsLast(const Attrs&) { return false; }
  static Dims ParamDims(const Dims& x, const Attrs&) {
    ENFORCE(x.rank() >= 2 && x.rank() <= 5, InvalidArgument, "X must have 2 to 5 axes, got shape ",
            x);
    return {x[1]};
  }
  static Dims StatDims(const Dims& x, const Attrs&) { return {MulSizes(x[0], x[1])}; }
  static kernels::RowNormShape Rows(const Dims& x, const Attrs&) {
    int64_t n = Numel(x, 2, x.rank());
    return {x[0] * x[1], n, x[1], n};
  }
};

void DefineInstanceNorm(OpDef& op) {
  op.Comment(
      "Y = (X - mean) / sqrt(variance + epsilon) * Scale + Bias, mean and variance (biased) over "
      "each channel of each sample (Ulyanov, Vedaldi and Lempitsky, 2016). SavedVariance is 1 / "
      "sqrt(variance + epsilon).");
  op.Example(
      ">>> x = to_variable([[[1.0, 3.0], [10.0, 30.0]]])\n"
      ">>> np.round(F.instance_norm(x).numpy(), 3).tolist()\n"
      "[[[-1.0, 1.0], [-1.0, 1.0]]]");
  row_norm::DefineSlots<InstanceNorm>(op).ShareLoD(row_norm::kX);
}

template <class T>
using InstanceNormKernel = row_norm::Forward<InstanceNorm>::Kernel<T>;
template <class T>
using InstanceNormGradKernel = row_norm::grad::Backward<InstanceNorm>::Kernel<T>;
template <class T>
using InstanceNormGradGradKernel = row_norm::grad_grad::BackwardTwice<InstanceNorm>::Kernel<T>;
using InstanceNormThird = row_norm::grad_grad::Third<InstanceNorm>;

REGISTER_GRADIENT_SHAPES(instance_norm, {"Bias", ""});
REGISTER_OPERATOR(instance_norm, DefineInstanceNorm);
REGISTER_KERNELS(instance_norm, InstanceNormKernel, float, double);
REGISTER_DEVICE_TYPES(instance_norm, InstanceNormKernel, float16, bfloat16);
REGISTER_OPERATOR(instance_norm_grad, row_norm::grad::Define<InstanceNorm>);
REGISTER_KERNELS(instance_norm_grad, InstanceNormGradKernel, float, double);
REGISTER_DEVICE_TYPES(instance_norm_grad, InstanceNormGradKernel, float16, bfloat16);
REGISTER_OPERATOR(instance_norm_grad_grad, row_norm::grad_grad::Define<InstanceNorm>);
REGISTER_KERNELS(instance_norm_grad_grad, InstanceNormGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(instance_norm_grad_grad, InstanceNormThird);

}  // namespace
}  // namespace dygraph
