// Positions that an input holds.
#pragma once

#include <cstdint>

#include "base/enforce.h"

namespace dygraph::kernels {

// n positions within [0, size), or where it is allowed -1 for none. Raises OutOfRange for another,
// naming operator and slot.
class Positions {
 public:
  Positions(const int32_t* at, int64_t n, int64_t size, bool none_allowed, const char* /*op*/,
            const char* slot)
      : at_(at) {
    for (int64_t i = 0; i < n; ++i) {
      ENFORCE(at[i] < size && at[i] >= (none_allowed ? -1 : 0), OutOfRange, slot,
              " must lie in [0, ", size, "), the elements of a channel, got ", at[i]);
    }
  }
  int32_t operator[](int64_t i) const { return at_[i]; }

 private:
  const int32_t* at_;
};

}  // namespace dygraph::kernels
