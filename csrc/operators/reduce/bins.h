// The loops of bincount: a bin for each number from 0 up.
#pragma once

#include <algorithm>
#include <type_traits>

#include "op/op_registry.h"
#include "platform/interrupt.h"

namespace dygraph::bins {

// The greatest of n numbers, none of which may be negative; -1 of none.
template <class T>
T Greatest(const KernelContext&, const T* v, int64_t n) {
  using U = std::make_unsigned_t<T>;
  U greatest = 0;  // a negative number is greater than all others
  for (int64_t i = 0; i < n; ++i) greatest = std::max(greatest, static_cast<U>(v[i]));
  const T most = n == 0 ? T(-1) : static_cast<T>(greatest);
  ENFORCE(most >= 0 || n == 0, InvalidArgument, "X must hold numbers of at least 0, got ",
          *std::min_element(v, v + n));
  return most;
}

// to[k] = the sum of weight(i) where v[i] is k.
template <class T, class S, class F>
void Add(const T* v, int64_t n, S* to, int64_t size, const F& weight) {
  std::fill(to, to + size, S(0));
  InPieces(n, int64_t{1} << 20, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[v[i]] += weight(i);
  });
}
template <class T>
void Count(const T* v, int64_t n, int64_t* to, int64_t size) {
  Add(v, n, to, size, [](int64_t) { return 1; });
}
template <class T, class W, class S>
void Weigh(const T* v, const W* w, int64_t n, S* to, int64_t size) {
  Add(v, n, to, size, [=](int64_t i) { return static_cast<S>(w[i]); });
}

}  // namespace dygraph::bins
