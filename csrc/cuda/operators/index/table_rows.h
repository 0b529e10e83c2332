// operators/index/table_rows.h on the device.
#pragma once

#include "operators/index/indexing.h"

namespace dygraph::lookup_table {

constexpr int64_t kNoPadding = -1;

// out[i, :] = table[ids[i], :], zeros where the id is `padding`.
template <class T>
void CopyTableRows(const T* table, int64_t width, const int64_t* ids, int64_t n, int64_t padding,
                   T* out) {
  // Most tables have none, and rows of 16 bytes and more are moved in larger units.
  if (padding == kNoPadding) return kernels::TakeRows({1, 0, width}, table, ids, n, out, sizeof(T));
  kernels::ForEach(n * width, [=] DYGRAPH_FN(int64_t at) {
    const int64_t i = at / width;
    out[at] = ids[i] == padding ? T(0) : table[ids[i] * width + at - i * width];
  });
}

// table[ids[i], :] += from[i, :], but for ids that are `padding`; the table begins with zeros.
template <class T>
void AddTableRows(const T* from, int64_t height, int64_t width, const int64_t* ids, int64_t n,
                  int64_t padding, T* table) {
  kernels::AddRows({1, height, width}, table, ids, n, from);
  if (padding >= 0 && padding < height && n > 0)
    kernels::Fill(table + padding * width, width, T(0));
}

}  // namespace dygraph::lookup_table
