// What a node makes of the rows that arrive.
#pragma once

#include <string>

#include "kernels/simd.h"

namespace dygraph::graph {

enum class Pool { kSum, kMean, kMost, kLeast };

inline Pool PoolOf(const std::string& name) {
  if (name == "SUM") return Pool::kSum;
  if (name == "MEAN") return Pool::kMean;
  return name == "MAX" ? Pool::kMost : Pool::kLeast;
}
inline bool IsExtreme(Pool pool) { return pool == Pool::kMost || pool == Pool::kLeast; }

// What an extreme becomes with one more number; a NaN wins.
template <class T>
DYGRAPH_INLINE T MoreExtreme(Pool pool, T best, T v) {
  return (pool == Pool::kMost ? v > best : v < best) || v != v ? v : best;
}

}  // namespace dygraph::graph
