#include "op/gradient_shapes.h"
#include "operators/norm/normalization.h"

namespace dygraph {
namespace {

struct GroupNormAttrs {
  double epsilon = 1e-5;
  int32_t groups = 1;
  std::string data_layout = "NCHW";
};

struct GroupNorm {
  using Attrs = GroupNormAttrs;
  static constexpr const char *kName = "group_norm", *kMean = "Mean", *kVariance = "Variance",
                              *kXHelp =
                                  "2 to 5 axes, the channels second, or last with data_layout NHWC",
                              *kParamHelp = "[C]";
  static constexpr bool kInverse = false;
  static bool ChannelsLast(const Attrs& a) { return a.data_layout == "NHWC"; }
  static int64_t Channels(const Dims& x, const Attrs& a) {
    ENFORCE(x.rank() >= 2 && x.rank() <= 5, InvalidArgument, "X must have 2 to 5 axes, got shape ",
            x);
    int64_t c = ChannelsLast(a) ? x.back() : x[1];
    ENFORCE(c < 0 || c % a.groups == 0, InvalidArgument, "groups must divide the ", c,
            " channels of X ", x, ", got ", a.groups);
    return c;
  }
  static Dims ParamDims(const Dims& x, const Attrs& a) { return {Channels(x, a)}; }
  static Dims StatDims(const Dims& x, const Attrs& a) {
    Channels(x, a);
    return {x[0], a.groups};
  }
  static kernels::RowNormShape Rows(const Dims& x, const Attrs& a) {
    int64_t rows = x[0] * a.groups, inner = Numel(x) / (x[0] * Channels(x, a));
    return {rows, Numel(x) / rows, a.groups, inner};
  }
};

void DefineGroupNorm(OpDef& op) {
  op.Comment(
      "Y = (X - mean) / sqrt(variance + epsilon) * Scale + Bias per channel, mean and variance "
      "(biased) over each sample's groups of channels (Wu and He, 2018).");
  op.Example(
      ">>> x = to_variable([[1.0, 3.0, 10.0, 30.0]])\n"
      ">>> np.round(F.group_norm(x, groups=2).numpy(), 3).tolist()\n"
      "[[-1.0, 1.0, -1.0, 1.0]]");
  row_norm::DefineSlots<GroupNorm>(op)
      .ShareLoD(row_norm::kX)
      .Attr(&GroupNormAttrs::groups, "groups", "into which the channels are split", AtLeast(1))
      .Attr(&GroupNormAttrs::data_layout, "data_layout", "where the channels are",
            OneOf({"NCHW", "NHWC"}));
}

template <class T>
using GroupNormKernel = row_norm::Forward<GroupNorm>::Kernel<T>;
template <class T>
using GroupNormGradKernel = row_norm::grad::Backward<GroupNorm>::Kernel<T>;
template <class T>
using GroupNormGradGradKernel = row_norm::grad_grad::BackwardTwice<GroupNorm>::Kernel<T>;
using GroupNormThird = row_norm::grad_grad::Third<GroupNorm>;

REGISTER_GRADIENT_SHAPES(group_norm, {"Bias", ""});
REGISTER_OPERATOR(group_norm, DefineGroupNorm);
REGISTER_KERNELS(group_norm, GroupNormKernel, float, double);
REGISTER_DEVICE_TYPES(group_norm, GroupNormKernel, float16, bfloat16);
REGISTER_OPERATOR(group_norm_grad, row_norm::grad::Define<GroupNorm>);
REGISTER_KERNELS(group_norm_grad, GroupNormGradKernel, float, double);
REGISTER_DEVICE_TYPES(group_norm_grad, GroupNormGradKernel, float16, bfloat16);
REGISTER_OPERATOR(group_norm_grad_grad, row_norm::grad_grad::Define<GroupNorm>);
REGISTER_KERNELS(group_norm_grad_grad, GroupNormGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(group_norm_grad_grad, GroupNormThird);

}  // namespace
}  // namespace dygraph
