// Sums of products over labelled axes (Einstein's notation): operands are joined two by two, each
// pair by a matrix product where axes are summed, by a broadcast product where none is.
#pragma once

#include <map>
#include <vector>

#include "tensor/tensor.h"

namespace dygraph::kernels {

using Labels = std::vector<int>;

struct EinsumOperand {
  Labels labels;  // one for each axis; a label twice means the diagonal
  Tensor value;
};

// The sum over all labels that `out` does not name of the product of the operands, its axes in the
// order of `out`. A label has its size in `sizes`; where an operand has 1 instead it broadcasts.
// Labels in `out` that no operand has at its size are left out of the result. T: float, double.
template <class T>
EinsumOperand Einsum(std::vector<EinsumOperand> operands, const Labels& out,
                     const std::map<int, int64_t>& sizes);

}  // namespace dygraph::kernels
