// operators/reduce/medians.h on the device: groups are sorted whole.
#pragma once

#include <limits>
#include <type_traits>

#include "kernels/walk.h"
#include "operators/reduce/reduction.h"
#include "operators/reduce/sorting.h"

namespace dygraph::medians {

// Of each group of elements of x, along `axes`: the median, with kSkipNan of those that are no NaN,
// and where its two elements in the middle stand (`index`, which may be null; -1 for none). With
// `least` the median is the first of both.
template <class T, bool kSkipNan>
void Medians(const Tensor& x, const reduce::Axes& axes, bool least, T* to, int64_t* index) {
  using K = sorting::KeyOf<T>;
  const kernels::Walk<2> kept = reduce::KeptWalk(x.dims(), axes);
  const kernels::Walk<1> reduced = reduce::ReducedWalk(x.dims(), axes);
  const int64_t count = kept.Count(0, kept.rank), n = reduced.Count(0, reduced.rank);
  const kernels::detail::Steps<2> begins(kept);
  const kernels::detail::Steps<1> places(reduced);
  const T* from = x.data<T>();
  cuda::Workspace<K> key_room(count * n);
  cuda::Workspace<uint32_t> at_room(count * n);
  const K* all_keys = key_room.data();
  const uint32_t* all_at = at_room.data();
  kernels::SortLines(
      count, n,
      [=] DYGRAPH_FN(int64_t i, int64_t j) {
        return sorting::OrderKey(from[begins.At(i).of[0] + places.At(j).of[0]]);
      },
      key_room.data(), at_room.data());
  kernels::ForEach(count, [=] DYGRAPH_FN(int64_t i) {
    const K* keys = all_keys + i * n;
    const uint32_t* at = all_at + i * n;
    // NaNs stand last.
    const int64_t numbers =
        std::is_integral_v<T> ? n : kernels::Bound<false>(keys, n, static_cast<K>(~K(0)));
    const int64_t begin = begins.At(i).of[0];
    int64_t lower = -1, upper = -1;
    if (numbers < n && !kSkipNan) {
      lower = upper = at[numbers];
    } else if (numbers > 0) {
      lower = at[(numbers - 1) / 2];
      upper = at[numbers / 2];
    }
    if (least) upper = lower;
    if (lower >= 0) lower = begin + places.At(lower).of[0];
    if (upper >= 0) upper = begin + places.At(upper).of[0];
    if (lower < 0) {
      to[i] = std::numeric_limits<T>::quiet_NaN();
    } else {
      const T low = from[lower], high = from[upper];
      to[i] = lower == upper || low == high ? low : low / T(2) + high / T(2);
    }
    if (!index) return;
    index[2 * i] = lower;
    index[2 * i + 1] = upper;
  });
}

}  // namespace dygraph::medians
