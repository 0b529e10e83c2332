// What is pooled.
#pragma once

#include "kernels/pool_window.h"

namespace dygraph::kernels {

// `images` planes of h.in x w.in pixels with `channels` values each: (n * c, 1) for NCHW, (n, c)
// for NHWC.
struct PoolShape {
  int64_t images, channels;
  PoolAxis h, w;
  int64_t InPixels() const { return h.in * w.in; }
  int64_t OutPixels() const { return h.out() * w.out(); }
};

struct PoolVolume {
  int64_t volumes;
  PoolAxis d, h, w;
  int64_t In() const { return d.in * h.in * w.in; }
  int64_t Out() const { return d.out() * h.out() * w.out(); }
};

}  // namespace dygraph::kernels
