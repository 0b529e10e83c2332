// Convolution of a small image without its matrix of patches: every tap reads the padded image
// where it lies, whole vectors of pixels at a time, for several output channels.
#pragma once

#include "kernels/im2col.h"

namespace dygraph::kernels {

// Whether ConvDirect takes this window and was measured to be faster than a product of matrices:
// steps of 1, more than one tap, and few of the pixels it works on outside the result.
bool ConvDirectPays(const Im2ColShape& s, int64_t out_c);

// y [n, out_c, out_h, out_w] = conv(x, filter) (+ bias) (+ residual); these two may be null. Every
// element is summed in the order of the filter, so the bits depend neither on the threads nor on
// the number of images. T: float, double.
template <class T>
void ConvDirect(const T* x, const T* filter, const T* bias, const T* residual, const Im2ColShape& s,
                int64_t n, int64_t out_c, T* y);

}  // namespace dygraph::kernels
