// The geometry of sliding windows that convolution and pooling share: strides, paddings and their
// algorithms.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "op/op_registry.h"

namespace dygraph::window {

// One axis. `size` and what follows from it may be -1 while a program is built.
struct Axis {
  int64_t size = 0, kernel = 1, stride = 1, dilation = 1;
  int64_t before = 0, after = 0;  // padding
  int64_t Reach() const { return dilation * (kernel - 1) + 1; }
  int64_t Padded() const { return size + before + after; }
  int64_t Out(bool ceil_mode = false) const {
    if (size < 0 || kernel < 0) return -1;
    return (Padded() - Reach() + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  }
};

// The words for 2 axes (height, width) or 3 (depth, height, width).
inline const char* AxisName(int i, int axes) {
  const char* names[] = {"depth", "height", "width"};
  return names[i + 3 - axes];
}
inline const char* AxisNames(int axes) {
  return axes == 2 ? "height, width" : "depth, height, width";
}

// Paddings as attributes give them: one for each axis, or two ([top, bottom, left, right]);
// replaced where the algorithm is SAME (as many outputs as size / stride rounded up, the odd pixel
// behind; dilations are 1 then, whatever the attribute says, as in Fluid and Paddle) or VALID
// (none).
inline void SetPaddings(const std::vector<int32_t>& paddings, const std::string& algorithm,
                        Axis* axes, int count) {
  if (algorithm == "VALID") return;
  if (algorithm == "SAME") {
    for (int i = 0; i < count; ++i) {
      Axis* a = axes + i;
      a->dilation = 1;
      if (a->size < 0) continue;
      int64_t outputs = (a->size + a->stride - 1) / a->stride;
      int64_t sum = std::max<int64_t>((outputs - 1) * a->stride + a->Reach() - a->size, 0);
      a->before = sum / 2;
      a->after = sum - a->before;
    }
    return;
  }
  int given = static_cast<int>(paddings.size());
  ENFORCE(given == count || given == 2 * count, InvalidArgument, "paddings must be [",
          AxisNames(count), "] or ",
          count == 2 ? "[top, bottom, left, right]" : "[front, back, top, bottom, left, right]",
          ", got ", given, " numbers");
  for (int i = 0; i < count; ++i) {
    axes[i].before = given == count ? paddings[i] : paddings[2 * i];
    axes[i].after = given == count ? paddings[i] : paddings[2 * i + 1];
  }
}

inline void CheckAxis(const char* name, const Axis& a) {
  ENFORCE(a.size < 0 || a.Padded() >= a.Reach(), InvalidArgument,
          "the window must fit into the padded input along the ", name, ", got a window over ",
          a.Reach(), " of ", a.size, " + ", a.before, " + ", a.after,
          ". Take a smaller window, or pad more");
}

inline void CheckCount(const char* name, const std::vector<int32_t>& list, int axes) {
  ENFORCE(static_cast<int>(list.size()) == axes, InvalidArgument, name, " must hold ",
          axes == 2 ? "two" : "three", " numbers, for ",
          axes == 2 ? "height and width" : "depth, height and width", ", got ", list.size());
}

// NCHW or NCDHW sizes of a tensor whose data_format may say otherwise; `first` is its first axis in
// space.
struct ImageDims {
  int64_t n, c;
  int first;
  ImageDims(const Dims& d, bool channels_last)
      : n(d[0]), c(channels_last ? d.back() : d[1]), first(channels_last ? 1 : 2) {}
};
inline Dims MakeImageDims(int64_t n, int64_t c, const Axis* axes, int count, bool channels_last) {
  Dims d = {n};
  if (!channels_last) d.push_back(c);
  for (int i = 0; i < count; ++i) d.push_back(axes[i].size);
  if (channels_last) d.push_back(c);
  return d;
}

}  // namespace dygraph::window
