// Where the patches of a convolution lie: one image of NCHW (or one group of its channels), or of
// NCDHW. And the sizes of a whole convolution.
#pragma once

#include <cstdint>

namespace dygraph::kernels {

struct Im2ColShape {
  int64_t channels, height, width;
  int64_t kernel_h, kernel_w;
  int64_t stride_h = 1, stride_w = 1;
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t depth = 1, kernel_d = 1, stride_d = 1, front = 0, back = 0, dilation_d = 1;
  int64_t Taps() const { return kernel_d * kernel_h * kernel_w; }
  int64_t OutDepth() const {
    return (depth + front + back - (dilation_d * (kernel_d - 1) + 1)) / stride_d + 1;
  }
  int64_t OutHeight() const {
    return (height + top + bottom - (dilation_h * (kernel_h - 1) + 1)) / stride_h + 1;
  }
  int64_t OutWidth() const {
    return (width + left + right - (dilation_w * (kernel_w - 1) + 1)) / stride_w + 1;
  }
};

struct ConvShape {
  Im2ColShape patch;                                    // of one group
  int64_t n = 0, groups = 1, out_c = 0;                 // out_c: of one group
  int64_t in_size = 0, out_size = 0;                    // of one group of an image
  int64_t taps = 0, planes = 0, plane = 0, pixels = 0;  // outputs: planes of `plane` pixels
  bool direct = false;                                  // a 1x1 window is its own patch matrix
  bool channels_last = false;                           // only where kConvTakesChannelsLast

  // Sets what follows from patch, n, groups and out_c.
  void Complete() {
    in_size = patch.channels * patch.depth * patch.height * patch.width;
    planes = patch.OutDepth();
    plane = patch.OutHeight() * patch.OutWidth();
    pixels = planes * plane;
    out_size = out_c * pixels;
    taps = patch.channels * patch.Taps();
    direct = pixels == patch.depth * patch.height * patch.width && patch.Taps() == 1 &&
             patch.front == 0 && patch.top == 0 && patch.left == 0;
  }
  int64_t Work() const { return out_size * taps; }
  int64_t ColSize() const { return direct ? 0 : taps * plane; }
  // Calls body(first output pixel, pixels, plane) for each product.
  template <class Body>
  void ForPlanes(const Body& body) const {
    if (direct) return body(int64_t{0}, pixels, int64_t{0});
    for (int64_t d = 0; d < planes; ++d) body(d * plane, plane, d);
  }
};

}  // namespace dygraph::kernels
