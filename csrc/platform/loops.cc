// How loops are cut into pieces.
#include <algorithm>

#include "platform/threads.h"

namespace dygraph::detail {

namespace {

// Several pieces of long loops for each thread: what one does not get to, because another process
// has its core, the others take.
int64_t PiecesFor(int64_t grains, int64_t threads) {
  constexpr int64_t kEach = 4, kLeastGrains = 4;
  const int64_t fine = std::clamp<int64_t>(grains / (threads * kLeastGrains), 1, kEach);
  return threads * std::max(threads > 1 ? fine : 1, grains / (threads * kMostGrains) + 1);
}

}  // namespace

void RunElements(int64_t n, int64_t grain, PieceFn piece, const void* body) {
  int64_t threads = NumThreads();
  if (threads <= 1 && n / kMostGrains <= grain) return piece(body, 0, n);
  int64_t pieces = std::min(n / grain, PiecesFor(n / grain, threads));
  int64_t step = ((n + pieces - 1) / pieces + 15) / 16 * 16;  // whole cache lines of floats
  pieces = (n + step - 1) / step;
  ParallelBlocks(pieces, [&](int64_t i) { piece(body, i * step, std::min((i + 1) * step, n)); });
}

void RunRows(int64_t rows, int64_t row_cost, int64_t grain, PieceFn piece, const void* body) {
  int64_t threads = rows < 2 ? 1 : NumThreads();
  const int64_t grains = rows * row_cost / grain;
  const int64_t pieces = std::min({PiecesFor(grains, threads), rows, grains});
  if (pieces <= 1) return piece(body, 0, rows);
  ParallelBlocks(pieces,
                 [&](int64_t i) { piece(body, rows * i / pieces, rows * (i + 1) / pieces); });
}

}  // namespace dygraph::detail
