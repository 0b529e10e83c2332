// What a variable holds: a tensor, selected rows, or nothing yet.
#pragma once

#include "tensor/selected_rows.h"
#include "tensor/tensor.h"

namespace dygraph {

enum class VarKind : uint8_t { kEmpty, kTensor, kSelectedRows };
const char* Name(VarKind kind);

class Value {
 public:
  Value() = default;
  Value(Tensor t) : tensor_(std::move(t)), kind_(VarKind::kTensor) {}
  Value(Ref<SelectedRows> rows) : rows_(std::move(rows)), kind_(VarKind::kSelectedRows) {}

  VarKind kind() const { return kind_; }
  bool is_tensor() const { return kind_ == VarKind::kTensor; }
  bool is_rows() const { return kind_ == VarKind::kSelectedRows; }
  bool empty() const { return kind_ == VarKind::kEmpty; }

  // TypeError naming both kinds when the value is of another kind.
  const Tensor& tensor() const {
    if (__builtin_expect(kind_ != VarKind::kTensor, 0)) Fail(VarKind::kTensor);
    return tensor_;
  }
  const SelectedRows& rows() const {
    if (kind_ != VarKind::kSelectedRows) Fail(VarKind::kSelectedRows);
    return *rows_;
  }
  const Ref<SelectedRows>& rows_ref() const { return rows_; }

  // Becomes a tensor (empty if it was something else).
  Tensor& MutableTensor() {
    if (__builtin_expect(kind_ != VarKind::kTensor, 0)) BecomeTensor();
    return tensor_;
  }
  void SetRows(Ref<SelectedRows> rows) { *this = Value(std::move(rows)); }

  // Shape, type and place of whatever it holds; selected rows answer with their complete shape.
  const Dims& dims() const { return is_rows() ? rows_->complete_dims() : tensor().dims(); }
  DType dtype() const { return is_rows() ? rows_->value().dtype() : tensor().dtype(); }
  Place place() const { return is_rows() ? rows_->value().place() : tensor().place(); }
  Tensor ToDense() const { return is_rows() ? rows_->ToDense() : tensor(); }
  size_t bytes() const { return is_rows() ? rows_->value().bytes() : tensor().bytes(); }

 private:
  [[noreturn]] void Fail(VarKind asked) const;
  void BecomeTensor();
  Tensor tensor_;
  Ref<SelectedRows> rows_;
  VarKind kind_ = VarKind::kEmpty;
};

}  // namespace dygraph
