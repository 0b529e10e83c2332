// kernels/pool.h on the device.
#pragma once

#include "kernels/pool_grid.h"

namespace dygraph::kernels {

template <class T>
void MaxPool(const T* x, const PoolShape& shape, T* y, int32_t* index = nullptr) {
  detail::PoolMax(x, detail::PoolGrid(shape), y, index);
}
template <class T>
void MaxPoolBackward(const T* x, const T* dy, const PoolShape& shape, T* dx) {
  const detail::PoolGrid grid(shape);
  cuda::Workspace<int32_t> at(grid.out.Size());
  detail::PoolMax<T>(x, grid, nullptr, at.data());
  detail::PoolScatter(dy, static_cast<const int32_t*>(at.data()), grid, dx);
}
template <class T>
void MaxPoolGather(const T* x, const int32_t* index, const PoolShape& shape, T* y) {
  detail::PoolGather(x, index, detail::PoolGrid(shape), y);
}
template <class T>
void AvgPool(const T* x, const PoolShape& shape, T* y) {
  detail::PoolAverage(x, detail::PoolGrid(shape), y);
}
template <class T>
void AvgPoolBackward(const T* dy, const PoolShape& shape, T* dx) {
  detail::PoolSpread(dy, detail::PoolGrid(shape), dx);
}

}  // namespace dygraph::kernels
