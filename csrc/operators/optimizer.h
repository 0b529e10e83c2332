// Checks that all optimizer operators make before anything is written.
#pragma once

#include "kernels/elementwise.h"
#include "op/op_registry.h"

namespace dygraph::optimizer {

// A tensor the step reads and writes beside the parameter, or its gradient (dense or selected
// rows): shape and type of Param.
inline void CheckLikeParam(const InferContext& ctx, int param, int slot, const char* name) {
  const Dims &p = ctx.dims(param), &d = ctx.dims(slot);
  bool same = p.rank() == d.rank();
  for (int i = 0; same && i < p.rank(); ++i) same = p[i] == d[i] || !BothKnown(p[i], d[i]);
  ENFORCE(same, InvalidArgument, name, " must have the shape of Param, ", p, ", got ", d);
  ENFORCE(ctx.dtype(slot) == ctx.dtype(param), Type, name, " must have the element type of Param, ",
          ctx.dtype(param), ", got ", ctx.dtype(slot));
}

inline bool IsScalar(const Dims& d) {
  return d.empty() || (d.rank() == 1 && (d[0] == 1 || d[0] < 0));
}

// A number in a tensor of shape [1] or [], of float32 or Param's type.
inline void CheckScalar(const InferContext& ctx, int param, int slot, const char* name) {
  ENFORCE(IsScalar(ctx.dims(slot)), InvalidArgument, name,
          " must hold one number, shape [1] or [], got ", ctx.dims(slot));
  DType type = ctx.dtype(slot);
  ENFORCE(type == DType::kFloat32 || type == ctx.dtype(param), Type, name,
          " must be of float32 or Param's type, ", ctx.dtype(param), ", got ", type);
}

// Elements of one row of a parameter whose gradient is selected rows.
inline int64_t RowWidth(const Tensor& param) {
  return param.dim(0) == 0 ? 0 : param.numel() / param.dim(0);
}

// Calls f(row of Param, row of the gradient, or nullptr where it has none) for every row, in
// parallel. `g` is merged: its rows are ascending and distinct.
template <class T, class F>
void ForEachRow(int64_t rows, int64_t width, const SelectedRows& g, F f) {
  const std::vector<int64_t>& list = g.rows();
  const T* values = list.empty() ? nullptr : g.value().data<T>();
  kernels::ParallelRows(rows, width * 4, [&](int64_t begin, int64_t end) {
    size_t at = std::lower_bound(list.begin(), list.end(), begin) - list.begin();
    for (int64_t r = begin; r < end; ++r) {
      bool has = at < list.size() && list[at] == r;
      f(r, has ? values + static_cast<int64_t>(at) * width : nullptr);
      at += has;
    }
  });
}

}  // namespace dygraph::optimizer
