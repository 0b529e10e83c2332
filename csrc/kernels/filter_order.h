// Copies between a plain filter, [out, in, taps], and the blocked orders in which convolutions read
// and write it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dygraph::kernels {

// The element (o, i, t) lies at
//   (o / out_block) * out_stride + (i / in_block) * in_stride + taps[t] + its place in the block,
// and within a block one of the two channels is dense. A last block may be part of one: the rest of
// it is zeros.
struct FilterOrder {
  int64_t out = 0, in = 0;
  int64_t out_block = 1, in_block = 1;  // 1: that channel is not blocked
  int64_t out_stride = 0, in_stride = 0;
  std::vector<int64_t> taps;
  bool out_dense = true;  // neighbours within a block are outputs, otherwise inputs
  int64_t size = 0;       // elements of all blocks

  void Pack(const float* plain, float* packed) const;
  void Unpack(const float* packed, float* plain) const;
};

}  // namespace dygraph::kernels
