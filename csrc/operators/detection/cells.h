// A loop over the cells of a map, each of which gets the same count of numbers.
#pragma once

#include "kernels/parallel.h"
#include "op/op_registry.h"

namespace dygraph::priors {

// numbers(row, column, to) writes `width` numbers of a cell.
template <class T, class F>
void FillCells(KernelContext&, int64_t rows, int64_t columns, int64_t width, T* to,
               const F& numbers) {
  kernels::ParallelRows(rows, columns * width * 4, [&](int64_t begin, int64_t end) {
    for (int64_t cell = begin * columns; cell < end * columns; ++cell)
      numbers(cell / columns, cell % columns, to + cell * width);
  });
}

}  // namespace dygraph::priors
