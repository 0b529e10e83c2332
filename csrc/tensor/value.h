// What a variable holds: a tensor, an object of another kind, or nothing yet.
#pragma once

#include "tensor/rank_table.h"
#include "tensor/selected_rows.h"
#include "tensor/tensor.h"
#include "tensor/tensor_array.h"

namespace dygraph {

enum class VarKind : uint8_t { kEmpty, kTensor, kSelectedRows, kArray, kRankTable, kSteps };
const char* Name(VarKind kind);

class Value {
 public:
  Value() {}  // = default would make Value() fill all its bytes with zeros first
  Value(Tensor t) : tensor_(std::move(t)), kind_(VarKind::kTensor) {}
  Value(Ref<SelectedRows> rows) : Value(VarKind::kSelectedRows, std::move(rows)) {}
  Value(Ref<TensorArray> array) : Value(VarKind::kArray, std::move(array)) {}
  Value(Ref<LoDRankTable> table) : Value(VarKind::kRankTable, std::move(table)) {}
  template <class T>
  Value(VarKind kind, Ref<T> object)
      : object_(Ref<ValueObject>::Adopt(object.Detach())), kind_(kind) {}

  VarKind kind() const { return kind_; }
  bool is_tensor() const { return kind_ == VarKind::kTensor; }
  bool is_rows() const { return kind_ == VarKind::kSelectedRows; }
  bool is_array() const { return kind_ == VarKind::kArray; }
  bool empty() const { return kind_ == VarKind::kEmpty; }

  // TypeError naming both kinds when the value is of another kind.
  const Tensor& tensor() const {
    if (__builtin_expect(kind_ != VarKind::kTensor, 0)) Fail(VarKind::kTensor);
    return tensor_;
  }
  const SelectedRows& rows() const { return Object<SelectedRows>(VarKind::kSelectedRows); }
  const TensorArray& array() const { return Object<TensorArray>(VarKind::kArray); }
  const LoDRankTable& rank_table() const { return Object<LoDRankTable>(VarKind::kRankTable); }
  template <class T>
  const T& Object(VarKind kind) const {
    if (__builtin_expect(kind_ != kind, 0)) Fail(kind);
    return static_cast<const T&>(*object_);
  }

  // Becomes a tensor (empty if it was something else).
  Tensor& MutableTensor() {
    if (kind_ != VarKind::kTensor) {  // tensor_ is empty
      if (__builtin_expect(kind_ != VarKind::kEmpty, 0)) DropObject();
      kind_ = VarKind::kTensor;
    }
    return tensor_;
  }
  // Becomes an array, empty if it was nothing; its handles are copied where others hold them.
  TensorArray& MutableArray();
  void SetRows(Ref<SelectedRows> rows) { *this = Value(std::move(rows)); }

  // Shape, type and place of whatever it holds; selected rows answer with their complete shape, an
  // array with the type and place of its elements.
  const Dims& dims() const { return is_rows() ? rows().complete_dims() : tensor().dims(); }
  DType dtype() const { return is_tensor() ? tensor_.dtype() : ObjectDType(); }
  Place place() const { return is_tensor() ? tensor_.place() : ObjectPlace(); }
  Tensor ToDense() const { return is_rows() ? rows().ToDense() : tensor(); }
  size_t bytes() const { return is_tensor() ? tensor_.bytes() : ObjectBytes(); }

 private:
  [[noreturn]] void Fail(VarKind asked) const;
  void DropObject();
  DType ObjectDType() const;
  Place ObjectPlace() const;
  size_t ObjectBytes() const;
  Tensor tensor_;
  Ref<ValueObject> object_;
  VarKind kind_ = VarKind::kEmpty;
};

}  // namespace dygraph
