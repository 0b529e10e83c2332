// The numbers of sequences without some of them.
#pragma once

#include "operators/sequence/sequence.h"

namespace dygraph::sequence {

// out, rows like those of x, gets those numbers of x that are not among tokens; gives the new
// offsets.
template <class T>
Offsets KeepOthers(KernelContext& ctx, const Offsets& offsets, const std::vector<int32_t>& tokens,
                   const T* x, const Dims& dims, Tensor* out) {
  std::vector<T> kept;
  Offsets last{0};
  for (int64_t s = 0; s < Count(offsets); ++s) {
    for (int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
      if (std::find(tokens.begin(), tokens.end(), x[i]) == tokens.end()) kept.push_back(x[i]);
    }
    last.push_back(static_cast<int64_t>(kept.size()));
  }
  out->Allocate(WithRows(dims, last.back()), DTypeOf<T>::value, ctx.place());
  std::copy(kept.begin(), kept.end(), out->template mutable_data<T>());
  return last;
}

}  // namespace dygraph::sequence
