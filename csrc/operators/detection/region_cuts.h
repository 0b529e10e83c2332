// Regions cut into bins: the pixels of each bin along each axis, with their weights.
#pragma once

#include <cstdint>
#include <vector>

namespace dygraph::rois {

// The weights along one axis, bin after bin, region after region.
template <class T>
struct Axis {
  std::vector<int64_t> begin{0}, at;
  std::vector<T> weight;
  void Add(int64_t pixel, T w) {
    const auto first = static_cast<size_t>(begin.back());
    for (size_t k = at.size(); k > first && k + 2 > at.size(); --k) {
      if (at[k - 1] != pixel) continue;
      weight[k - 1] += w;
      return;
    }
    at.push_back(pixel);
    weight.push_back(w);
  }
  void EndBin() { begin.push_back(static_cast<int64_t>(at.size())); }
};

template <class T>
struct Cuts {
  Axis<T> rows, columns;
  std::vector<int64_t> images;             // of each region
  int64_t height, width, planes;           // of X
  int64_t bins_high, bins_wide, channels;  // of Out
  bool by_position = false;                // plane (c, i, j) of X for channel c, else plane c

  int64_t regions() const { return static_cast<int64_t>(images.size()); }
};

}  // namespace dygraph::rois
