// operators/detection/region_loops.h on the device: a thread for each bin forward, for each pixel
// backward, so that what a pixel gets is added in one order.
#pragma once

#include <algorithm>
#include <vector>

#include "cuda/launch.h"
#include "kernels/loops.h"
#include "kernels/table.h"
#include "operators/detection/region_cuts.h"

namespace dygraph::rois {

namespace detail {
template <class T>
struct AxisView {
  const int64_t *begin, *at;
  const T* weight;
};
struct CutShape {
  int64_t high, wide, channels, planes, width, area;
  bool by_position;
};
// The pixels that a region covers.
struct Extent {
  int64_t y0, y1, x0, x1;
};
template <class T>
struct AxisTables {
  explicit AxisTables(const Axis<T>& axis) : begin(axis.begin), at(axis.at), weight(axis.weight) {}
  AxisView<T> View() { return {begin.data(), at.data(), weight.data()}; }
  kernels::Table<int64_t> begin, at;
  kernels::Table<T> weight;
};
// The lowest pixel of region r along an axis, and the one behind the highest.
template <class T>
void RangeOf(const Axis<T>& axis, int64_t r, int64_t bins, int64_t* low, int64_t* high) {
  const int64_t begin = axis.begin[r * bins], end = axis.begin[(r + 1) * bins];
  *low = *high = 0;
  for (int64_t k = begin; k < end; ++k) {
    *low = k == begin ? axis.at[k] : std::min(*low, axis.at[k]);
    *high = std::max(*high, axis.at[k] + 1);
  }
}
}  // namespace detail

template <class T>
class RegionLoops {
 public:
  explicit RegionLoops(const Cuts<T>& cuts)
      : cuts_(cuts), rows_(cuts.rows), columns_(cuts.columns), images_(cuts.images) {}

  void Pool(const T* x, T* out) {
    const detail::CutShape s = ShapeOf();
    const detail::AxisView<T> rows = rows_.View(), columns = columns_.View();
    const int64_t *image = images_.data(), bins = s.high * s.wide;
    cuda::ForEach(cuts_.regions() * s.channels * bins, [=] DYGRAPH_FN(int64_t k) {
      const int64_t bin = k % bins, c = k / bins % s.channels, r = k / bins / s.channels;
      const int64_t *y = rows.begin + r * s.high + bin / s.wide,
                    *across = columns.begin + r * s.wide + bin % s.wide;
      const T* plane = x + (image[r] * s.planes + (s.by_position ? c * bins + bin : c)) * s.area;
      T sum = 0;
      for (int64_t a = y[0]; a < y[1]; ++a) {
        const T* line = plane + rows.at[a] * s.width;
        T along = 0;
        for (int64_t b = across[0]; b < across[1]; ++b)
          along += columns.weight[b] * line[columns.at[b]];
        sum += rows.weight[a] * along;
      }
      out[k] = sum;
    });
  }

  void Spread(const T* top, T* dx, int64_t n) {
    const detail::CutShape s = ShapeOf();
    const int64_t regions = cuts_.regions();
    std::vector<int64_t> first(static_cast<size_t>(n / std::max<int64_t>(s.planes * s.area, 1)) +
                               1);
    for (size_t i = 0; i < first.size(); ++i)
      first[i] =
          std::lower_bound(cuts_.images.begin(), cuts_.images.end(), static_cast<int64_t>(i)) -
          cuts_.images.begin();
    std::vector<detail::Extent> extents(static_cast<size_t>(regions));
    for (int64_t r = 0; r < regions; ++r) {
      detail::Extent& e = extents[static_cast<size_t>(r)];
      detail::RangeOf(cuts_.rows, r, s.high, &e.y0, &e.y1);
      detail::RangeOf(cuts_.columns, r, s.wide, &e.x0, &e.x1);
    }
    kernels::Table<int64_t> first_table(first);
    kernels::Table<detail::Extent> extent_table(extents);
    const int64_t* begin_of = first_table.data();
    const detail::Extent* extent = extent_table.data();
    const detail::AxisView<T> rows = rows_.View(), columns = columns_.View();
    const int64_t bins = s.high * s.wide;
    cuda::ForEach(n, [=] DYGRAPH_FN(int64_t at) {
      const int64_t px = at % s.width, py = at % s.area / s.width;
      const int64_t plane = at / s.area % s.planes, image = at / s.area / s.planes;
      const int64_t c = s.by_position ? plane / bins : plane;
      const int64_t only = s.by_position ? plane % bins : -1;
      T sum = 0;
      for (int64_t r = begin_of[image]; r < begin_of[image + 1]; ++r) {
        const detail::Extent e = extent[r];
        if (py < e.y0 || py >= e.y1 || px < e.x0 || px >= e.x1) continue;
        const T* from = top + (r * s.channels + c) * bins;
        for (int64_t i = 0; i < s.high; ++i) {
          if (only >= 0 && only / s.wide != i) continue;
          const int64_t* y = rows.begin + r * s.high + i;
          T high = 0;
          for (int64_t a = y[0]; a < y[1]; ++a) high += rows.at[a] == py ? rows.weight[a] : T(0);
          if (high == 0) continue;
          for (int64_t j = 0; j < s.wide; ++j) {
            if (only >= 0 && only % s.wide != j) continue;
            const int64_t* across = columns.begin + r * s.wide + j;
            T wide = 0;
            for (int64_t b = across[0]; b < across[1]; ++b)
              wide += columns.at[b] == px ? columns.weight[b] : T(0);
            sum += wide * (high * from[i * s.wide + j]);
          }
        }
      }
      dx[at] = sum;
    });
  }

 private:
  detail::CutShape ShapeOf() const {
    return {cuts_.bins_high,  cuts_.bins_wide, cuts_.channels,
            cuts_.planes,     cuts_.width,     cuts_.height * cuts_.width,
            cuts_.by_position};
  }

  const Cuts<T>& cuts_;
  detail::AxisTables<T> rows_, columns_;
  kernels::Table<int64_t> images_;
};

// to[r * step] = the sum over row r of x[i] * y[i]; rows have n numbers.
template <class T>
void RegionDots(const T* x, const T* y, int64_t rows, int64_t n, T* to, int64_t step) {
  kernels::ForEachRow(rows, n, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
    const T *a = x + r * n, *b = y + r * n;
    const double sum = team.Sum<double>(
        n, [=](int64_t k) { return static_cast<double>(a[k]) * static_cast<double>(b[k]); });
    team.Once([=] { to[r * step] = static_cast<T>(sum); });
  });
}

}  // namespace dygraph::rois
