#include "tensor/value.h"

namespace dygraph {

const char* Name(VarKind kind) {
  switch (kind) {
    case VarKind::kTensor: return "Tensor";
    case VarKind::kSelectedRows: return "SelectedRows";
    case VarKind::kEmpty: break;
  }
  return "nothing";
}

void Value::Fail(VarKind asked) const {
  ENFORCE(!empty(), PreconditionNotMet, "the variable must hold a ", Name(asked),
          ", but nothing has been written to it yet");
  THROW(Type, "the variable must hold a ", Name(asked), ", got ", Name(kind_),
        asked == VarKind::kTensor ? ". Merge it into a dense tensor first with to_dense()" : "");
}

void Value::BecomeTensor() {  // tensor_ is empty
  rows_.reset();
  kind_ = VarKind::kTensor;
}

}  // namespace dygraph
