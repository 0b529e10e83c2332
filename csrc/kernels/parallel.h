// When a loop is worth the pool, and how rows are shared out.
#pragma once

#include <algorithm>
#include <cstdint>

#include "platform/threads.h"

namespace dygraph::kernels {

// Elements a thread should get at least: waking another takes as long as some 30000 additions.
// `cost` is the work per element relative to an addition (exp in a vectorised loop: about 3).
inline int64_t Grain(int64_t cost = 1) {
  return std::max<int64_t>(32768 / std::max<int64_t>(cost, 1), 512);
}

// Splits `rows` independent rows, each worth `row_cost` additions, into one run of rows per thread
// where that pays; long runs into several, between which Ctrl-C is looked for. ParallelFor is for
// elements: it rounds its pieces up to cache lines, which would leave few rows on one thread.
template <class Body>
void ParallelRows(int64_t rows, int64_t row_cost, const Body& body) {
  if (rows * row_cost >= 2 * Grain()) {
    return dygraph::detail::RunRows(rows, row_cost, Grain(), &dygraph::detail::RunPiece<Body>,
                                    &body);
  }
  if (rows > 0) dygraph::detail::RunPiece<Body>(&body, 0, rows);
}

}  // namespace dygraph::kernels
