// Numbers in order, with where they stood: a stable sort by digits, whose result does not depend on
// the order in which threads run.
#pragma once

#include <cstdint>

namespace dygraph::cuda {

// sorted[i] = keys[order[i]] ascends, equal ones in the order in which they stand; the n keys are
// from 0 up to `most`. All arrays are of the current device.
void SortKeys(const int64_t* keys, int64_t n, int64_t most, int64_t* sorted, int64_t* order);

// Each of n counts becomes the sum of those before it. `total`, which may be null, gets the sum of
// all.
void SumBefore(int64_t* counts, int64_t n, int64_t* total);

}  // namespace dygraph::cuda
