// Copies that choose, axis by axis, which element of the source each place gets: padding, cropping,
// tiling, rolling, reversing, and the sums that undo them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/span.h"

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

// y gets the elements of x that the maps, one an axis, name, and `*fill` elsewhere. Both are dense;
// elements are of 1, 2, 4 or 8 bytes.
void GatherAxes(Span<const AxisMap> maps, const void* x, void* y, size_t element_size,
                const void* fill);

// x_grad gets the sum of those elements of g that were gathered from it: the transposed map. The
// bits do not depend on the thread count. T: float, double
// and the complex types.
template <class T>
void ScatterAxes(Span<const AxisMap> maps, const T* g, T* x_grad);

}  // namespace dygraph::kernels
