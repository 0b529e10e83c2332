// segment_pool, graph_send_recv, graph_send_ue_recv and graph_send_uv: rows that edges carry to the
// nodes of a graph, and what a node makes of those that arrive.
#pragma once

#include "operators/index/indexing.h"

namespace dygraph::graph {

enum class Pool { kSum, kMean, kMost, kLeast };

inline Pool PoolOf(const std::string& name) {
  if (name == "SUM") return Pool::kSum;
  if (name == "MEAN") return Pool::kMean;
  return name == "MAX" ? Pool::kMost : Pool::kLeast;
}
inline bool IsExtreme(Pool pool) { return pool == Pool::kMost || pool == Pool::kLeast; }

// Edges by the node where they end; those of one node in their order.
struct Arrivals {
  std::vector<int64_t> begin, edges;  // of node i: edges[begin[i]], ..., edges[begin[i + 1] - 1]

  Arrivals(const int64_t* ends, int64_t count, int64_t nodes) : begin(nodes + 1), edges(count) {
    for (int64_t e = 0; e < count; ++e) ++begin[ends[e] + 1];
    for (int64_t i = 0; i < nodes; ++i) begin[i + 1] += begin[i];
    std::vector<int64_t> next(begin.begin(), begin.end() - 1);
    for (int64_t e = 0; e < count; ++e) edges[next[ends[e]]++] = e;
  }
  int64_t nodes() const { return static_cast<int64_t>(begin.size()) - 1; }
  int64_t Count(int64_t node) const { return begin[node + 1] - begin[node]; }
};

// to[i] = the rows of `width` elements that arrive at node i, pooled; 0 where none does. row(e,
// room) gives the row of edge e, which may lie in `room`. A NaN wins over numbers.
template <class T, class Row>
void PoolRows(Pool pool, const Arrivals& arrivals, int64_t width, const Row& row, T* to) {
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
      std::copy_n(row(edge[0], room.data()), width, out);
      for (int64_t k = 1; k < count; ++k) {
        const T* in = row(edge[k], room.data());
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

// [n] or [n, 1].
inline bool IsOneAxis(const Dims& d) {
  return d.rank() == 1 || (d.rank() == 2 && (d[1] == 1 || d[1] < 0));
}

inline void CheckEnds(InferContext& ctx, int source, int target) {
  const Dims &src = ctx.dims(source), &dst = ctx.dims(target);
  ENFORCE(IsOneAxis(src) && IsOneAxis(dst) && (src[0] == dst[0] || !BothKnown(src[0], dst[0])),
          InvalidArgument,
          "Src_index and Dst_index must have one number for each edge, got shapes ", src, " and ",
          dst);
}

// Numbers of nodes, each in [0, nodes).
inline indexing::IndexList Nodes(const Tensor& t, const char* slot, int64_t nodes) {
  return indexing::CheckedIndices(t, slot, nodes, "the nodes", false);
}

// The rows of Out: out_size, given as a tensor or an attribute, or as many as X has.
inline int64_t OutRows(InferContext& ctx, int slot, const std::vector<int64_t>& attr, int64_t x) {
  if (ctx.HasInput(slot)) {
    IntList given = ReadIntList(ctx.call(), slot, -1, attr);
    ENFORCE(given.values.size() == 1, InvalidArgument, "Out_size must hold one integer, got ",
            given.values.size());
    if (!given.known) return -1;
    return given.values[0] > 0 ? given.values[0] : x;
  }
  ENFORCE(attr.size() <= 1, InvalidArgument, "out_size must hold one integer, got ", attr.size());
  return attr.empty() || attr[0] <= 0 ? x : attr[0];
}

// What two rows make: X + Y or X * Y with axes behind the first that broadcast.
struct Combined {
  Dims dims;  // of one result, without the first axis
  bool multiplies;
  std::vector<int64_t> x_at, y_at;  // where the operands of each element lie; empty: at its place
  int64_t x_width, y_width, width;

  Combined(const Dims& x, const Dims& y, const std::string& message_op)
      : multiplies(message_op == "MUL") {
    ENFORCE(x.rank() >= 1 && x.rank() == y.rank(), InvalidArgument,
            "X and Y must have equally many axes, got shapes ", x, " and ", y);
    const Dims xs = Behind(x), ys = Behind(y);
    dims = BroadcastDims(xs, ys);
    if (dims.HasUnknown() || x.HasUnknown() || y.HasUnknown()) return;
    x_width = Numel(xs), y_width = Numel(ys), width = Numel(dims);
    x_at = Places(xs);
    y_at = Places(ys);
  }
  static Dims Behind(const Dims& d) {
    return Dims(Span<const int64_t>(d.data() + 1, d.size() - 1));
  }
  Dims With(int64_t rows) const {
    Dims out{rows};
    for (int64_t size : dims) out.push_back(size);
    return out;
  }
  std::vector<int64_t> Places(const Dims& own) const {
    std::vector<int64_t> places;
    if (own == dims) return places;
    const Dims strides = Strides(own), whole = Strides(dims);
    for (int64_t j = 0; j < width; ++j) {
      int64_t at = 0;
      for (int a = 0; a < dims.rank(); ++a)
        at += own[a] == 1 ? 0 : j / whole[a] % dims[a] * strides[a];
      places.push_back(at);
    }
    return places;
  }
  template <class T>
  void Row(const T* x, const T* y, T* to) const {
    if (x_at.empty() && y_at.empty()) {
      if (multiplies) {
        for (int64_t j = 0; j < width; ++j) to[j] = x[j] * y[j];
      } else {
        for (int64_t j = 0; j < width; ++j) to[j] = x[j] + y[j];
      }
      return;
    }
    for (int64_t j = 0; j < width; ++j) {
      const T a = x[x_at.empty() ? j : x_at[j]], b = y[y_at.empty() ? j : y_at[j]];
      to[j] = multiplies ? a * b : a + b;
    }
  }
};

// A gradient recipe's values: the rows that edges carry, from the rows of X where they begin and
// those of Y.
struct Carried {
  RecipeRef x, rows;
  Carried(GradBuilder& g, RecipeRef x_in, RecipeRef source, RecipeRef y, bool multiplies)
      : x(g.Apply("index_select", {x_in, source})),
        rows(g.Apply(multiplies ? "elementwise_mul" : "elementwise_add", {x, y})) {}
};

// The gradient of the rows that edges carry, from `incoming`, that of what the nodes make of them.
// `carried` and `out` are read for MAX and MIN.
inline RecipeRef ArrivingGrad(GradBuilder& g, const std::string& pool, RecipeRef carried,
                              RecipeRef target, RecipeRef out, RecipeRef incoming) {
  RecipeRef spread = g.Apply("index_select", {incoming, target});
  if (PoolOf(pool) == Pool::kSum) return spread;
  const bool values = IsExtreme(PoolOf(pool));
  RecipeRef rows = g.Apply("shape", {incoming}), arriving = g.Temp();
  g.Call("segment_pool_grad",
         {values ? carried : spread, target, rows, values ? out : RecipeRef(), incoming},
         {arriving})
      .Attr("pooltype", pool);
  return arriving;
}

// The gradients of X[source] + Y or X[source] * Y, where `carried` has X[source].
inline void CarriedGrad(GradBuilder& g, bool multiplies, RecipeRef carried, RecipeRef y,
                        RecipeRef incoming, RecipeRef x_grad, RecipeRef y_grad) {
  g.Call(multiplies ? "elementwise_mul_grad" : "elementwise_add_grad", {carried, y, incoming},
         {x_grad, y_grad});
}

}  // namespace dygraph::graph
