// kernels/packed_rows.h on the device.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/launch.h"
#include "kernels/dual.h"
#include "kernels/parallel.h"

namespace dygraph::kernels {

struct Steps {
  std::vector<int64_t> begin{0};  // packed row each step begins at, then the number of rows
  int64_t batch = 0;              // sequences, also those without rows
  int64_t count() const { return static_cast<int64_t>(begin.size()) - 1; }
  int64_t rows() const { return begin.back(); }
  int64_t alive(int64_t step) const { return begin[step + 1] - begin[step]; }
};

// f(row, j) for each j below width in each row.
template <class V, class F>
void EachInRows(int64_t rows, int64_t width, F f, int64_t) {
  cuda::EachIndex(rows * width, [=] DYGRAPH_FN(int64_t i) { f(i / width, i % width); });
}

}  // namespace dygraph::kernels
