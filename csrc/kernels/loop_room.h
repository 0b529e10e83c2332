// Loops whose body needs memory of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/parallel.h"

namespace dygraph::kernels {

// f(i, room) for every i in [0, n): `size` numbers, zeros at first, then what an earlier i left.
// `cost` is that of one i in additions.
template <class T, class F>
void ForEachWithRoom(int64_t n, int64_t size, F f, int64_t cost) {
  ParallelRows(n, cost, [=](int64_t begin, int64_t end) {
    std::vector<T> room(static_cast<size_t>(size));
    for (int64_t i = begin; i < end; ++i) f(i, room.data());
  });
}

}  // namespace dygraph::kernels
