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

template <class T, class F>
void ForEachTouched(const int64_t* rows, int64_t count, int64_t width, F f) {
  if (count == 0 || width == 0) return;
  // occurrences by row, then where each row's begin, then the rows
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
  const auto groups = static_cast<int64_t>(names.size());
  starts.push_back(count);
  table.insert(table.end(), starts.begin(), starts.end());
  table.insert(table.end(), names.begin(), names.end());
  cuda::Workspace<int64_t> memory(static_cast<int64_t>(table.size()));
  GetDeviceContext(cuda::CurrentPlace())
      .CopyFromHost(memory.data(), table.data(), table.size() * sizeof(int64_t));
  const int64_t *order = memory.data(), *begin = order + count, *name = begin + groups + 1;
  cuda::ForEach(groups * width, [=] DYGRAPH_FN(int64_t at) {
    const int64_t g = at / width, k = at % width;
    for (int64_t i = begin[g]; i < begin[g + 1]; ++i) f(name[g], order[i], k);
  });
}

}  // namespace dygraph::kernels
