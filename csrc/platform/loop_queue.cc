#include "platform/loop_queue.h"

#include <algorithm>

#include "platform/interrupt.h"
#include "platform/threads.h"

namespace dygraph {

namespace {
constexpr int64_t kGrain = 32768;  // additions worth a thread, as in kernels/parallel.h
constexpr int64_t kStep = 16;      // pieces end at whole cache lines of floats
}  // namespace

LoopQueue::Batch& LoopQueue::BatchOf(const void* kind, Place place, bool last,
                                     std::unique_ptr<Batch> (*make)(Place)) {
  for (const Kind& k : batches_) {
    if (k.kind == kind && k.place == place) return *k.batch;
  }
  batches_.push_back({kind, place, last, make(place)});
  return *batches_.back().batch;
}

int64_t LoopQueue::work() const {
  int64_t work = 0;
  for (const Loop& loop : loops_) work += loop.n * loop.cost;
  return work;
}

void LoopQueue::Run() {
  interrupt::Off all_or_nothing;  // a step of an optimizer
  std::vector<Loop> loops = std::move(loops_);
  const std::vector<Kind> batches = std::move(batches_);
  const std::vector<std::shared_ptr<void>> kept = std::move(kept_);
  loops_.clear();
  batches_.clear();
  kept_.clear();
  for (bool last : {false, true}) {
    for (const Kind& k : batches) {
      if (k.last == last) k.batch->Run();
    }
  }
  int64_t total = 0;
  for (const Loop& loop : loops) total += loop.n * loop.cost;
  int64_t pieces = std::min<int64_t>(NumThreads(), (total + kGrain - 1) / kGrain);
  if (pieces <= 1) {
    for (const Loop& loop : loops) loop.run(loop.body, 0, loop.n);
    return;
  }
  ParallelBlocks(pieces, [&](int64_t piece) {
    int64_t first = total * piece / pieces, last = total * (piece + 1) / pieces, done = 0;
    for (const Loop& loop : loops) {
      // Both pieces at a cut round it in the same way.
      auto cut = [&](int64_t at) {
        int64_t element = at <= done ? 0 : (at - done) / loop.cost;
        return std::min(loop.n, (element + kStep - 1) / kStep * kStep);
      };
      int64_t begin = cut(first), end = last == total ? loop.n : cut(last);
      if (begin < end) loop.run(loop.body, begin, end);
      done += loop.n * loop.cost;
    }
  });
}

}  // namespace dygraph
