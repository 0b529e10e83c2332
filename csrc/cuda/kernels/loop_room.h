// kernels/loop_room.h on the device: so many threads that their memory stays small.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/scratch.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"

namespace dygraph::kernels {

template <class T, class F>
void ForEachWithRoom(int64_t n, int64_t size, F f, int64_t) {
  constexpr int64_t kMost = 16384;
  const int64_t threads = std::min(n, kMost);
  if (threads == 0) return;
  cuda::Workspace<T> memory(threads * size);
  T* rooms = memory.data();
  Fill(rooms, threads * size, T(0));
  ForEach(threads, [=] DYGRAPH_FN(int64_t thread) {
    for (int64_t i = thread; i < n; i += threads) f(i, rooms + thread * size);
  });
}

}  // namespace dygraph::kernels
