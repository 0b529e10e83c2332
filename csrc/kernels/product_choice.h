// Which kernel computes a matrix product: measured by benchmarks/products.py for each instruction
// set, orientation and class of sizes.
#pragma once

#include <cstdint>

namespace dygraph::kernels {

enum class Product : char {
  kOwn = 'o',      // gemm.cc
  kPanels = 'p',   // packed_weights.cc: a b^T with few rows of a
  kLibrary = 'l',  // oneDNN's sgemm
};

// Of float products; all sizes above 0. `level` as CpuLevel gives it.
Product ChooseProduct(int level, bool ta, bool tb, int64_t m, int64_t n, int64_t k);

}  // namespace dygraph::kernels
