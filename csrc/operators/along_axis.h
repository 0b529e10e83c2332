// take_along_axis and index_sample: single elements, each by its number along one axis.
#pragma once

#include "operators/indexing.h"

namespace dygraph::indexing {

// The element numbers that a call addresses: those of `index` along `axis` in an array of shape x,
// laid out as `shape`.
struct AlongPlan {
  Dims shape;
  std::vector<int64_t> positions;
};

// The shape that `index` addresses: its size along the axis; along the others that of x, where an
// index of 1 repeats.
inline Dims AlongDims(const Dims& x, const Dims& index, int axis, const char* x_name) {
  ENFORCE(index.rank() == x.rank(), InvalidArgument, "Index must have as many axes as ", x_name,
          " ", x, ", got ", index);
  Dims shape = index;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis) continue;
    if (index[i] == 1) shape[i] = x[i];
    if (!BothKnown(x[i], index[i])) continue;
    ENFORCE(shape[i] == x[i], InvalidArgument, "Index must have the sizes of ", x_name, " ", x,
            ", or 1, but along axis ", axis, ", got ", index);
  }
  return shape;
}

inline AlongPlan PlanAlong(const Tensor& index, const Dims& x, int axis, const char* x_name) {
  AlongPlan plan;
  plan.shape = AlongDims(x, index.dims(), axis, x_name);
  plan.positions = AlongAxis(index, "Index", x, plan.shape, axis, x_name);
  return plan;
}

inline kernels::RowShape Elements(const Dims& x) { return {1, Numel(x), 1}; }

inline void TakeAlong(const Tensor& x, const Tensor& index, int axis, const char* x_name,
                      Tensor* out) {
  AlongPlan plan = PlanAlong(index, x.dims(), axis, x_name);
  kernels::TakeRows(Elements(x.dims()), x.raw_data(), plan.positions.data(), out->numel(),
                    out->mutable_raw_data(), SizeOf(x.dtype()));
}

template <class T>
void AddAlong(const Tensor& g, const Tensor& index, int axis, const char* x_name, Tensor* out) {
  AlongPlan plan = PlanAlong(index, out->dims(), axis, x_name);
  ENFORCE(g.dims() == plan.shape, InvalidArgument, "the gradient must have the shape ", plan.shape,
          " of the forward call's output, got ", g.dims());
  Clear(out);
  kernels::AddRows(Elements(out->dims()), out->mutable_data<T>(), plan.positions.data(), g.numel(),
                   g.data<T>());
}

}  // namespace dygraph::indexing
