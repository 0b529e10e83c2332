// Indices that the host reads, checked.
#pragma once

#include <vector>

#include "operators/arguments.h"

namespace dygraph::indexing {

// Checked indices in [0, bound); `copy` holds them where they had to be converted.
struct HostIndices {
  const int64_t* data = nullptr;
  int64_t size = 0;
  std::vector<int64_t> copy;
};

// Indices of `t` into an axis of size `bound`, which messages call `what`; with `from_end`,
// negative ones count from the end as in NumPy. IndexError naming index and bound.
inline HostIndices ReadIndices(const Tensor& t, const char* slot, int64_t bound, const char* what,
                               bool from_end = true) {
  HostIndices list;
  list.size = t.numel();
  if (t.dtype() == DType::kInt64) {
    list.data = t.data<int64_t>();
  } else {
    list.copy = Integers(t, slot);
    list.data = list.copy.data();
  }
  uint64_t outside = 0;  // also negative ones
  for (int64_t i = 0; i < list.size; ++i)
    outside |= static_cast<uint64_t>(list.data[i]) >= static_cast<uint64_t>(bound);
  if (!outside) return list;
  int64_t least = from_end ? -bound : 0;
  if (list.copy.empty()) list.copy.assign(list.data, list.data + list.size);
  list.data = list.copy.data();
  for (int64_t i = 0; i < list.size; ++i) {
    int64_t& v = list.copy[i];
    ENFORCE(v >= least && v < bound, OutOfRange, slot, " must lie in [", least, ", ", bound, "), ",
            what, ", got ", v, " at position ", i);
    if (v < 0) v += bound;
  }
  return list;
}

}  // namespace dygraph::indexing
