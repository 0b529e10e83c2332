// kernels/pool_volume.h on the device.
#pragma once

#include "kernels/pool_grid.h"
#include "kernels/positions.h"

namespace dygraph::kernels {

template <class T>
void MaxPoolVolume(const T* x, const PoolVolume& s, T* y, int32_t* at) {
  detail::PoolMax(x, detail::PoolGrid(s), y, at);
}
template <class T>
void AvgPoolVolume(const T* x, const PoolVolume& s, T* y) {
  detail::PoolAverage(x, detail::PoolGrid(s), y);
}
template <class T>
void AvgPoolVolumeBackward(const T* dy, const PoolVolume& s, T* dx) {
  detail::PoolSpread(dy, detail::PoolGrid(s), dx);
}

template <class T>
void ScatterVolume(const T* dy, const int32_t* at, const PoolVolume& s, T* dx) {
  detail::PoolScatter(dy, at, detail::PoolGrid(s), dx);
}
// Positions from outside may lie beyond their windows: those are added in an order of their own.
template <class T>
void ScatterVolume(const T* dy, const Positions& at, const PoolVolume& s, T* dx) {
  const detail::PoolGrid g(s);
  detail::PoolScatter(dy, at, g, dx);
  cuda::EachIndex(g.out.Size(), [=] DYGRAPH_FN(int64_t i) {
    const int64_t pixel = at[i];
    if (pixel < 0) return;
    const detail::PoolOrder::Place o = g.out.Of(i);
    const int64_t row = pixel / g.in.w;
    const bool inside = detail::Covers(g.d.At(o.z), row / g.in.h) &&
                        detail::Covers(g.h.At(o.y), row % g.in.h) &&
                        detail::Covers(g.w.At(o.x), pixel % g.in.w);
    if (!inside) atomicAdd(&dx[g.in.Element(o, pixel)], dy[i]);
  });
}
template <class T, class At>
void GatherVolume(const T* x, const At& at, const PoolVolume& s, T* y) {
  detail::PoolGather(x, at, detail::PoolGrid(s), y);
}

}  // namespace dygraph::kernels
