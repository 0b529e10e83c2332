// The geometry of operators that cut images into patches: unfold, im2sequence.
#pragma once

#include "kernels/im2col.h"
#include "operators/conv/window.h"

namespace dygraph::patches {

// Paddings are [top, left, bottom, right]. Sizes that are unknown while a program is built stay -1
// in `h` and `w`.
struct Geometry {
  int64_t n, c;
  window::Axis h, w;
  int64_t Taps() const { return c < 0 ? -1 : c * h.kernel * w.kernel; }
  int64_t Count() const { return MulSizes(h.Out(), w.Out()); }  // patches of an image
  kernels::Im2ColShape Shape() const {
    kernels::Im2ColShape s;
    s.channels = c;
    s.height = h.size;
    s.width = w.size;
    s.kernel_h = h.kernel;
    s.kernel_w = w.kernel;
    s.stride_h = h.stride;
    s.stride_w = w.stride;
    s.top = h.before;
    s.bottom = h.after;
    s.left = w.before;
    s.right = w.after;
    s.dilation_h = h.dilation;
    s.dilation_w = w.dilation;
    return s;
  }
};

// Windows of one image along height and width: all, or those inside the size that Y gives.
struct Count {
  int64_t h, w;
};

inline Geometry Describe(const Dims& x, const char* kernel_name, const std::vector<int32_t>& kernel,
                         const std::vector<int32_t>& strides, const std::vector<int32_t>& paddings,
                         const std::vector<int32_t>& dilations) {
  ENFORCE(x.rank() == 4, InvalidArgument, "X must have 4 axes, NCHW, got shape ", x);
  window::CheckCount(kernel_name, kernel, 2);
  window::CheckCount("strides", strides, 2);
  window::CheckCount("dilations", dilations, 2);
  ENFORCE(paddings.size() == 4, InvalidArgument,
          "paddings must be [top, left, bottom, right], got ", paddings.size(), " numbers");
  Geometry g = {x[0], x[1], {}, {}};
  for (int i = 0; i < 2; ++i) {
    window::Axis& axis = i == 0 ? g.h : g.w;
    axis = {x[2 + i], kernel[i], strides[i], dilations[i], paddings[i], paddings[2 + i]};
    window::CheckAxis(window::AxisName(i, 2), axis);
  }
  return g;
}

}  // namespace dygraph::patches
