// take_along_axis, put_along_axis and index_sample: single elements, each by its number along one
// axis.
#pragma once

#include "kernels/along.h"
#include "kernels/strided_copy.h"
#include "operators/index/along_shape.h"

namespace dygraph::indexing {

// Index errors name the first number outside.
inline void RequireInside(const Tensor& index, const Dims& x, int axis, const char* x_name) {
  const int64_t bound = x[axis];
  VisitIndices(index, "Index", [&](auto* v) {
    int64_t at = kernels::FirstOutside(v, index.numel(), bound);
    if (at == index.numel()) return;
    const int64_t got = v[at];
    Dims place = index.dims();
    for (int a = place.rank() - 1; a >= 0; --a) {
      const int64_t size = place[a];
      place[a] = at % size;
      at /= size;
    }
    THROW(OutOfRange, "Index must lie in [", -bound, ", ", bound, "), the size of axis ", axis,
          " of ", x_name, " ", x, ", got ", got, " at ", place);
  });
}

inline kernels::AlongShape AlongShapeOf(const Dims& x, const Dims& index, int axis) {
  return {Numel(x, 0, axis), x[axis], Numel(x, axis + 1, x.rank()), index[axis]};
}

// The index repeated to `shape`; the tensor itself where it has that shape.
inline Tensor RepeatedIndex(const Tensor& index, const Dims& shape) {
  if (index.dims() == shape) return index;
  Tensor full(shape, index.dtype(), index.place());
  Dims strides = Strides(index.dims());
  for (int a = 0; a < shape.rank(); ++a) strides[a] = index.dim(a) == 1 ? 0 : strides[a];
  if (full.numel() > 0)
    kernels::CopyStrided(shape, index.raw_data(), strides, full.mutable_raw_data(), Strides(shape),
                         SizeOf(index.dtype()));
  return full;
}

// The positions in x that a full index, which RequireInside has passed, addresses.
inline std::vector<int64_t> PositionsAlong(const Tensor& index, const Dims& x, int axis) {
  const Dims strides = Strides(x), shape = index.dims();
  std::vector<int64_t> at(index.numel());
  VisitIndices(index, "Index", [&](auto* v) {
    SmallVector<int64_t, 8> place(shape.size(), 0);
    int64_t base = 0;  // of the place, without the axis
    for (size_t i = 0; i < at.size(); ++i) {
      const int64_t number = v[i] < 0 ? v[i] + x[axis] : v[i];
      at[i] = base + number * strides[axis];
      for (int a = shape.rank() - 1; a >= 0; --a) {
        const int64_t stride = a == axis ? 0 : strides[a];
        base += stride;
        if (++place[a] < shape[a]) break;
        base -= stride * shape[a];
        place[a] = 0;
      }
    }
  });
  return at;
}

// out = the elements of input `x_slot` that input `index_slot` addresses.
inline void TakeAlong(KernelContext& ctx, int x_slot, int index_slot, int axis, Tensor* out) {
  const Tensor &x = ctx.In(x_slot), &index = ctx.In(index_slot);
  const char* x_name = ctx.call().op->inputs[x_slot].name.c_str();
  Tensor full = RepeatedIndex(index, AlongDims(x.dims(), index.dims(), axis, x_name));
  if (IsPart(full.dims(), x.dims(), axis)) {
    RequireInside(index, x.dims(), axis, x_name);
    std::vector<int64_t> at = PositionsAlong(full, x.dims(), axis);
    return kernels::TakeRows({1, x.numel(), 1}, x.raw_data(), at.data(), full.numel(),
                             out->mutable_raw_data(), SizeOf(x.dtype()));
  }
  bool inside = VisitIndices(full, "Index", [&](auto* v) {
    return kernels::TakeAlong(AlongShapeOf(x.dims(), full.dims(), axis), x.raw_data(), v,
                              out->mutable_raw_data(), SizeOf(x.dtype()));
  });
  if (!inside) RequireInside(index, x.dims(), axis, x_name);
}

// out = 0, and then input `grad_slot` is added where input `index_slot` took it from, which is the
// forward call's `x_slot`.
template <class T>
void AddAlong(KernelContext& ctx, int x_slot, int index_slot, int grad_slot, int axis,
              Tensor* out) {
  const Tensor &index = ctx.In(index_slot), &g = ctx.In(grad_slot);
  const char* x_name = ctx.call().op->inputs[x_slot].name.c_str();
  const Dims& x = out->dims();
  const Dims shape = AddedDims(g.dims(), x, index.dims(), axis, x_name);
  Tensor full = RepeatedIndex(index, shape);
  if (IsPart(shape, x, axis)) {
    RequireInside(index, x, axis, x_name);
    std::vector<int64_t> at = PositionsAlong(full, x, axis);
    Clear(out);
    return kernels::AddRows({1, out->numel(), 1}, out->mutable_data<T>(), at.data(), g.numel(),
                            g.data<T>());
  }
  bool inside = VisitIndices(full, "Index", [&](auto* v) {
    return kernels::AddAlong<T>(AlongShapeOf(x, shape, axis), nullptr, v, g.data<T>(),
                                out->mutable_data<T>());
  });
  if (!inside) RequireInside(index, x, axis, x_name);
}

}  // namespace dygraph::indexing
