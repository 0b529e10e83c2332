// operators/loss/spelling.h on the device: a thread for each sequence.
#pragma once

#include "cuda/kept_rows.h"
#include "cuda/sequence_rows.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "operators/loss/spelling_rule.h"

namespace dygraph::ctc {

// Of padded sequences: `out`, of Input's shape, and the lengths; both may be nullptr.
template <class T>
void SpellPadded(const KernelContext& ctx, const Spelling& rule, T padding, T* out, T* length) {
  const cuda::Sequences sequences(ctx, kInput, kInputLength);
  const cuda::SequenceRows rows = sequences.rows;
  const int64_t width = ctx.In(kInput).dim(1);
  const T* x = ctx.In(kInput).data<T>();
  const Spelling by = rule;
  if (out) kernels::Fill(out, sequences.count * width, padding);
  kernels::ForEach(sequences.count, [=] DYGRAPH_FN(int64_t s) {
    const int64_t steps = rows.Length(s);
    int64_t count = 0;
    for (int64_t t = 0; t < steps; ++t) {
      if (!by.Keeps(x + s * width, t)) continue;
      if (out) out[s * width + count] = x[s * width + t];
      ++count;
    }
    if (length) length[s] = static_cast<T>(count);
  });
}

// By LoD: what all spell, with a level of detail, or a single -1. Waits for the lengths.
template <class T>
void SpellRagged(const KernelContext& ctx, const Spelling& rule, Tensor* out) {
  const Tensor& input = ctx.In(kInput);
  ragged::FromLoD(input, "Input", "InputLength");
  cuda::KeptRows<T, Spelling> kept(input.data<T>(), input.lod_levels().back(), rule);
  const int64_t total = kept.offsets().back();
  out->Allocate({total ? total : 1, 1}, DTypeOf<T>::value, ctx.place());
  T* y = out->mutable_data<T>();
  if (total == 0) return kernels::Fill(y, 1, T(-1));
  kept.Write(y);
  out->SetLoD(LoDLevels{kept.offsets()});
}

}  // namespace dygraph::ctc
