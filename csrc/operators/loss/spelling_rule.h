// Which classes of a path are spelled.
#pragma once

#include <cstdint>

#include "kernels/simd.h"

namespace dygraph::ctc {

constexpr int kInput = 0, kInputLength = 1;  // of ctc_align

struct Spelling {
  int32_t blank;
  bool merge_repeated;
  template <class T>
  DYGRAPH_INLINE bool Keeps(const T* path, int64_t t) const {
    return path[t] != blank && !(merge_repeated && t > 0 && path[t] == path[t - 1]);
  }
};

}  // namespace dygraph::ctc
