// A scale that follows max |X| from call to call: OutAccum = moving_rate * InAccum + max |X|,
// OutState = moving_rate * InState + 1, and the scale is their quotient.
#pragma once

#include "kernels/loops.h"
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

// Where the outputs go; null where one is not asked for.
template <class T>
struct AverageOutputs {
  T *scale, *state, *accum;
  AverageOutputs(KernelContext& ctx, const AverageSlots& s)
      : scale(At(ctx.OutOrNull(s.out_scale))),
        state(At(ctx.OutOrNull(s.out_state))),
        accum(At(ctx.OutOrNull(s.out_accum))) {}
  DYGRAPH_INLINE void Put(T new_scale, T new_state, T new_accum) const {
    if (accum) *accum = new_accum;
    if (state) *state = new_state;
    if (scale) *scale = new_scale;
  }
  static T* At(Tensor* t) { return t ? t->mutable_data<T>() : nullptr; }
};

template <class T>
const T* AtOrNull(const Tensor* t) {
  return t ? t->data<T>() : nullptr;
}

// *scale = the new one, written with its sum and its count; `most` is max |X|.
template <class T>
void Average(KernelContext& ctx, const AverageSlots& s, const T* most, T rate, T* scale) {
  const T *in_accum = ctx.In(s.accum).data<T>(), *in_state = ctx.In(s.state).data<T>();
  const AverageOutputs<T> out(ctx, s);
  kernels::ForEach(1, [=] DYGRAPH_FN(int64_t) {
    const T accum = rate * *in_accum + *most;
    const T state = rate * *in_state + T(1);
    *scale = accum / state;
    out.Put(*scale, state, accum);
  });
}

// What stays as it is with is_test: a scale or state that is not given is 0.
template <class T>
void KeepAverage(KernelContext& ctx, const AverageSlots& s, const T* scale) {
  const T *accum = AtOrNull<T>(ctx.InOrNull(s.accum)), *state = AtOrNull<T>(ctx.InOrNull(s.state));
  const AverageOutputs<T> out(ctx, s);
  kernels::ForEach(1, [=] DYGRAPH_FN(int64_t) {
    out.Put(scale ? *scale : T(0), state ? *state : T(0), accum ? *accum : T(0));
  });
}

inline OpDef& MovingRate(OpDef& op) {
  return op
      .Attr(&FakeAttrs::moving_rate, "moving_rate", "how much of the past a call keeps",
            Between(0, 1))
      .Attr(&FakeAttrs::is_test, "is_test", "the scale stays as it is");
}

}  // namespace dygraph::quantize
