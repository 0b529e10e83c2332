#include "tensor/selected_rows.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace dygraph {

namespace {
// Adds row `from` of width `n` to row `to`.
void AddRow(DType dtype, const void* from, void* to, int64_t n) {
  VisitDType(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = static_cast<const T*>(from);
    T* y = static_cast<T*>(to);
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(y[i] + x[i]);
  });
}
}  // namespace

SelectedRows::SelectedRows(std::vector<int64_t> rows, int64_t height, Tensor value)
    : rows_(std::move(rows)),
      height_(height),
      value_(std::move(value)),
      complete_dims_(value_.dims()) {
  ENFORCE(value_.rank() >= 1 && value_.dim(0) == static_cast<int64_t>(rows_.size()),
          InvalidArgument,
          "the values of selected rows must have one row per row number, got shape ", value_.dims(),
          " for ", rows_.size(), " row numbers");
  for (int64_t r : rows_) {
    ENFORCE(r >= 0 && r < height_, OutOfRange,
            "the row numbers of selected rows must lie in [0, height = ", height_, "), got ", r);
  }
  complete_dims_[0] = height_;
}

Tensor SelectedRows::ToDense() const {
  if (value_.place() != CPUPlace()) return CopyTo(OnHost().ToDense(), value_.place());
  Tensor dense(complete_dims_, value_.dtype(), value_.place());
  std::memset(dense.mutable_raw_data(), 0, dense.bytes());
  int64_t width = rows_.empty() ? 0 : value_.numel() / value_.dim(0);
  size_t row_bytes = width * SizeOf(value_.dtype());
  for (size_t i = 0; i < rows_.size(); ++i) {
    AddRow(value_.dtype(), static_cast<const char*>(value_.raw_data()) + i * row_bytes,
           static_cast<char*>(dense.mutable_raw_data()) + rows_[i] * row_bytes, width);
  }
  return dense;
}

SelectedRows SelectedRows::OnHost() const {
  return SelectedRows(rows_, height_, CopyTo(value_, CPUPlace()));
}

Ref<SelectedRows> SelectedRows::Merged() const {
  if (value_.place() != CPUPlace()) {
    Ref<SelectedRows> merged = OnHost().Merged();
    return MakeRef<SelectedRows>(merged->rows_, height_, CopyTo(merged->value_, value_.place()));
  }
  std::vector<size_t> order(rows_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rows_[a] < rows_[b]; });
  std::vector<int64_t> distinct;
  for (size_t i : order) {
    if (distinct.empty() || distinct.back() != rows_[i]) distinct.push_back(rows_[i]);
  }
  Dims dims = value_.dims();
  dims[0] = static_cast<int64_t>(distinct.size());
  Tensor merged(dims, value_.dtype(), value_.place());
  int64_t width = rows_.empty() ? 0 : value_.numel() / value_.dim(0);
  size_t row_bytes = width * SizeOf(value_.dtype());
  int64_t at = -1, last = -1;
  for (size_t i : order) {
    const char* from = static_cast<const char*>(value_.raw_data()) + i * row_bytes;
    char* base = static_cast<char*>(merged.mutable_raw_data());
    if (at >= 0 && rows_[i] == last) {
      AddRow(value_.dtype(), from, base + at * row_bytes, width);
    } else {
      last = rows_[i];
      std::memcpy(base + ++at * row_bytes, from, row_bytes);
    }
  }
  return MakeRef<SelectedRows>(std::move(distinct), height_, std::move(merged));
}

}  // namespace dygraph
