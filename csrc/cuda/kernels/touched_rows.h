// kernels/touched_rows.h on the device. The numbers of the rows lie on the host, which groups them;
// each thread then takes the occurrences of one row in their order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "cuda/launch.h"
#include "cuda/scratch.h"
#include "platform/device_context.h"

namespace dygraph::kernels {

// Occurrences by row: those of group g are order[begin[g]], ..., order[begin[g + 1] - 1], of the
// row name[g]. Rows ascend.
struct RowGroups {
  const int64_t *order, *begin, *name;
};

// The numbers of rows as the device gets them.
class GroupedRows {
 public:
  GroupedRows(const int64_t* rows, int64_t count) : memory_(3 * count + 1) {
    std::vector<int64_t> table(static_cast<size_t>(count));
    std::iota(table.begin(), table.end(), int64_t{0});
    std::stable_sort(table.begin(), table.end(),
                     [&](int64_t a, int64_t b) { return rows[a] < rows[b]; });
    std::vector<int64_t> starts, names;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = rows[table[static_cast<size_t>(i)]];
      if (i > 0 && row == names.back()) continue;
      starts.push_back(i);
      names.push_back(row);
    }
    count_ = static_cast<int64_t>(names.size());
    starts.push_back(count);
    table.insert(table.end(), starts.begin(), starts.end());
    table.insert(table.end(), names.begin(), names.end());
    GetDeviceContext(cuda::CurrentPlace())
        .CopyFromHost(memory_.data(), table.data(), table.size() * sizeof(int64_t));
    const int64_t* order = memory_.data();
    groups_ = {order, order + count, order + count + count_ + 1};
  }
  int64_t count() const { return count_; }
  const RowGroups& groups() const { return groups_; }

 private:
  cuda::Workspace<int64_t> memory_;
  int64_t count_ = 0;
  RowGroups groups_;
};

template <class T, class F>
void ForEachTouched(const int64_t* rows, int64_t count, int64_t width, F f) {
  if (count == 0 || width == 0) return;
  const GroupedRows grouped(rows, count);
  const RowGroups groups = grouped.groups();
  cuda::EachIndex(grouped.count() * width, [=] DYGRAPH_FN(int64_t at) {
    const int64_t g = at / width, k = at % width;
    for (int64_t i = groups.begin[g]; i < groups.begin[g + 1]; ++i)
      f(groups.name[g], groups.order[i], k);
  });
}

}  // namespace dygraph::kernels
