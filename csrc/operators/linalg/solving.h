// The loop over systems of equations on the host.
#pragma once

#include <cstring>

#include "operators/linalg/linalg.h"
#include "operators/linalg/systems.h"

namespace dygraph::linalg {

// body(i, matrix of A, matrix of B, memory) for each matrix of the result.
template <class Make, class Body>
void ForEachSystem(const matmul::Product& p, const Make& make, const Body& body) {
  const double n = static_cast<double>(p.m), k = static_cast<double>(p.n);
  LapackOnOneThread alone(Lapack());
  const auto cost = static_cast<int64_t>(std::min(n * n * (n / 3 + k) + 256, 1e12));
  kernels::ParallelRows(Numel(p.batch), cost, [&](int64_t begin, int64_t end) {
    auto memory = make();
    matmul::Matrices(p, begin, end,
                     [&](int64_t i, int64_t a, int64_t b) { body(i, a, b, *memory); });
  });
}

}  // namespace dygraph::linalg
