// operators/index/nonzero.h on the device.
#pragma once

#include <memory>

#include "cuda/scratch.h"
#include "cuda/sort_cuda.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "op/op_registry.h"
#include "platform/device_context.h"

namespace dygraph::indexing {

// In order, in memory that loops read.
struct Positions {
  std::unique_ptr<cuda::Workspace<int64_t>> at;
  int64_t count = 0;
  const int64_t* data() const { return at ? at->data() : nullptr; }
  int64_t size() const { return count; }
};

constexpr int64_t kNonzeroChunk = 32;  // elements of a thread

template <class T>
struct CountNonzero {
  const T* v;
  int64_t n;
  int64_t* counts;
  DYGRAPH_INLINE void operator()(int64_t chunk) const {
    int64_t count = 0;
    for (int64_t i = chunk * kNonzeroChunk; i < n && i < (chunk + 1) * kNonzeroChunk; ++i)
      count += v[i] != T(0);
    counts[chunk] = count;
  }
};
template <class T>
struct NoteNonzero {
  const T* v;
  int64_t n;
  const int64_t* begins;
  int64_t most;
  int64_t* at;
  DYGRAPH_INLINE void operator()(int64_t chunk) const {
    int64_t to = begins[chunk];
    for (int64_t i = chunk * kNonzeroChunk; i < n && i < (chunk + 1) * kNonzeroChunk; ++i) {
      if (v[i] != T(0) && to < most) at[to++] = i;
    }
  }
};

// `known` says how many there are, where that is known, so that the device need not be waited for.
template <class T>
Positions NonzeroPositions(const Tensor& t, int64_t known = -1) {
  Positions p;
  const int64_t n = t.numel();
  if (n == 0 || known == 0) return p;
  const T* v = t.data<T>();
  const int64_t chunks = (n + kNonzeroChunk - 1) / kNonzeroChunk;
  cuda::Workspace<int64_t> counts(chunks + 1);
  int64_t *begins = counts.data(), *total = begins + chunks;
  kernels::ForEach(chunks, CountNonzero<T>{v, n, begins});
  cuda::SumBefore(begins, chunks, total);
  p.count = known;
  if (known < 0) GetDeviceContext(t.place()).CopyToHost(&p.count, total, sizeof(int64_t));
  if (p.count == 0) return p;
  p.at = std::make_unique<cuda::Workspace<int64_t>>(p.count);
  if (known > 0) kernels::Fill(p.at->data(), known, int64_t{0});  // should there be fewer
  kernels::ForEach(chunks, NoteNonzero<T>{v, n, begins, p.count, p.at->data()});
  return p;
}

}  // namespace dygraph::indexing
