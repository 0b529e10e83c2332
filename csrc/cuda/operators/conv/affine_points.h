// operators/conv/affine_points.h on the device: a thread for each number of the grid, a team for
// each number of a gradient.
#pragma once

#include "kernels/loops.h"
#include "operators/conv/affine_place.h"
#include "tensor/dims.h"

namespace dygraph::affine {

// Numbers of the points of a grid: x, y, z and 1, or x, y and 1.
struct Points {
  int axes;
  int64_t sizes[3] = {1, 1, 1}, count = 1;  // sizes: of x, y, z
  bool corners;
  Points(const Dims& grid, bool corners) : axes(grid.rank() - 2), corners(corners) {
    for (int k = 0; k < axes; ++k) count *= sizes[k] = grid[axes - k];
  }
  DYGRAPH_INLINE double At(int64_t p, int k) const {
    if (k == axes) return 1;
    for (int i = 0; i < k; ++i) p /= sizes[i];
    return PlaceOf(p % sizes[k], sizes[k], corners);
  }
};

template <class T>
void Grid(const T* theta, const Dims& dims, bool corners, T* to) {
  const Points points(dims, corners);
  const int axes = points.axes;
  kernels::ForEach(dims[0] * points.count * axes, [=] DYGRAPH_FN(int64_t at) {
    const int64_t p = at / axes;
    const T* row = theta + (p / points.count * axes + at % axes) * (axes + 1);
    T sum = row[0] * static_cast<T>(points.At(p % points.count, 0));
    for (int k = 1; k <= axes; ++k)
      sum += row[k] * static_cast<T>(points.At(p % points.count, k));
    to[at] = sum;
  });
}

template <class T>
void GridBackward(const T* from, const Dims& dims, bool corners, T* to) {
  const Points points(dims, corners);
  const int axes = points.axes;
  kernels::ForEachRow(
      dims[0] * axes * (axes + 1), points.count, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
        const int k = static_cast<int>(r % (axes + 1));
        const int64_t row = r / (axes + 1), n = row / axes, i = row % axes;
        const double sum = team.template Sum<double>(points.count, [=](int64_t p) {
          return static_cast<double>(from[(n * points.count + p) * axes + i]) * points.At(p, k);
        });
        team.Once([=] { to[r] = static_cast<T>(sum); });
      });
}

}  // namespace dygraph::affine
