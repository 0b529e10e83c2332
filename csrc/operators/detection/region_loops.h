// Weighted sums over the pixels of bins, and their transpose.
#pragma once

#include <algorithm>

#include "kernels/parallel.h"
#include "operators/detection/region_cuts.h"

namespace dygraph::rois {

template <class T>
class RegionLoops {
 public:
  explicit RegionLoops(const Cuts<T>& cuts) : cuts_(cuts) {}

  void Pool(const T* x, T* out) const {
    const Cuts<T>& u = cuts_;
    kernels::ParallelRows(u.regions() * u.channels, Cost(), [=, &u](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k) {
        const int64_t r = k / u.channels, c = k % u.channels;
        T* to = out + k * u.bins_high * u.bins_wide;
        for (int64_t i = 0; i < u.bins_high; ++i) {
          for (int64_t j = 0; j < u.bins_wide; ++j) *to++ = Sum(x + Plane(r, c, i, j), r, i, j);
        }
      }
    });
  }
  // The transpose of Pool(); dx has n numbers.
  void Spread(const T* top, T* dx, int64_t n) const {
    const Cuts<T>& u = cuts_;
    std::fill_n(dx, n, T(0));
    const int64_t bins = u.bins_high * u.bins_wide;
    kernels::ParallelRows(u.channels, u.regions() * Cost(), [=, &u](int64_t first, int64_t last) {
      for (int64_t c = first; c < last; ++c) {
        for (int64_t r = 0; r < u.regions(); ++r) {
          const T* from = top + (r * u.channels + c) * bins;
          for (int64_t i = 0; i < u.bins_high; ++i) {
            for (int64_t j = 0; j < u.bins_wide; ++j)
              Give(dx + Plane(r, c, i, j), r, i, j, *from++);
          }
        }
      }
    });
  }

 private:
  int64_t Cost() const {  // of a channel of a region
    const int64_t bins = std::max<int64_t>(cuts_.bins_high * cuts_.bins_wide, 1);
    const int64_t r = std::max<int64_t>(cuts_.regions(), 1);
    auto high = static_cast<int64_t>(cuts_.rows.at.size()) / r + 1;
    auto wide = static_cast<int64_t>(cuts_.columns.at.size()) / r + 1;
    return 2 * high * wide + 4 * bins;
  }
  int64_t Plane(int64_t r, int64_t c, int64_t i, int64_t j) const {
    const int64_t plane = cuts_.by_position ? (c * cuts_.bins_high + i) * cuts_.bins_wide + j : c;
    return (cuts_.images[r] * cuts_.planes + plane) * cuts_.height * cuts_.width;
  }
  T Sum(const T* plane, int64_t r, int64_t i, int64_t j) const {
    const Axis<T>&rows = cuts_.rows, &columns = cuts_.columns;
    const int64_t *y = &rows.begin[r * cuts_.bins_high + i],
                  *x = &columns.begin[r * cuts_.bins_wide + j];
    T sum = 0;
    for (int64_t a = y[0]; a < y[1]; ++a) {
      const T* line = plane + rows.at[a] * cuts_.width;
      T along = 0;
      for (int64_t b = x[0]; b < x[1]; ++b) along += columns.weight[b] * line[columns.at[b]];
      sum += rows.weight[a] * along;
    }
    return sum;
  }
  void Give(T* plane, int64_t r, int64_t i, int64_t j, T g) const {
    const Axis<T>&rows = cuts_.rows, &columns = cuts_.columns;
    const int64_t *y = &rows.begin[r * cuts_.bins_high + i],
                  *x = &columns.begin[r * cuts_.bins_wide + j];
    for (int64_t a = y[0]; a < y[1]; ++a) {
      T *line = plane + rows.at[a] * cuts_.width, share = rows.weight[a] * g;
      for (int64_t b = x[0]; b < x[1]; ++b) line[columns.at[b]] += columns.weight[b] * share;
    }
  }

  const Cuts<T>& cuts_;
};

// to[r * step] = the sum over row r of x[i] * y[i]; rows have n numbers.
template <class T>
void RegionDots(const T* x, const T* y, int64_t rows, int64_t n, T* to, int64_t step) {
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t k = r * n; k < (r + 1) * n; ++k)
      sum += static_cast<double>(x[k]) * static_cast<double>(y[k]);
    to[r * step] = static_cast<T>(sum);
  }
}

}  // namespace dygraph::rois
