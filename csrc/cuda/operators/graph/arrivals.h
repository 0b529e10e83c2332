// operators/graph/arrivals.h on the device.
#pragma once

#include "cuda/scratch.h"
#include "cuda/sort_cuda.h"
#include "kernels/loops.h"
#include "operators/graph/pool.h"
#include "operators/index/indexing.h"

namespace dygraph::graph {

// The first of n ascending numbers that is not less than `least`.
DYGRAPH_INLINE int64_t FirstNotLess(const int64_t* sorted, int64_t n, int64_t least) {
  int64_t begin = 0;
  while (n > 0) {
    const int64_t half = n / 2;
    if (sorted[begin + half] < least) {
      begin += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return begin;
}

// Edges by the node where they end; those of one node in their order.
class Arrivals {
 public:
  Arrivals(const indexing::IndexList& ends, int64_t nodes)
      : nodes_(nodes), begins_(nodes + 1), edges_(ends.size) {
    cuda::Workspace<int64_t> memory(ends.size);
    cuda::SortKeys(ends.data, ends.size, nodes - 1, memory.data(), edges_.data());
    FindBegins(memory.data(), ends.size);
  }
  int64_t nodes() const { return nodes_; }
  // Of node i: edges()[begins()[i]], ..., edges()[begins()[i + 1] - 1].
  const int64_t* begins() const { return begins_.data(); }
  const int64_t* edges() const { return edges_.data(); }

  void FindBegins(const int64_t* sorted, int64_t n) {
    int64_t* begins = begins_.data();
    kernels::ForEach(nodes_ + 1,
                     [=] DYGRAPH_FN(int64_t i) { begins[i] = FirstNotLess(sorted, n, i); });
  }

 private:
  int64_t nodes_;
  mutable cuda::Workspace<int64_t> begins_, edges_;
};

// to[i] = the rows of `width` elements that arrive at node i, pooled; 0 where none does. rows.At(e,
// j) gives element j of the row of edge e. A NaN wins over numbers.
template <class T, class Rows>
void PoolRows(Pool pool, const Arrivals& arrivals, int64_t width, const Rows& rows, T* to) {
  const int64_t *begins = arrivals.begins(), *edges = arrivals.edges();
  kernels::ForEach(arrivals.nodes() * width, [=] DYGRAPH_FN(int64_t at) {
    const int64_t i = at / width, j = at - i * width, begin = begins[i], end = begins[i + 1];
    T pooled = begin < end ? rows.At(edges[begin], j) : T(0);
    for (int64_t k = begin + 1; k < end; ++k) {
      const T v = rows.At(edges[k], j);
      pooled = pool == Pool::kMost || pool == Pool::kLeast ? MoreExtreme(pool, pooled, v)
                                                           : static_cast<T>(pooled + v);
    }
    if (pool == Pool::kMean && begin < end) pooled /= static_cast<T>(end - begin);
    to[at] = pooled;
  });
}

// to[i] = how many edges end at node i.
template <class T>
void CountArrivals(const Arrivals& arrivals, T* to) {
  const int64_t* begins = arrivals.begins();
  kernels::ForEach(arrivals.nodes(), [=] DYGRAPH_FN(int64_t i) {
    to[i] = static_cast<T>(begins[i + 1] - begins[i]);
  });
}

// to[e, j] = rows.At(e, j) for all edges.
template <class T, class Rows>
void WriteRows(int64_t edges, int64_t width, const Rows& rows, T* to) {
  kernels::ForEach(edges * width,
                   [=] DYGRAPH_FN(int64_t at) { to[at] = rows.At(at / width, at % width); });
}

}  // namespace dygraph::graph
