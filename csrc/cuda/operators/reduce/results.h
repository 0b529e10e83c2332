// operators/reduce/results.h on the device: a team for each result.
#pragma once

#include <cstdint>

#include "kernels/fold.h"
#include "kernels/walk.h"

namespace dygraph::reduce {

constexpr bool kAddsNarrow = true;

// Where the elements of one result lie from its first one on, the same for all results.
class Elements {
 public:
  explicit Elements(const kernels::Walk<1>& walk) : count(walk.Count(0, walk.rank)), steps_(walk) {}
  DYGRAPH_INLINE int64_t operator[](int64_t i) const { return steps_.At(i).of[0]; }
  int64_t count;

 private:
  kernels::detail::Steps<1> steps_;
};

// f(place of the result, place of its first element, its elements, team) for every result. The
// arrays of `kept` are the elements and the results.
template <class F>
void ForEachResult(const kernels::Walk<2>& kept, const kernels::Walk<1>& reduced, int64_t, F f) {
  const Elements elements(reduced);
  const kernels::detail::Steps<2> places(kept);
  kernels::ForEachRow(kept.Count(0, kept.rank), elements.count,
                      [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
                        const auto at = places.At(r);
                        f(at.of[1], at.of[0], elements, team);
                      });
}

}  // namespace dygraph::reduce
