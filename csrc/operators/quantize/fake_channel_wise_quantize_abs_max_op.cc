#include "operators/quantize/quantize.h"

namespace dygraph::quantize {
namespace {

constexpr int kX = 0, kInScale = 1, kOut = 0, kOutScale = 1;

int64_t CountOf(const InferContext& ctx) {
  return ChannelsOf(ctx.dims(kX), ctx.attrs<FakeAttrs>().quant_axis);
}

void DefineFakeChannelWiseQuantizeAbsMax(OpDef& op) {
  op.Comment(
        "Out = round(X / OutScale * L), OutScale = max |X| of each channel, the sizes along "
        "quant_axis, L = 2^(bit_length - 1) - 1. With is_test OutScale stays as it is and X is cut "
        "off there: it is InScale or, in a program that gives none, what OutScale holds.")
      .Example(
          ">>> x = to_variable([[0.5, 2.0], [-1.0, 0.5]])\n"
          ">>> [v.tolist() for v in F.fake_channel_wise_quantize_abs_max(x)]\n"
          "[[[32.0, 127.0], [-127.0, 64.0]], [2.0, 1.0]]")
      .Input(kX, "X", "more axes than quant_axis")
      .Input(kInScale, "InScale", "[channels], with is_test", kDispensable)
      .Output(kOut, "Out", "shape of X")
      .Output(kOutScale, "OutScale", "[channels]", kUpdated)
      .Attr(&FakeAttrs::is_test, "is_test", "the scales stay as they are");
  QuantAxis(Bits(op))
      .Shape([](InferContext& ctx) {
        const int64_t count = CountOf(ctx);
        if (ctx.HasInput(kInScale)) {
          const Dims& scale = ctx.dims(kInScale);
          ENFORCE(scale.HasUnknown() || count < 0 || (scale.rank() == 1 && scale[0] == count),
                  InvalidArgument, "InScale must hold one scale for each of the ", count,
                  " channels, got shape ", scale);
        }
        ctx.SetOutput(kOut, ctx.dims(kX));
        if (!ctx.runtime()) ctx.SetOutput(kOutScale, {count});  // a run reads what it holds
      })
      .KernelAllocates()
      .ShareLoD(kX)
      .NoGrad();
}

template <class T>
struct FakeChannelWiseQuantizeKernel {
  static void Compute(KernelContext& ctx) {
    const FakeAttrs& a = ctx.attrs<FakeAttrs>();
    const Tensor& x = ctx.In(kX);
    Tensor scales({x.dim(a.quant_axis)}, DTypeOf<T>::value, ctx.place());
    Tensor* kept = ctx.OutOrNull(kOutScale);
    if (a.is_test) {
      const Tensor* given = ctx.InOrNull(kInScale);
      if (!given && kept && kept->has_data()) given = kept;
      ENFORCE(given && given->dtype() == scales.dtype() && given->dims() == scales.dims(),
              InvalidArgument, "InScale must be given with is_test, a scale of type ",
              scales.dtype(), " for each of the ", x.dim(a.quant_axis), " channels, got ",
              given ? "another shape or type" : "nothing");
      if (given->bytes() > 0)
        ctx.device().CopyWithin(scales.mutable_raw_data(), given->raw_data(), given->bytes());
    } else {
      AbsMaxOfChannels(x, a.quant_axis, scales.mutable_data<T>());
    }
    Tensor& out = ctx.Out(kOut);
    out.AllocateData(ctx.place());
    RoundChannels(x, &out, a.quant_axis, scales.data<T>(), a, false);
    if (kept) *kept = std::move(scales);
  }
};

void DefineFakeChannelWiseQuantizeDequantizeAbsMax(OpDef& op) {
  op.Comment(
        "Out = round(X / OutScale * L) * OutScale / L, OutScale = max |X| of each channel, the "
        "sizes along quant_axis, L = 2^(bit_length - 1) - 1: X with the error that so many bits "
        "make. The gradient goes straight through, X@GRAD = Out@GRAD.")
      .Example(
          ">>> x = to_variable([[0.5, 3.0], [-6.0, 1.5]])\n"
          ">>> F.fake_channel_wise_quantize_dequantize_abs_max(x, bit_length=3)[0].tolist()\n"
          "[[1.0, 3.0], [-6.0, 2.0]]")
      .Input(kX, "X", "more axes than quant_axis")
      .Output(kOut, "Out", "shape of X")
      .Output(kOutScale, "OutScale", "[channels]");
  QuantAxis(Bits(op))
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, ctx.dims(kX));
        ctx.SetOutput(kOutScale, {ChannelsOf(ctx.dims(kX), ctx.attrs<FakeAttrs>().quant_axis)});
      })
      .ShareLoD(kX)
      .Grad(StraightThrough);
}

template <class T>
struct FakeChannelWiseQuantizeDequantizeKernel {
  static void Compute(KernelContext& ctx) {
    const FakeAttrs& a = ctx.attrs<FakeAttrs>();
    const Tensor& x = ctx.In(kX);
    Tensor made, *scales = ctx.OutOrNull(kOutScale);
    if (!scales) {
      made = Tensor({x.dim(a.quant_axis)}, DTypeOf<T>::value, ctx.place());
      scales = &made;
    }
    AbsMaxOfChannels(x, a.quant_axis, scales->mutable_data<T>());
    RoundChannels(x, &ctx.Out(kOut), a.quant_axis, scales->data<T>(), a, true);
  }
};

REGISTER_OPERATOR(fake_channel_wise_quantize_abs_max, DefineFakeChannelWiseQuantizeAbsMax);
REGISTER_LOD_RULE(fake_channel_wise_quantize_abs_max, RowsOfFirstOutput);
REGISTER_KERNELS(fake_channel_wise_quantize_abs_max, FakeChannelWiseQuantizeKernel, float, double);
REGISTER_OPERATOR(fake_channel_wise_quantize_dequantize_abs_max,
                  DefineFakeChannelWiseQuantizeDequantizeAbsMax);
REGISTER_LOD_RULE(fake_channel_wise_quantize_dequantize_abs_max, RowsOfFirstOutput);
REGISTER_KERNELS(fake_channel_wise_quantize_dequantize_abs_max,
                 FakeChannelWiseQuantizeDequantizeKernel, float, double);

}  // namespace
}  // namespace dygraph::quantize
