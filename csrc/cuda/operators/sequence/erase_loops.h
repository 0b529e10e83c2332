// operators/sequence/erase_loops.h on the device; waits for the lengths.
#pragma once

#include "cuda/kept_rows.h"
#include "operators/sequence/sequence.h"

namespace dygraph::sequence {

namespace detail {
struct NotAmong {
  const int32_t* tokens;
  int64_t count;
  template <class T>
  DYGRAPH_INLINE bool Keeps(const T* x, int64_t t) const {
    for (int64_t k = 0; k < count; ++k) {
      if (x[t] == tokens[k]) return false;
    }
    return true;
  }
};
}  // namespace detail

// out, rows like those of x, gets those numbers of x that are not among tokens; gives the new
// offsets.
template <class T>
Offsets KeepOthers(KernelContext& ctx, const Offsets& offsets, const std::vector<int32_t>& tokens,
                   const T* x, const Dims& dims, Tensor* out) {
  kernels::Table<int32_t> table(tokens);
  cuda::KeptRows<T, detail::NotAmong> kept(x, offsets,
                                           {table.data(), static_cast<int64_t>(tokens.size())});
  out->Allocate(WithRows(dims, kept.offsets().back()), DTypeOf<T>::value, ctx.place());
  kept.Write(out->template mutable_data<T>());
  return kept.offsets();
}

}  // namespace dygraph::sequence
