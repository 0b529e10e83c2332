// The loops of affine_grid.
#pragma once

#include <vector>

#include "operators/conv/affine_place.h"
#include "tensor/dims.h"

namespace dygraph::affine {

// The places of a grid along its axes: x, y and, in volumes, z.
struct Places {
  int axes;
  int64_t points = 1;  // of an image
  std::vector<double> at[3];

  Places(const Dims& grid, bool corners) : axes(grid.rank() - 2) {
    for (int k = 0; k < axes; ++k) {
      int64_t n = grid[axes - k];
      points *= n;
      for (int64_t i = 0; i < n; ++i) {
        at[k].push_back(PlaceOf(i, n, corners));
      }
    }
    if (axes == 2) at[2].push_back(0);
  }

  // Calls f(base) for every point of an image, row by row; base ends with 1.
  template <class F>
  void ForEach(const F& f) const {
    double base[4] = {0, 0, 0, 1};
    double& one = base[axes];
    for (double z : at[2]) {
      for (double y : at[1]) {
        for (double x : at[0]) {
          base[0] = x;
          base[1] = y;
          base[2] = z;
          one = 1;
          f(base);
        }
      }
    }
  }
};

// The grid, [n, ..., axes], of matrices theta.
template <class T>
void Grid(const T* theta, const Dims& dims, bool corners, T* to) {
  const Places places(dims, corners);
  const int axes = places.axes;
  for (int64_t n = 0; n < dims[0]; ++n, theta += axes * (axes + 1)) {
    places.ForEach([&](const double* base) {
      for (int i = 0; i < axes; ++i) {
        T sum = theta[i * (axes + 1)] * static_cast<T>(base[0]);
        for (int k = 1; k <= axes; ++k) sum += theta[i * (axes + 1) + k] * static_cast<T>(base[k]);
        *to++ = sum;
      }
    });
  }
}

template <class T>
void GridBackward(const T* from, const Dims& dims, bool corners, T* to) {
  const Places places(dims, corners);
  const int axes = places.axes;
  for (int64_t n = 0; n < dims[0]; ++n) {
    double sums[12] = {};
    places.ForEach([&](const double* base) {
      for (int i = 0; i < axes; ++i, ++from) {
        for (int k = 0; k <= axes; ++k)
          sums[i * (axes + 1) + k] += static_cast<double>(*from) * base[k];
      }
    });
    for (int i = 0; i < axes * (axes + 1); ++i) *to++ = static_cast<T>(sums[i]);
  }
}

}  // namespace dygraph::affine
