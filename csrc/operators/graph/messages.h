// segment_pool, graph_send_recv, graph_send_ue_recv and graph_send_uv: rows that edges carry to the
// nodes of a graph, and what a node makes of those that arrive.
#pragma once

#include "op/placed_list.h"
#include "operators/graph/arrivals.h"

namespace dygraph::graph {

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
inline indexing::IndexList Nodes(KernelContext& ctx, int slot, int64_t nodes) {
  return indexing::CheckedIndices(ctx, slot, nodes, "the nodes", false);
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
};

// The rows that edges make of rows of X and of Y: X[x_rows[e]] with Y[y_rows[e]], or with Y[e]
// where that is null.
template <class T>
struct CombinedRows {
  const T *x, *y;
  const int64_t *x_rows, *y_rows, *x_at, *y_at;
  int64_t x_width, y_width, width;
  bool multiplies;

  DYGRAPH_INLINE const T* XRow(int64_t e) const { return x + x_rows[e] * x_width; }
  DYGRAPH_INLINE const T* YRow(int64_t e) const { return y + (y_rows ? y_rows[e] : e) * y_width; }
  DYGRAPH_INLINE T At(int64_t e, int64_t j) const {
    const T a = XRow(e)[x_at ? x_at[j] : j], b = YRow(e)[y_at ? y_at[j] : j];
    return multiplies ? a * b : a + b;
  }
  const T* Row(int64_t e, T* room) const {
    if (x_at || y_at) {
      for (int64_t j = 0; j < width; ++j) room[j] = At(e, j);
      return room;
    }
    const T *a = XRow(e), *b = YRow(e);
    if (multiplies) {
      for (int64_t j = 0; j < width; ++j) room[j] = a[j] * b[j];
    } else {
      for (int64_t j = 0; j < width; ++j) room[j] = a[j] + b[j];
    }
    return room;
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
