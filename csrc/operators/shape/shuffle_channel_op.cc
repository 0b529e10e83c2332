#include "operators/shape/rearrange.h"

namespace dygraph {
namespace {

struct ShuffleChannelAttrs {
  int32_t group = 1;
};

struct ShuffleChannel {
  static constexpr const char *kName = "shuffle_channel",
                              *kHelp = "[N, C, H, W], C a multiple of group";
  using Attrs = ShuffleChannelAttrs;
  static rearrange::Plan Describe(const Dims& x, const Attrs& a) {
    ENFORCE(x.rank() == 4, InvalidArgument, "X must have 4 axes, NCHW, got shape ", x);
    int64_t c = rearrange::Divide(x[1], a.group, "the number of channels");
    return {{x[0], a.group, c, x[2], x[3]}, {0, 2, 1, 3, 4}, x};
  }
};

void DefineShuffleChannel(OpDef& op) {
  op.Comment(
        "The channels of group groups are dealt out in turn: Out[n, c * group + g] = X[n, g * C / "
        "group + c] (Zhang et al., ShuffleNet, 2017).")
      .Example(
          ">>> x = to_variable(np.arange(4.0).reshape(1, 4, 1, 1))\n"
          ">>> F.shuffle_channel(x, group=2).numpy().ravel().tolist()\n"
          "[0.0, 2.0, 1.0, 3.0]");
  rearrange::Define<ShuffleChannel>(op);
  op.Attr(&ShuffleChannelAttrs::group, "group", "number of groups", AtLeast(1));
}

template <class T>
using ShuffleChannelKernel = rearrange::Forward<ShuffleChannel>::Kernel<T>;
template <class T>
using ShuffleChannelGradKernel = rearrange::grad::Backward<ShuffleChannel>::Kernel<T>;

REGISTER_OPERATOR(shuffle_channel, DefineShuffleChannel);
REGISTER_KERNELS(shuffle_channel, ShuffleChannelKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(shuffle_channel_grad, rearrange::grad::Define<ShuffleChannel>);
REGISTER_KERNELS(shuffle_channel_grad, ShuffleChannelGradKernel, float, double);

}  // namespace
}  // namespace dygraph
