// Edges by the node where they end, and what arrives there.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/parallel.h"
#include "operators/graph/pool.h"
#include "operators/index/indexing.h"

namespace dygraph::graph {

// Edges by the node where they end; those of one node in their order.
struct Arrivals {
  std::vector<int64_t> begin, edges;  // of node i: edges[begin[i]], ..., edges[begin[i + 1] - 1]

  Arrivals(const indexing::IndexList& list, int64_t nodes) : begin(nodes + 1), edges(list.size) {
    const int64_t *ends = list.data, count = list.size;
    for (int64_t e = 0; e < count; ++e) ++begin[ends[e] + 1];
    for (int64_t i = 0; i < nodes; ++i) begin[i + 1] += begin[i];
    std::vector<int64_t> next(begin.begin(), begin.end() - 1);
    for (int64_t e = 0; e < count; ++e) edges[next[ends[e]]++] = e;
  }
  int64_t nodes() const { return static_cast<int64_t>(begin.size()) - 1; }
  int64_t Count(int64_t node) const { return begin[node + 1] - begin[node]; }
};

// to[i] = the rows of `width` elements that arrive at node i, pooled; 0 where none does.
// rows.Row(e, room) gives the row of edge e, which may lie in `room`, and rows.At(e, j) its element
// j, which devices take. A NaN wins over numbers.
template <class T, class Rows>
void PoolRows(Pool pool, const Arrivals& arrivals, int64_t width, const Rows& rows, T* to) {
  const int64_t nodes = arrivals.nodes();
  const int64_t edges = static_cast<int64_t>(arrivals.edges.size());
  const int64_t cost = width * (1 + edges / std::max<int64_t>(nodes, 1));
  kernels::ParallelRows(nodes, cost, [&](int64_t begin, int64_t end) {
    std::vector<T> room(static_cast<size_t>(width));
    for (int64_t i = begin; i < end; ++i) {
      T* out = to + i * width;
      const int64_t count = arrivals.Count(i);
      if (count == 0) {
        std::fill_n(out, width, T(0));
        continue;
      }
      const int64_t* edge = arrivals.edges.data() + arrivals.begin[i];
      std::copy_n(rows.Row(edge[0], room.data()), width, out);
      for (int64_t k = 1; k < count; ++k) {
        const T* in = rows.Row(edge[k], room.data());
        if (pool == Pool::kMost) {
          for (int64_t j = 0; j < width; ++j)
            out[j] = in[j] > out[j] || in[j] != in[j] ? in[j] : out[j];
        } else if (pool == Pool::kLeast) {
          for (int64_t j = 0; j < width; ++j)
            out[j] = in[j] < out[j] || in[j] != in[j] ? in[j] : out[j];
        } else {
          for (int64_t j = 0; j < width; ++j) out[j] += in[j];
        }
      }
      if (pool != Pool::kMean) continue;
      for (int64_t j = 0; j < width; ++j) out[j] /= static_cast<T>(count);
    }
  });
}

// to[i] = how many edges end at node i.
template <class T>
void CountArrivals(const Arrivals& arrivals, T* to) {
  for (int64_t i = 0; i < arrivals.nodes(); ++i) to[i] = static_cast<T>(arrivals.Count(i));
}

// to[e, j] = rows.At(e, j) for all edges.
template <class T, class Rows>
void WriteRows(int64_t edges, int64_t width, const Rows& rows, T* to) {
  kernels::ParallelRows(edges, width, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      const T* row = rows.Row(e, to + e * width);
      if (row != to + e * width) std::copy_n(row, width, to + e * width);
    }
  });
}

}  // namespace dygraph::graph
