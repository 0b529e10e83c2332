// The positions of the elements of a tensor that are not 0.
#pragma once

#include <vector>

#include "kernels/loops.h"
#include "op/op_registry.h"

namespace dygraph::indexing {

// In order, in memory that loops read.
struct Positions {
  std::vector<int64_t> at;
  const int64_t* data() const { return at.data(); }
  int64_t size() const { return static_cast<int64_t>(at.size()); }
};

// `known` says how many there are, where that is known, so that a device need not be waited for.
template <class T>
Positions NonzeroPositions(const Tensor& t, int64_t known = -1) {
  Positions p;
  if (known > 0) p.at.reserve(known);
  const T* v = t.data<T>();
  for (int64_t i = 0; i < t.numel(); ++i) {
    if (v[i] != T(0)) p.at.push_back(i);
  }
  return p;
}

}  // namespace dygraph::indexing
