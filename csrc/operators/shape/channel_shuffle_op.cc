#include "operators/shape/rearrange.h"

namespace dygraph {
namespace {

struct ChannelShuffleAttrs {
  int32_t groups = 1;
  std::string data_format = "NCHW";
};

struct ChannelShuffle {
  static constexpr const char *kName = "channel_shuffle",
                              *kHelp =
                                  "[N, C, H, W], or [N, H, W, C] with data_format NHWC; C a "
                                  "multiple of groups";
  using Attrs = ChannelShuffleAttrs;
  static rearrange::Plan Describe(const Dims& x, const Attrs& a) {
    bool last = a.data_format == "NHWC";
    ENFORCE(x.rank() == 4, InvalidArgument, "X must have 4 axes, ", a.data_format, ", got shape ",
            x);
    int64_t c = rearrange::Divide(x[last ? 3 : 1], a.groups, "the number of channels");
    if (last) return {{x[0], x[1], x[2], a.groups, c}, {0, 1, 2, 4, 3}, x};
    return {{x[0], a.groups, c, x[2], x[3]}, {0, 2, 1, 3, 4}, x};
  }
};

void DefineChannelShuffle(OpDef& op) {
  op.Comment(
        "The channels of groups groups are dealt out in turn, PaddlePaddle 2's name and order of "
        "shuffle_channel: Out[n, c * groups + g] = X[n, g * C / groups + c].")
      .Example(
          ">>> x = to_variable(np.arange(4.0).reshape(1, 4, 1, 1))\n"
          ">>> F.channel_shuffle(x, groups=2).numpy().ravel().tolist()\n"
          "[0.0, 2.0, 1.0, 3.0]");
  rearrange::Define<ChannelShuffle>(op);
  op.Attr(&ChannelShuffleAttrs::groups, "groups", "number of groups", AtLeast(1))
      .Attr(&ChannelShuffleAttrs::data_format, "data_format",
            "NCHW or NHWC: where the channels stand", OneOf({"NCHW", "NHWC"}));
}

template <class T>
using ChannelShuffleKernel = rearrange::Forward<ChannelShuffle>::Kernel<T>;
template <class T>
using ChannelShuffleGradKernel = rearrange::grad::Backward<ChannelShuffle>::Kernel<T>;

REGISTER_OPERATOR(channel_shuffle, DefineChannelShuffle);
REGISTER_KERNELS(channel_shuffle, ChannelShuffleKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(channel_shuffle_grad, rearrange::grad::Define<ChannelShuffle>);
REGISTER_KERNELS(channel_shuffle_grad, ChannelShuffleGradKernel, float, double);

}  // namespace
}  // namespace dygraph
