// What quantize_linear and dequantize_linear share: one scale for all of X, quant_axis -1, or one
// for each channel.
#pragma once

#include "kernels/cast.h"
#include "operators/quantize/moving_average.h"

namespace dygraph::quantize {

constexpr int kX = 0, kScale = 1, kZeroPoint = 2, kInAccum = 3, kInState = 4;
constexpr int kY = 0, kOutState = 1, kOutAccum = 2, kOutScale = 3;

constexpr AverageSlots kLinearSlots = {kInAccum, kInState, kOutScale, kOutState, kOutAccum};

struct LinearAttrs {
  int32_t quant_axis = 0;
  int32_t bit_length = 8;
  int32_t round_type = 0;
  bool is_test = true;
  bool only_observer = false;
  double moving_rate = 0.9;
};

inline void InferLinear(InferContext& ctx) {
  const auto& a = ctx.attrs<LinearAttrs>();
  const Dims &x = ctx.dims(kX), &scale = ctx.dims(kScale);
  const int64_t count = a.quant_axis < 0 ? 1 : ChannelsOf(x, a.quant_axis);
  ENFORCE(scale.HasUnknown() || count < 0 || Numel(scale) == count, InvalidArgument,
          "Scale must hold ", count,
          a.quant_axis < 0 ? " number" : " numbers, one for each channel", ", got shape ", scale);
  const bool averages = !a.is_test && a.quant_axis < 0;
  ctx.SetOutput(kY, x, ctx.dtype(kScale));
  InferAverage(ctx, kLinearSlots, averages);
  ctx.SetOutput(kOutScale, scale);
}

// Fluid's programs give a tensor of zeros.
inline void CheckZeroPoint(const Tensor& zero) {
  std::vector<double> values(zero.numel());
  kernels::Cast(zero.dtype(), zero.raw_data(), DType::kFloat64, values.data(), zero.numel());
  for (double v : values)
    ENFORCE(v == 0, Unimplemented, "ZeroPoint must be 0, got ", v,
            ". Add it to Y, or use quantize with Shift");
}

// X in the type of Scale.
template <class T>
Tensor InTypeOf(const Tensor& x) {
  if (x.dtype() == DTypeOf<T>::value) return x;
  Tensor made(x.dims(), DTypeOf<T>::value, x.place());
  kernels::Cast(x.dtype(), x.raw_data(), made.dtype(), made.mutable_raw_data(), x.numel());
  return made;
}

inline void CopyScale(KernelContext& ctx, const Tensor& from, Tensor* to) {
  if (from.bytes() == 0) return;
  ctx.device().CopyWithin(to->mutable_raw_data(), from.raw_data(), from.bytes());
}

inline OpDef& DeclareLinear(OpDef& op) {
  return op.Input(kX, "X", "more axes than quant_axis")
      .Input(kScale, "Scale", "[1] where quant_axis is -1, else [channels]")
      .Input(kZeroPoint, "ZeroPoint", "not read: 0 stands for 0", kOnHost)
      .Input(kInAccum, "InAccum", "[1], the sum so far", kDispensable)
      .Input(kInState, "InState", "[1], the count so far", kDispensable)
      .Output(kY, "Y", "shape of X")
      .Output(kOutState, "OutState", "[1]")
      .Output(kOutAccum, "OutAccum", "[1]")
      .Output(kOutScale, "OutScale", "shape of Scale: Scale, or the one made")
      .Attr(&LinearAttrs::quant_axis, "quant_axis", "axis of the channels; -1: one scale for all",
            Between(-1, 1))
      .Attr(&LinearAttrs::bit_length, "bit_length", "bits of a whole number, with its sign",
            Between(2, 16))
      .Attr(&LinearAttrs::round_type, "round_type",
            "halves go 0: to the even number, 1: away from 0", Between(0, 1))
      .Attr(&LinearAttrs::is_test, "is_test", "Scale is used; else a new one is made")
      .Attr(&LinearAttrs::only_observer, "only_observer", "Y = X, only the scale is made")
      .Attr(&LinearAttrs::moving_rate, "moving_rate", "how much of the past a call keeps",
            Between(0, 1))
      .Shape(InferLinear)
      .KernelDTypeOf(kScale)
      .MixedDTypes()
      .ShareLoD(kX);
}

}  // namespace dygraph::quantize
