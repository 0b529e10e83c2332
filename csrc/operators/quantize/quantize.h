// Numbers as whole multiples of a step, a scale divided by the greatest whole number of so many
// bits: what the operators of fake quantisation share. Their results are floating-point numbers.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/elementwise.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"

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

// The greatest |x|: a NaN wins, nothing has 0.
template <class T>
T AbsMax(const Tensor& x);
template <class T>
void AbsMaxOfChannels(const Tensor& x, int axis, T* to);

// X as [outer, channels, inner].
struct Channels {
  int64_t outer, count, inner;
  Channels(const Dims& x, int axis)
      : outer(Numel(x, 0, axis)), count(x[axis]), inner(Numel(x, axis + 1, x.rank())) {}
};

// y = f(x, the scale of its channel). Short channels go along the rows, many at once.
template <class T, class F>
void MapChannels(const T* x, T* y, const Channels& c, const T* scales, F f) {
  constexpr int64_t kShort = 16;
  if (c.inner >= kShort || c.outer == 1) {
    return kernels::ParallelRows(c.outer * c.count, c.inner * 4, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T scale = scales[i % c.count];
        kernels::Map(
            x + i * c.inner, y + i * c.inner, c.inner, [=](T v) { return f(v, scale); }, 4);
      }
    });
  }
  const int64_t width = c.count * c.inner;
  std::vector<T> row(width);
  for (int64_t j = 0; j < width; ++j) row[j] = scales[j / c.inner];
  const T* by = row.data();
  kernels::ParallelRows(c.outer, width * 4, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      kernels::Zip(x + i * width, by, y + i * width, width, f, 4);
  });
}

// y = x in units of scale / levels, rounded; with `back` times the unit again.
template <class T>
void Round(const T* x, T* y, int64_t n, T scale, const FakeAttrs& a, bool back);
// The same with one scale for each channel.
template <class T>
void RoundChannels(const Tensor& x, Tensor* out, int axis, const T* scales, const FakeAttrs& a,
                   bool back);

// Behind a step function the gradient goes straight through (Bengio et al., 2013).
inline void StraightThrough(GradBuilder& g) {
  g.Call("assign", {g.OutputGrad(0)}, {g.InputGrad(0)});
}

}  // namespace dygraph::quantize
