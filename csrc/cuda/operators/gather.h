// operators/gather.h on the device: one launch, with the address of each row.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/launch.h"
#include "cuda/scratch.h"
#include "platform/device_context.h"
#include "tensor/tensor.h"

namespace dygraph {

struct RowRange {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};

struct RowPiece {
  const Tensor* from;
  RowRange rows;
};

namespace detail {
// Rows of `width` units.
template <class U>
void CopyListed(const char* const* rows, int64_t count, int64_t width, void* to) {
  U* out = static_cast<U*>(to);
  cuda::EachIndex(count * width, [=] DYGRAPH_FN(int64_t i) {
    const U* from = reinterpret_cast<const U*>(rows[i / width]);
    out[i] = from ? from[i % width] : U(0);
  });
}
}  // namespace detail

inline void CopyRowPieces(const std::vector<RowPiece>& pieces, size_t row, char* to) {
  std::vector<const char*> rows;
  uintptr_t places = row | reinterpret_cast<uintptr_t>(to);  // a view may begin at any element
  for (const RowPiece& p : pieces) {
    const char* at =
        p.from ? static_cast<const char*>(p.from->raw_data()) + p.rows.begin * row : nullptr;
    places |= reinterpret_cast<uintptr_t>(at);
    for (int64_t i = 0; i < p.rows.count(); ++i) rows.push_back(at ? at + i * row : nullptr);
  }
  if (rows.empty()) return;
  const auto count = static_cast<int64_t>(rows.size());
  cuda::Workspace<const char*> listed(count);
  GetDeviceContext(cuda::CurrentPlace())
      .CopyFromHost(listed.data(), rows.data(), rows.size() * sizeof(rows[0]));
  const auto width = static_cast<int64_t>(row);
  if (places % 8 == 0) return detail::CopyListed<uint64_t>(listed.data(), count, width / 8, to);
  if (places % 4 == 0) return detail::CopyListed<uint32_t>(listed.data(), count, width / 4, to);
  if (places % 2 == 0) return detail::CopyListed<uint16_t>(listed.data(), count, width / 2, to);
  detail::CopyListed<uint8_t>(listed.data(), count, width, to);
}

}  // namespace dygraph
