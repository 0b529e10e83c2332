// operators/reduce/bins.h on the device. The greatest number is read once: the output has that
// size.
#pragma once

#include <type_traits>

#include "kernels/add_at.h"
#include "kernels/elementwise.h"
#include "kernels/fold.h"
#include "kernels/sort_lines.h"
#include "op/op_registry.h"
#include "operators/reduce/order_key.h"

namespace dygraph::bins {

struct Larger {
  template <class T>
  DYGRAPH_INLINE T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

// The greatest of n numbers, none of which may be negative; -1 of none.
template <class T>
T Greatest(KernelContext& ctx, const T* v, int64_t n) {
  using U = std::make_unsigned_t<T>;
  if (n == 0) return T(-1);
  Scratch room = ctx.Workspace(sizeof(U));
  U* to = room.as<U>();
  kernels::FoldAll(
      n, U(0), [=] DYGRAPH_FN(int64_t i) { return static_cast<U>(v[i]); }, Larger(),
      [=] DYGRAPH_FN(U greatest) { *to = greatest; });
  T most = 0;
  ctx.device().CopyToHost(&most, to, sizeof most);
  ENFORCE(most >= 0, InvalidArgument, "X must hold numbers of at least 0, got ", most);
  return most;
}

template <class T>
void Count(const T* v, int64_t n, int64_t* to, int64_t size) {
  kernels::Fill(to, size, int64_t{0});
  kernels::ForEachAdding(n, [=] DYGRAPH_FN(int64_t i) { kernels::AddAt(to + v[i], int64_t{1}); });
}

// Sorted by bins, so that the weights of each are added in the same order in every run.
template <class T, class W, class S>
void Weigh(const T* v, const W* w, int64_t n, S* to, int64_t size) {
  using K = sorting::KeyOf<T>;
  cuda::Workspace<K> key_room(n);
  cuda::Workspace<uint32_t> order_room(n);
  kernels::SortLines(
      1, n, [=] DYGRAPH_FN(int64_t, int64_t i) { return static_cast<K>(v[i]); }, key_room.data(),
      order_room.data());
  const K* keys = key_room.data();
  const uint32_t* order = order_room.data();
  kernels::ForEachRow(size, n / (size + 1), [=] DYGRAPH_FN(int64_t bin, kernels::Team team) {
    const int64_t begin = kernels::Bound<false>(keys, n, static_cast<K>(bin));
    const int64_t end = kernels::Bound<true>(keys, n, static_cast<K>(bin));
    const S sum =
        team.Sum<S>(end - begin, [=](int64_t i) { return static_cast<S>(w[order[begin + i]]); });
    team.Once([=] { to[bin] = sum; });
  });
}

}  // namespace dygraph::bins
