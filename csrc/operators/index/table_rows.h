// Rows of a table by their numbers, taken and added.
#pragma once

#include <cstring>

#include "kernels/owners.h"
#include "operators/index/indexing.h"

namespace dygraph::lookup_table {

constexpr int64_t kNoPadding = -1;

// out[i, :] = table[ids[i], :], zeros where the id is `padding`.
template <class T>
void CopyTableRows(const T* table, int64_t width, const int64_t* ids, int64_t n, int64_t padding,
                   T* out) {
  kernels::ParallelRows(n, width, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* row = out + i * width;
      if (ids[i] == padding && padding != kNoPadding) {
        std::memset(row, 0, width * sizeof(T));
      } else {
        std::memcpy(row, table + ids[i] * width, width * sizeof(T));
      }
    }
  });
}

// table[ids[i], :] += from[i, :], but for ids that are `padding`. A row of the table belongs to one
// thread, which adds its occurrences in order.
template <class T>
void AddTableRows(const T* from, int64_t /*height*/, int64_t width, const int64_t* ids, int64_t n,
                  int64_t padding, T* table) {
  const kernels::Owners owners(width * static_cast<int64_t>(sizeof(T)));
  int64_t pieces = n * width <= kernels::Grain() ? 1 : owners.pieces();
  ParallelBlocks(pieces, [=](int64_t piece) {
    const kernels::Owners::Share share = owners.ShareOf(piece);
    kernels::Simd([=] {
      for (int64_t i = 0; i < n; ++i) {
        if ((ids[i] == padding && padding != kNoPadding) || (pieces > 1 && !share.Has(ids[i])))
          continue;
        T* row = table + ids[i] * width;
        const T* add = from + i * width;
        DYGRAPH_IVDEP
        for (int64_t k = 0; k < width; ++k) row[k] += add[k];
      }
    });
  });
}

}  // namespace dygraph::lookup_table
