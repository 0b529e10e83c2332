// Where, along one axis, a copy takes its elements from.
#pragma once

#include <cstdint>

namespace dygraph::kernels {

enum class Outside : uint8_t { kFill, kWrap, kReflect, kEdge };

// Element i of an axis of y is element i - before of the axis of x; `outside` says what stands
// where x has no such element. Reversed: x is read from its end.
struct AxisMap {
  int64_t in = 1, out = 1;
  int64_t before = 0;
  Outside outside = Outside::kFill;
  bool reversed = false;

  bool IsIdentity() const { return in == out && before == 0 && !reversed; }
  // y is x several times over
  bool IsTiling() const {
    return before == 0 && !reversed && outside == Outside::kWrap && in > 0 && out % in == 0;
  }
};

}  // namespace dygraph::kernels
