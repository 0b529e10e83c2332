// unique, unique_with_counts and unique_consecutive: groups of equal elements or slices.
#pragma once

#include <vector>

#include "operators/reduce/sorting.h"

namespace dygraph::groups {

inline void CheckNumbers(DType dtype) {
  ENFORCE(dtype == DType::kInt32 || dtype == DType::kInt64, Type,
          "the attribute dtype must be int32 or int64, got ", dtype);
}

inline void Write(KernelContext& ctx, int slot, const std::vector<int64_t>& values, DType dtype) {
  Tensor* out = ctx.OutOrNull(slot);
  if (!out) return;
  out->Allocate({static_cast<int64_t>(values.size())}, dtype, ctx.place());
  VisitDType(dtype, [&](auto tag) {
    using U = typename decltype(tag)::type;
    U* to = out->mutable_data<U>();
    for (size_t i = 0; i < values.size(); ++i) to[i] = static_cast<U>(values[i]);
  });
}

// The groups of equal rows: where each group has its first, each row its group.
struct Groups {
  std::vector<int64_t> first, index, counts;
  // The group of row i is a new one where `group` is the number of groups.
  void Add(int64_t i, int64_t group) {
    if (group == static_cast<int64_t>(first.size())) {
      first.push_back(i);
      counts.push_back(0);
    }
    ++counts[group];
    index[i] = group;
  }
};

// -1, 0, 1; a NaN is the greatest and equals a NaN.
template <class T>
int Compare(T a, T b) {
  if (a < b) return -1;
  if (b < a) return 1;
  return a == b ? 0 : (a != a) - (b != b);
}

inline void RequireWidth(DType dtype, int64_t n) {
  ENFORCE(dtype == DType::kInt64 || n <= INT32_MAX, OutOfRange, "X of ", n,
          " elements needs dtype int64, got int32");
}

// Out = the first row of each group.
template <class T>
void WriteFirst(KernelContext& ctx, int slot, const Tensor& x, const Groups& groups, int axis) {
  Tensor* out = ctx.OutOrNull(slot);
  if (!out) return;
  const int64_t count = static_cast<int64_t>(groups.first.size());
  Dims dims{count};
  int64_t outer = 1, n = x.numel(), inner = 1;
  if (axis >= 0) {
    dims = x.dims();
    dims[axis] = count;
    outer = Numel(x.dims(), 0, axis), n = x.dim(axis);
    inner = Numel(x.dims(), axis + 1, x.rank());
  }
  out->Allocate(dims, x.dtype(), ctx.place());
  const T* from = x.data<T>();
  T* to = out->mutable_data<T>();
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t g = 0; g < count; ++g)
      to = std::copy_n(from + (o * n + groups.first[g]) * inner, inner, to);
  }
}

}  // namespace dygraph::groups
