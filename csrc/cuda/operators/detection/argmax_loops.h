// operators/detection/argmax_loops.h on the device. Positions that are no pixels count as none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cuda/launch.h"
#include "kernels/table.h"

namespace dygraph::rois {

struct Taken {
  const int64_t* at;
  const std::vector<int64_t>& images;
  int64_t channels, bins, plane;
  int64_t regions() const { return static_cast<int64_t>(images.size()); }
};

// A thread for each pixel looks for the bins that took it, so that they add up in one order.
template <class T>
void SpreadTaken(const Taken& taken, const T* top, T* dx, int64_t n) {
  const int64_t channels = taken.channels, bins = taken.bins, plane = taken.plane;
  if (n == 0) return;
  std::vector<int64_t> first;  // region of each image
  for (int64_t i = 0; i <= n / (channels * plane); ++i)
    first.push_back(std::lower_bound(taken.images.begin(), taken.images.end(), i) -
                    taken.images.begin());
  kernels::Table<int64_t> table(first);
  const int64_t *begin = table.data(), *at = taken.at;
  cuda::EachIndex(n, [=] DYGRAPH_FN(int64_t i) {
    const int64_t pixel = i % plane, c = i / plane % channels, image = i / plane / channels;
    T sum = 0;
    for (int64_t r = begin[image]; r < begin[image + 1]; ++r) {
      const int64_t row = (r * channels + c) * bins;
      for (int64_t k = row; k < row + bins; ++k) {
        if (at[k] == pixel) sum += top[k];
      }
    }
    dx[i] = sum;
  });
}

template <class T>
void PickTaken(const Taken& taken, const T* v, T* to) {
  kernels::Table<int64_t> table(taken.images);
  const int64_t channels = taken.channels, bins = taken.bins, plane = taken.plane;
  const int64_t *image = table.data(), *at = taken.at;
  cuda::EachIndex(taken.regions() * channels * bins, [=] DYGRAPH_FN(int64_t k) {
    const int64_t c = k / bins % channels, r = k / bins / channels;
    const bool named = at[k] >= 0 && at[k] < plane;
    to[k] = named ? v[(image[r] * channels + c) * plane + at[k]] : T(0);
  });
}

}  // namespace dygraph::rois
