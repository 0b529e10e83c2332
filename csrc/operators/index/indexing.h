// What operators that address rows or elements by number share: checked indices as int64, and the
// element positions they stand for.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "kernels/parallel.h"
#include "kernels/rows.h"
#include "operators/arguments.h"

namespace dygraph::indexing {

// Checked indices in [0, bound); `copy` holds them where they had to be converted.
struct IndexList {
  const int64_t* data = nullptr;
  int64_t size = 0;
  std::vector<int64_t> copy;
};

// Indices of `t` into an axis of size `bound`, which messages call `what`; with `from_end`,
// negative ones count from the end as in NumPy. IndexError naming index and bound.
inline IndexList CheckedIndices(const Tensor& t, const char* slot, int64_t bound, const char* what,
                                bool from_end = true) {
  IndexList list;
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

// Row numbers that `index` [..., k] gives in x seen as [its first k axes as one, the rest]:
// each k numbers address one row.
inline IndexList FlatIndices(const Tensor& index, const char* slot, const Dims& x,
                             const char* x_name) {
  int64_t k = index.dims()[index.rank() - 1];
  IndexList list;
  list.size = k == 0 ? Numel(index.dims(), 0, index.rank() - 1) : index.numel() / k;
  list.copy.assign(list.size, 0);
  std::atomic<bool> inside{true};
  VisitIndices(index, slot, [&](auto* v) {
    int64_t* to = list.copy.data();
    const int64_t* bounds = x.data();
    ParallelFor(list.size, kernels::Grain(4 * std::max<int64_t>(k, 1)),
                [=, &inside](int64_t begin, int64_t end) {
                  bool all = true;
                  for (int64_t i = begin; i < end; ++i) {
                    uint64_t flat = 0;  // wraps where a number lies outside
                    for (int64_t a = 0; a < k; ++a) {
                      const int64_t at = v[i * k + a], bound = bounds[a];
                      all &= at >= -bound && at < bound;
                      flat = flat * bound + static_cast<uint64_t>(at < 0 ? at + bound : at);
                    }
                    to[i] = static_cast<int64_t>(flat);
                  }
                  if (!all) inside = false;
                });
    if (inside) return;
    for (int64_t i = 0; i < list.size; ++i) {
      for (int64_t a = 0; a < k; ++a) {
        const int64_t at = v[i * k + a], bound = x[a];
        ENFORCE(at >= -bound && at < bound, OutOfRange, slot, " must lie in [", -bound, ", ", bound,
                ") in column ", a, ", the size of axis ", a, " of ", x_name, " ", x, ", got ", at,
                " in row ", i);
      }
    }
  });
  list.data = list.copy.data();
  return list;
}

// Of rows written in order, those that are written again later: their values are lost.
inline std::vector<bool> Overwritten(const int64_t* rows, int64_t n, int64_t height) {
  std::vector<bool> seen(height), lost(n);
  for (int64_t i = n - 1; i >= 0; --i) {
    lost[i] = seen[rows[i]];
    seen[rows[i]] = true;
  }
  return lost;
}

// values[i, :] = g[rows[i], :], the gradient of writing values to these rows; 0 for those that were
// overwritten where the last one wins.
inline void TakeWritten(const kernels::RowShape& shape, const Tensor& g, const int64_t* rows,
                        int64_t n, bool last_wins, Tensor* values) {
  size_t size = SizeOf(g.dtype());
  kernels::TakeRows(shape, g.raw_data(), rows, n, values->mutable_raw_data(), size);
  if (!last_wins) return;
  std::vector<bool> lost = Overwritten(rows, n, shape.height);
  int64_t bytes = shape.width * static_cast<int64_t>(size);
  for (int64_t i = 0; i < n; ++i) {
    if (lost[i]) std::memset(static_cast<char*>(values->mutable_raw_data()) + i * bytes, 0, bytes);
  }
}

inline void CopyAll(const Tensor& from, Tensor* to) {
  if (from.numel() > 0 && from.raw_data() != to->raw_data())
    std::memcpy(to->mutable_raw_data(), from.raw_data(), from.bytes());
}
inline void Clear(Tensor* to) {
  if (to->numel() > 0) std::memset(to->mutable_raw_data(), 0, to->bytes());
}

}  // namespace dygraph::indexing
