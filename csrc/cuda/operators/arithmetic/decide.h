// operators/arithmetic/decide.h on the device.
#pragma once

#include "kernels/convert.h"
#include "kernels/reduce.h"

namespace dygraph::finiteness {

namespace detail {
template <class P, class T>
struct OddOp : kernels::AnyOp<T> {
  using typename kernels::AnyOp<T>::Lane;
  DYGRAPH_INLINE static Lane Add(Lane odd, T x) {
    return odd | static_cast<Lane>(P::F(static_cast<kernels::Wide<T>>(x)) != P::kAll);
  }
  DYGRAPH_INLINE static bool Finish(Lane odd, int64_t) { return (odd != 0) != P::kAll; }
};
}  // namespace detail

// *out: whether all elements pass P's test, or any with P::kAll false.
template <class P, class T>
void Decide(const T* x, int64_t n, bool* out) {
  const bool whole = true;
  kernels::Reduce<detail::OddOp<P, T>>(x, {&n, 1}, {&whole, 1}, out);
}

}  // namespace dygraph::finiteness
