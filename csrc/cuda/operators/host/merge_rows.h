// operators/host/merge_rows.h on the device, where the values stay.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/elementwise.h"
#include "kernels/touched_rows.h"
#include "tensor/selected_rows.h"

namespace dygraph::selected_rows {

template <class T>
Ref<SelectedRows> Merge(const SelectedRows& x) {
  std::vector<int64_t> distinct = x.rows(), places;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (int64_t row : x.rows())
    places.push_back(std::lower_bound(distinct.begin(), distinct.end(), row) - distinct.begin());
  Dims dims = x.value().dims();
  dims[0] = static_cast<int64_t>(distinct.size());
  Tensor merged(dims, x.value().dtype(), x.value().place());
  if (merged.numel() > 0) {
    const T* from = x.value().data<T>();
    T* to = merged.mutable_data<T>();
    const int64_t width = merged.numel() / dims[0];
    kernels::Fill(to, merged.numel(), T(0));
    kernels::ForEachTouched<T>(places.data(), static_cast<int64_t>(places.size()), width,
                               [=] DYGRAPH_FN(int64_t row, int64_t i, int64_t k) {
                                 to[row * width + k] += from[i * width + k];
                               });
  }
  return MakeRef<SelectedRows>(std::move(distinct), x.height(), std::move(merged));
}

}  // namespace dygraph::selected_rows
