// kernels/positions.h on the device: a wrong position is reported, and 0 stands for it.
#pragma once

#include <cstdint>

#include "cuda/errors_cuda.h"
#include "kernels/simd.h"

namespace dygraph::kernels {

class Positions {
 public:
  Positions(const int32_t* at, int64_t, int64_t size, bool none_allowed, const char* op,
            const char* slot)
      : at_(at), none_allowed_(none_allowed), guard_({op, slot}, size) {}
  DYGRAPH_INLINE int64_t operator[](int64_t i) const {
    const int64_t at = at_[i];
    return at == -1 && none_allowed_ ? -1 : guard_(at);
  }

 private:
  const int32_t* at_;
  bool none_allowed_;
  cuda::IndexGuard guard_;
};

}  // namespace dygraph::kernels
