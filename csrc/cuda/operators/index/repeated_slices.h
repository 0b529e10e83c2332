// operators/index/repeated_slices.h on the device.
#pragma once

#include <vector>

#include "kernels/loops.h"
#include "op/placed_list.h"
#include "operators/index/repeat_times.h"

namespace dygraph::indexing {

// Where the copies of each slice begin along the axis, and where the last ones end.
inline std::vector<int64_t> RunsOf(const Times& times) {
  if (times.list.empty()) return {};
  std::vector<int64_t> begins{0};
  for (int64_t k : times.list) begins.push_back(begins.back() + k);
  return begins;
}

// to: each of [outer, n] slices of `width` elements as often as `times` says.
template <class T>
void RepeatSlices(KernelContext& ctx, const Times& times, int64_t outer, int64_t n, int64_t width,
                  const T* from, T* to) {
  const std::vector<int64_t> runs = RunsOf(times);
  const PlacedList<int64_t> placed(ctx, runs);
  const int64_t *begins = placed.data(), each = times.each, total = times.total;
  const bool listed = !runs.empty();
  kernels::ForEach(outer * total * width, [=] DYGRAPH_FN(int64_t at) {
    const int64_t row = at / width, o = row / total, r = row - o * total;
    int64_t i = 0;
    if (listed) {  // the last slice that begins at r or before
      for (int64_t end = n; end - i > 1;) {
        const int64_t middle = i + (end - i) / 2;
        (begins[middle] <= r ? i : end) = middle;
      }
    } else {
      i = r / each;
    }
    to[at] = from[(o * n + i) * width + at - row * width];
  });
}

// to: of each slice the sum of its copies in g.
template <class T>
void SumSlices(KernelContext& ctx, const Times& times, int64_t outer, int64_t n, int64_t width,
               const T* g, T* to) {
  const std::vector<int64_t> runs = RunsOf(times);
  const PlacedList<int64_t> placed(ctx, runs);
  const int64_t *begins = placed.data(), each = times.each, total = times.total;
  const bool listed = !runs.empty();
  kernels::ForEach(outer * n * width, [=] DYGRAPH_FN(int64_t at) {
    const int64_t slice = at / width, k = at - slice * width, o = slice / n, i = slice - o * n;
    const int64_t begin = listed ? begins[i] : i * each,
                  end = listed ? begins[i + 1] : begin + each;
    T sum = 0;
    for (int64_t r = begin; r < end; ++r) sum += g[(o * total + r) * width + k];
    to[at] = sum;
  });
}

}  // namespace dygraph::indexing
