#include "operators/quantize/quantize.h"

namespace dygraph::quantize {
namespace {

constexpr int kX = 0, kScales = 1, kOut = 0;

struct ChannelDequantizeAttrs {
  std::vector<int32_t> quant_bits = {8};
  int32_t quant_axis = 0;
  int32_t x_num_col_dims = 1;
};

// Weights have one list of scales, along quant_axis. Activations have that of the weights, along
// their columns, and a number of their own.
int AxisOf(const ChannelDequantizeAttrs& a, int scales) {
  return scales == 1 ? a.quant_axis : a.x_num_col_dims;
}

void InferShape(InferContext& ctx) {
  const auto& a = ctx.attrs<ChannelDequantizeAttrs>();
  const int count = ctx.InputCount(kScales);
  ENFORCE(count == 1 || count == 2, InvalidArgument, "Scales must hold 1 or 2 tensors, got ",
          count);
  ENFORCE(static_cast<int>(a.quant_bits.size()) >= count, InvalidArgument,
          "quant_bits must have a number for each of the ", count, " Scales, got ",
          a.quant_bits.size());
  for (int32_t bits : a.quant_bits)
    ENFORCE(bits >= 2 && bits <= 16, InvalidArgument,
            "each of quant_bits must be between 2 and 16, got ", bits);
  const char* attr = count == 1 ? "quant_axis" : "x_num_col_dims";
  const int64_t channels = ChannelsOf(ctx.dims(kX), AxisOf(a, count), attr);
  const Dims& scales = ctx.dims(kScales, 0);
  ENFORCE(scales.HasUnknown() || channels < 0 || Numel(scales) == channels, InvalidArgument,
          "the first of Scales must hold one scale for each of the ", channels, " sizes of X ",
          ctx.dims(kX), " along ", attr, ", got shape ", scales);
  if (count == 2) {
    const Dims& own = ctx.dims(kScales, 1);
    ENFORCE(own.HasUnknown() || Numel(own) == 1, InvalidArgument,
            "the second of Scales must hold one number, got shape ", own);
  }
  ctx.SetOutput(kOut, ctx.dims(kX));
}

void DefineFakeChannelWiseDequantizeMaxAbs(OpDef& op) {
  op.Comment(
        "Out = X * Scales[0] / L for each channel, L = 2^(quant_bits[0] - 1) - 1: a weight, its "
        "channels along quant_axis. With two Scales Out = X * Scales[0] * Scales[1] / (L * L'), L' "
        "of quant_bits[1]: a product of quantised numbers, its channels along x_num_col_dims.")
      .Example(
          ">>> x = to_variable([[127.0, 0.0], [-127.0, 127.0]])\n"
          ">>> scales = to_variable([0.5, 2.0])\n"
          ">>> F.fake_channel_wise_dequantize_max_abs(x, [scales]).tolist()\n"
          "[[0.5, 0.0], [-2.0, 2.0]]")
      .Input(kX, "X", "whole numbers")
      .Input(kScales, "Scales", "[channels], and [1] for a product", kDuplicable)
      .Output(kOut, "Out", "shape of X")
      .Attr(&ChannelDequantizeAttrs::quant_bits, "quant_bits", "bits of each of Scales")
      .Attr(&ChannelDequantizeAttrs::quant_axis, "quant_axis", "axis of the channels, 0 or 1",
            Between(0, 1))
      .Attr(&ChannelDequantizeAttrs::x_num_col_dims, "x_num_col_dims",
            "axis of the channels where there are two Scales", AtLeast(1))
      .Shape(InferShape)
      .ShareLoD(kX)
      .NoGrad();
}

template <class T>
struct FakeChannelWiseDequantizeKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<ChannelDequantizeAttrs>();
    const Tensor& x = ctx.In(kX);
    const int count = ctx.InputCount(kScales);
    const Channels c(x.dims(), AxisOf(a, count));
    const T *from = x.data<T>(), *scales = ctx.In(kScales, 0).data<T>();
    T *to = ctx.Out(kOut).mutable_data<T>(), range = static_cast<T>(Levels(a.quant_bits[0]));
    if (count == 1) {
      return MapChannels(from, to, c, scales,
                         [=] DYGRAPH_FN(T v, T scale) { return v * scale / range; });
    }
    const T both = range * static_cast<T>(Levels(a.quant_bits[1]));
    const Number<T> own(ctx.In(kScales, 1));
    MapChannels(from, to, c, scales,
                [=] DYGRAPH_FN(T v, T scale) { return v * scale * own() / both; });
  }
};

REGISTER_OPERATOR(fake_channel_wise_dequantize_max_abs, DefineFakeChannelWiseDequantizeMaxAbs);
REGISTER_KERNELS(fake_channel_wise_dequantize_max_abs, FakeChannelWiseDequantizeKernel, float,
                 double);

}  // namespace
}  // namespace dygraph::quantize
