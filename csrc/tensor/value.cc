#include "tensor/value.h"

namespace dygraph {

const char* Name(VarKind kind) {
  switch (kind) {
    case VarKind::kTensor: return "Tensor";
    case VarKind::kSelectedRows: return "SelectedRows";
    case VarKind::kArray: return "TensorArray";
    case VarKind::kRankTable: return "LoDRankTable";
    case VarKind::kSteps: return "StepScopes";
    case VarKind::kEmpty: break;
  }
  return "nothing";
}

void Value::Fail(VarKind asked) const {
  ENFORCE(!empty(), PreconditionNotMet, "the variable must hold a ", Name(asked),
          ", but nothing has been written to it yet");
  const char* fix = asked != VarKind::kTensor         ? ""
                    : kind_ == VarKind::kSelectedRows ? ". Merge it into a dense tensor first with "
                                                        "to_dense()"
                    : kind_ == VarKind::kArray ? ". Read an element of it with read_from_array(), "
                                                 "layers.array_read()"
                    : kind_ == VarKind::kRankTable ? ". It is for operators on ragged batches, as "
                                                     "lod_tensor_to_array()"
                                                   : "";
  THROW(Type, "the variable must hold a ", Name(asked), ", got ", Name(kind_), fix);
}

void Value::DropObject() { object_.reset(); }

TensorArray& Value::MutableArray() {
  if (empty()) *this = Value(MakeRef<TensorArray>());
  const TensorArray& now = array();
  if (!object_->unique()) *this = Value(MakeRef<TensorArray>(now.items));
  return static_cast<TensorArray&>(*object_);
}

DType Value::ObjectDType() const {
  switch (kind_) {
    case VarKind::kSelectedRows: return rows().value().dtype();
    case VarKind::kArray: return array().dtype();
    case VarKind::kRankTable: return DType::kInt64;
    case VarKind::kSteps: return DType::kUnset;
    default: return tensor().dtype();
  }
}

Place Value::ObjectPlace() const {
  switch (kind_) {
    case VarKind::kSelectedRows: return rows().value().place();
    case VarKind::kArray: return array().place();
    case VarKind::kRankTable:
    case VarKind::kSteps: return CPUPlace();
    default: return tensor().place();
  }
}

size_t Value::ObjectBytes() const {
  switch (kind_) {
    case VarKind::kSelectedRows: return rows().value().bytes();
    case VarKind::kArray: return array().bytes();
    default: return 0;
  }
}

}  // namespace dygraph
