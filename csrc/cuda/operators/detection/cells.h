// operators/detection/cells.h on the device: the numbers depend on shapes alone; the host makes
// them.
#pragma once

#include <vector>

#include "op/op_registry.h"

namespace dygraph::priors {

template <class T, class F>
void FillCells(KernelContext& ctx, int64_t rows, int64_t columns, int64_t width, T* to,
               const F& numbers) {
  std::vector<T> all(static_cast<size_t>(rows * columns * width));
  for (int64_t cell = 0; cell < rows * columns; ++cell)
    numbers(cell / columns, cell % columns, all.data() + cell * width);
  ctx.device().CopyFromHost(to, all.data(), all.size() * sizeof(T));
}

}  // namespace dygraph::priors
