// kernels/attention.h on the device: products of cuBLASLt over whole matrices of scores, and a team
// of threads for each of their rows. Beside 16-bit floats, scores are floats, and weights are
// rounded for the products with them.
#pragma once

#include <cstdint>

#include "kernels/convert.h"
#include "kernels/strides.h"

namespace dygraph::kernels {

template <class T>
struct Heads {
  T* data = nullptr;
  int64_t side_by_side = 1, matrix = 0, head = 0, row = 0;  // strides in elements
  Heads From(int64_t first) const {
    return {data ? data + first * row : data, side_by_side, matrix, head, row};
  }
};

template <class T>
struct AttentionMask {
  const T* added = nullptr;
  const bool* seen = nullptr;
  Dims leading, strides;  // of the heads
  int64_t row = 0, column = 0;
  bool causal = false;
  void SetHeads(const Dims& dims, const Dims& apart) {
    leading = dims;
    strides = apart;
  }
  bool any() const { return added || seen; }
};

template <class T>
struct Attention {
  int64_t heads, queries, keys, width, value_width;
  Wide<T> scale;
  Heads<const T> q, k, v;
  const AttentionMask<T>* mask;
  double dropout = 0;
  const int64_t* drawn = nullptr;  // seed and stream, on the device
  int64_t drawn_before = 0;
  void Drew(const int64_t* numbers) { drawn = numbers; }

  void Forward(Heads<T> out, Wide<T>* log_total) const;

  struct Gradients {
    Heads<T> q, k, v;
    T* mask = nullptr;
  };
  void Backward(const Wide<T>* log_total, Heads<const T> d_out, const Gradients& to) const;
};

}  // namespace dygraph::kernels
