// What the operators of YOLO heads share.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/math.h"
#include "kernels/parallel.h"
#include "operators/arguments.h"

namespace dygraph::yolo {

inline void CheckAnchors(const std::vector<int32_t>& anchors) {
  ENFORCE(!anchors.empty() && anchors.size() % 2 == 0, InvalidArgument,
          "anchors must hold a width and a height for each anchor, got ", anchors.size(),
          " numbers");
}

// X holds `entries` channels for each of `count` anchors.
inline void CheckX(const Dims& x, int64_t count, int64_t entries, const char* which) {
  ENFORCE(x.rank() == 4 && (x[1] == count * entries || x[1] < 0), InvalidArgument,
          "X must be [N, channels, H, W] with ", count * entries, " channels, ", entries,
          " for each of the ", count, " (", which, "), got shape ", x);
}

}  // namespace dygraph::yolo
