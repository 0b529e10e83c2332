// A scale that follows max |X| from call to call: OutAccum = moving_rate * InAccum + max |X|,
// OutState = moving_rate * InState + 1, and the scale is their quotient.
#pragma once

#include "operators/quantize/quantize.h"

namespace dygraph::quantize {

struct AverageSlots {
  int accum, state;  // inputs
  int out_scale, out_state, out_accum;
};

// `learns`: the call makes a new scale, so that both inputs must be there.
inline void InferAverage(InferContext& ctx, const AverageSlots& s, bool learns) {
  for (int slot : {s.accum, s.state}) {
    const std::string& name = ctx.call().op->inputs[slot].name;
    ENFORCE(!learns || ctx.HasInput(slot), InvalidArgument, name,
            " must be given without is_test, got nothing");
    if (ctx.HasInput(slot)) CheckOne(ctx, slot, name.c_str());
  }
  for (int slot : {s.out_scale, s.out_state, s.out_accum}) ctx.SetOutput(slot, {1});
}

// The new scale, written with its sum and its count.
template <class T>
T Average(KernelContext& ctx, const AverageSlots& s, T most, T rate) {
  const T accum = rate * *ctx.In(s.accum).data<T>() + most;
  const T state = rate * *ctx.In(s.state).data<T>() + T(1);
  const T scale = accum / state;
  const std::pair<int, T> made[] = {
      {s.out_accum, accum}, {s.out_state, state}, {s.out_scale, scale}};
  for (auto [slot, value] : made) {
    if (Tensor* out = ctx.OutOrNull(slot)) *out->mutable_data<T>() = value;
  }
  return scale;
}

// What stays as it is with is_test: a state that is not given is 0.
template <class T>
void KeepAverage(KernelContext& ctx, const AverageSlots& s, T scale) {
  const std::pair<int, int> kept[] = {{s.accum, s.out_accum}, {s.state, s.out_state}};
  for (auto [slot, to] : kept) {
    const Tensor* in = ctx.InOrNull(slot);
    if (Tensor* out = ctx.OutOrNull(to)) *out->mutable_data<T>() = in ? *in->data<T>() : T(0);
  }
  if (Tensor* out = ctx.OutOrNull(s.out_scale)) *out->mutable_data<T>() = scale;
}

inline OpDef& MovingRate(OpDef& op) {
  return op
      .Attr(&FakeAttrs::moving_rate, "moving_rate", "how much of the past a call keeps",
            Between(0, 1))
      .Attr(&FakeAttrs::is_test, "is_test", "the scale stays as it is");
}

}  // namespace dygraph::quantize
