#include "op/gradient_shapes.h"
#include "operators/norm/normalization.h"

namespace dygraph {
namespace {

struct LayerNormAttrs {
  double epsilon = 1e-5;
  int32_t begin_norm_axis = 1;
};

struct LayerNorm {
  using Attrs = LayerNormAttrs;
  static constexpr const char *kName = "layer_norm", *kMean = "Mean", *kVariance = "Variance",
                              *kXHelp = "at least one axis",
                              *kParamHelp = "[product of X's sizes from begin_norm_axis on]";
  static constexpr bool kInverse = false;
  static bool ChannelsLast(const Attrs&) { return false; }
  static int Begin(const Dims& x, const Attrs& a) {
    ENFORCE(a.begin_norm_axis < x.rank(), InvalidArgument,
            "begin_norm_axis must be an axis of X, got ", a.begin_norm_axis, " for X of shape ", x);
    return a.begin_norm_axis;
  }
  static Dims ParamDims(const Dims& x, const Attrs& a) {
    return {row_norm::Product(x, Begin(x, a), x.rank())};
  }
  static Dims StatDims(const Dims& x, const Attrs& a) {
    return {row_norm::Product(x, 0, Begin(x, a))};
  }
  static kernels::RowNormShape Rows(const Dims& x, const Attrs& a) {
    return {StatDims(x, a)[0], ParamDims(x, a)[0], 1, 1};
  }
};

void DefineLayerNorm(OpDef& op) {
  op.Comment(
      "Y = (X - mean) / sqrt(variance + epsilon) * Scale + Bias, mean and variance (biased) over "
      "all axes from begin_norm_axis on (Ba, Kiros and Hinton, 2016).");
  op.Example(
      ">>> x = to_variable([[1.0, 3.0], [10.0, 30.0]])\n"
      ">>> np.round(F.layer_norm(x, bias=to_variable([0.0, 5.0])).numpy(), 3).tolist()\n"
      "[[-1.0, 6.0], [-1.0, 6.0]]");
  row_norm::DefineSlots<LayerNorm>(op)
      .Attr(&LayerNormAttrs::begin_norm_axis, "begin_norm_axis", "the first axis normalised over",
            AtLeast(0))
      .ShareLoD(row_norm::kX);
}

template <class T>
using LayerNormKernel = row_norm::Forward<LayerNorm>::Kernel<T>;
template <class T>
using LayerNormGradKernel = row_norm::grad::Backward<LayerNorm>::Kernel<T>;
template <class T>
using LayerNormGradGradKernel = row_norm::grad_grad::BackwardTwice<LayerNorm>::Kernel<T>;
using LayerNormThird = row_norm::grad_grad::Third<LayerNorm>;

REGISTER_GRADIENT_SHAPES(layer_norm, {"Bias", ""});
REGISTER_OPERATOR(layer_norm, DefineLayerNorm);
REGISTER_KERNELS(layer_norm, LayerNormKernel, float, double);
REGISTER_DEVICE_TYPES(layer_norm, LayerNormKernel, float16, bfloat16);
REGISTER_OPERATOR(layer_norm_grad, row_norm::grad::Define<LayerNorm>);
REGISTER_KERNELS(layer_norm_grad, LayerNormGradKernel, float, double);
REGISTER_DEVICE_TYPES(layer_norm_grad, LayerNormGradKernel, float16, bfloat16);
REGISTER_OPERATOR(layer_norm_grad_grad, row_norm::grad_grad::Define<LayerNorm>);
REGISTER_KERNELS(layer_norm_grad_grad, LayerNormGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(layer_norm_grad_grad, LayerNormThird);

}  // namespace
}  // namespace dygraph
