// How loops are cut into pieces.
#include <algorithm>

#include "platform/threads.h"

namespace dygraph::detail {

void RunElements(int64_t n, int64_t grain, PieceFn piece, const void* body) {
  int64_t threads = NumThreads();
  if (threads <= 1 && n / kMostGrains <= grain) return piece(body, 0, n);
  int64_t pieces = std::min(n / grain, threads);
  pieces *= n / (pieces * grain) / kMostGrains + 1;
  int64_t step = ((n + pieces - 1) / pieces + 15) / 16 * 16;  // whole cache lines of floats
  pieces = (n + step - 1) / step;
  ParallelBlocks(pieces, [&](int64_t i) { piece(body, i * step, std::min((i + 1) * step, n)); });
}

void RunRows(int64_t rows, int64_t row_cost, int64_t grain, PieceFn piece, const void* body) {
  int64_t threads = rows < 2 ? 1 : NumThreads();
  const int64_t rounds = rows * row_cost / (threads * kMostGrains * grain) + 1;
  if (threads * rounds <= 1) return piece(body, 0, rows);
  int64_t pieces = std::min({threads * rounds, rows, rows * row_cost / grain});
  ParallelBlocks(pieces, [&](int64_t i) { piece(body, rows * i / pieces, rows * (i + 1) / pieces); });
}

}  // namespace dygraph::detail
