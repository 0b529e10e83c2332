// Numbers as whole multiples of a step, a scale divided by the greatest whole number of so many
// bits: what the operators of fake quantisation share. Their results are floating-point numbers.
#pragma once

#include <cmath>

#include "kernels/elementwise.h"
#include "op/lod_rule.h"
#include "op/number.h"
#include "op/op_registry.h"
#include "operators/quantize/map_channels.h"

namespace dygraph::quantize {

// Each operator declares those that it has.
struct FakeAttrs {
  int32_t bit_length = 8;
  int32_t round_type = 1;
  int32_t quant_axis = 0;
  int32_t window_size = 10000;
  double moving_rate = 0.9;
  bool is_test = false;
};

inline OpDef& Bits(OpDef& op) {
  return op
      .Attr(&FakeAttrs::bit_length, "bit_length", "bits of a whole number, with its sign",
            Between(2, 16))
      .Attr(&FakeAttrs::round_type, "round_type", "halves go 0: to the even number, 1: away from 0",
            Between(0, 1));
}

inline OpDef& QuantAxis(OpDef& op) {
  return op.Attr(&FakeAttrs::quant_axis, "quant_axis", "the axis of the channels, 0 or 1",
                 Between(0, 1));
}

// The greatest whole number: 127 for 8 bits.
inline int32_t Levels(int32_t bits) { return (int32_t{1} << (bits - 1)) - 1; }

inline void CheckOne(const InferContext& ctx, int slot, const char* name) {
  const Dims& dims = ctx.dims(slot);
  ENFORCE(dims.HasUnknown() || Numel(dims) == 1, InvalidArgument, name,
          " must hold one number, shape [1] or [], got ", dims);
}

// The channels of X along `axis`.
inline int64_t ChannelsOf(const Dims& x, int axis, const char* attr = "quant_axis") {
  ENFORCE(axis < x.rank(), InvalidArgument, "X must have more axes than ", attr, " ", axis,
          ", got shape ", x);
  return x[axis];
}

// *to = the greatest |x|: a NaN wins, nothing has 0.
template <class T>
void AbsMax(const Tensor& x, T* to);
template <class T>
void AbsMaxOfChannels(const Tensor& x, int axis, T* to);

// y = x in units of scale / levels, rounded; with `back` times the unit again.
template <class T>
void Round(const T* x, T* y, int64_t n, const Tensor& scale, const FakeAttrs& a, bool back);
// The same with one scale for each channel.
template <class T>
void RoundChannels(const Tensor& x, Tensor* out, int axis, const T* scales, const FakeAttrs& a,
                   bool back);

// Behind a step function the gradient goes straight through (Bengio et al., 2013).
inline void StraightThrough(GradBuilder& g) {
  g.Call("assign", {g.OutputGrad(0)}, {g.InputGrad(0)});
}

}  // namespace dygraph::quantize
