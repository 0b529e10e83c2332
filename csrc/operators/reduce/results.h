// The results of a reduction one by one, where it is more than an Op of kernels/reduce.h.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/fold.h"
#include "kernels/strides.h"

namespace dygraph::reduce {

constexpr bool kAddsNarrow = false;

// Where the elements of one result lie from its first one on, the same for all results.
class Elements {
 public:
  explicit Elements(const kernels::Walk<1>& walk) : count(walk.Count(0, walk.rank)) {
    if (walk.rank == 1) stride_ = walk.strides[0][0];
    if (walk.rank <= 1) return;
    list_.resize(static_cast<size_t>(count));
    kernels::Odometer<1> at(walk, walk.rank, 0);
    for (int64_t& offset : list_) {
      offset = at.offset[0];
      at.Next();
    }
  }
  int64_t operator[](int64_t i) const { return list_.empty() ? i * stride_ : list_[i]; }
  const int64_t count;

 private:
  int64_t stride_ = 1;
  std::vector<int64_t> list_;  // empty: `stride_` apart
};

// f(place of the result, place of its first element, its elements, team) for every result, in
// parallel. The arrays of `kept` are the elements and the results; `cost` is that of an element.
template <class F>
void ForEachResult(const kernels::Walk<2>& kept, const kernels::Walk<1>& reduced, int64_t cost,
                   F f) {
  const Elements elements(reduced);
  kernels::ParallelRows(kept.Count(0, kept.rank), elements.count * cost,
                        [&](int64_t begin, int64_t end) {
                          kernels::Odometer<2> at(kept, kept.rank, begin);
                          for (int64_t i = begin; i < end; ++i, at.Next())
                            f(at.offset[1], at.offset[0], elements, kernels::Team());
                        });
}

}  // namespace dygraph::reduce
