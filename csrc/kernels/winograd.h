// Convolutions with filters of 3 x 3 and stride 1 by Winograd's method, F(2x2, 3x3): 16 products
// for each 4 of the result in place of 36. It rounds differently from the sum of the products.
// Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2016.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/packed_matrix.h"

namespace dygraph::kernels {

struct WinogradShape {  // images of [n, height, width, c] to [n, out_height, out_width, out_c]
  int64_t n, height, width, c, out_c;
  int64_t top, left;  // padding
  int64_t out_height, out_width;
};

class Winograd {
 public:
  Winograd(int64_t c, int64_t out_c) : matrix_(c, out_c), c_(c), out_c_(out_c) {}
  size_t bytes() const { return kPoints * matrix_.bytes(); }
  bool fits() const { return matrix_.fits(); }
  // filter [out_c, c, 3, 3]
  void Pack(const float* filter, float* packed) const;

  // y = relu(convolution + bias + added), each where it is given. `added` may be y.
  void Run(const WinogradShape& shape, const float* x, const float* packed, const float* bias,
           const float* added, bool relu, float* y) const;

 private:
  static constexpr int kPoints = 16;
  PackedMatrix matrix_;
  int64_t c_, out_c_;
};

}  // namespace dygraph::kernels
