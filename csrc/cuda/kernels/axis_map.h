// kernels/axis_map.h on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/span.h"
#include "kernels/axis_map_types.h"

namespace dygraph::kernels {

// y gets the elements of x that the maps, one an axis, name, and `*fill`, which the host holds,
// elsewhere. Both are dense; elements are of 1, 2, 4 or 8 bytes.
void GatherAxes(Span<const AxisMap> maps, const void* x, void* y, size_t element_size,
                const void* fill);

// x_grad gets the sum of those elements of g that were gathered from it, in a fixed order. T:
// float, double, float16, bfloat16.
template <class T>
void ScatterAxes(Span<const AxisMap> maps, const T* g, T* x_grad);

}  // namespace dygraph::kernels
