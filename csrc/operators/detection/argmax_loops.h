// Pixels that the bins of regions name, one for each channel: the gradients of roi_pool.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/enforce.h"
#include "kernels/parallel.h"

namespace dygraph::rois {

// Which pixel each bin took, [regions, channels, bins], -1 for none, of planes of so many pixels.
struct Taken {
  const int64_t* at;
  const std::vector<int64_t>& images;  // of each region, ascending
  int64_t channels, bins, plane;
  int64_t regions() const { return static_cast<int64_t>(images.size()); }
};

// Calls f(position in Out, position in X) for every bin with a pixel, channel by channel.
template <class F>
void ForPixels(const Taken& u, const F& f) {
  for (int64_t i = 0; i < u.regions() * u.channels * u.bins; ++i) {
    ENFORCE(u.at[i] >= -1 && u.at[i] < u.plane, OutOfRange, "Argmax must hold pixels in [-1, ",
            u.plane, "), got ", u.at[i]);
  }
  kernels::ParallelRows(u.channels, u.regions() * u.bins * 4, [=, &u](int64_t first, int64_t last) {
    for (int64_t c = first; c < last; ++c) {
      for (int64_t r = 0; r < u.regions(); ++r) {
        const int64_t row = r * u.channels + c;
        for (int64_t k = row * u.bins; k < (row + 1) * u.bins; ++k) {
          if (u.at[k] >= 0) f(k, (u.images[r] * u.channels + c) * u.plane + u.at[k]);
        }
      }
    }
  });
}

// dx, of n numbers, gets at each pixel the sum of what arrives at the bins that took it.
template <class T>
void SpreadTaken(const Taken& taken, const T* top, T* dx, int64_t n) {
  std::fill_n(dx, n, T(0));
  ForPixels(taken, [=](int64_t k, int64_t at) { dx[at] += top[k]; });
}

// Each bin gets the pixel of v that it took, 0 for none.
template <class T>
void PickTaken(const Taken& taken, const T* v, T* to) {
  std::fill_n(to, taken.regions() * taken.channels * taken.bins, T(0));
  ForPixels(taken, [=](int64_t k, int64_t at) { to[k] = v[at]; });
}

}  // namespace dygraph::rois
