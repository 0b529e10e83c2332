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

// Paddings as attributes give them: [h, w] or [top, bottom, left, right]; replaced where the
// algorithm is SAME (as many outputs as size / stride rounded up, the odd pixel behind) or VALID
// (none).
inline void SetPaddings(const std::vector<int32_t>& paddings, const std::string& algorithm, Axis* h,
                        Axis* w) {
  if (algorithm == "VALID") return;
  if (algorithm == "SAME") {
    for (Axis* a : {h, w}) {
      if (a->size < 0) continue;
      int64_t outputs = (a->size + a->stride - 1) / a->stride;
      int64_t sum = std::max<int64_t>((outputs - 1) * a->stride + a->Reach() - a->size, 0);
      a->before = sum / 2;
      a->after = sum - a->before;
    }
    return;
  }
  ENFORCE(paddings.size() == 2 || paddings.size() == 4, InvalidArgument,
          "paddings must be [height, width] or [top, bottom, left, right], got ", paddings.size(),
          " numbers");
  bool four = paddings.size() == 4;
  h->before = paddings[0];
  h->after = four ? paddings[1] : paddings[0];
  w->before = four ? paddings[2] : paddings[1];
  w->after = four ? paddings[3] : paddings[1];
}

inline void CheckAxis(const char* name, const Axis& a) {
  ENFORCE(a.size < 0 || a.Padded() >= a.Reach(), InvalidArgument,
          "the window must fit into the padded input along the ", name, ", got a window over ",
          a.Reach(), " of ", a.size, " + ", a.before, " + ", a.after);
}

inline void CheckPair(const char* name, const std::vector<int32_t>& pair) {
  ENFORCE(pair.size() == 2, InvalidArgument, name,
          " must hold two numbers, for height and width, got ", pair.size());
}

// NCHW sizes of an image tensor whose data_format may say otherwise.
struct ImageDims {
  int64_t n, c, h, w;
  ImageDims(const Dims& d, bool channels_last)
      : n(d[0]),
        c(channels_last ? d[3] : d[1]),
        h(channels_last ? d[1] : d[2]),
        w(channels_last ? d[2] : d[3]) {}
};
inline Dims MakeImageDims(int64_t n, int64_t c, int64_t h, int64_t w, bool channels_last) {
  return channels_last ? Dims{n, h, w, c} : Dims{n, c, h, w};
}

}  // namespace dygraph::window
