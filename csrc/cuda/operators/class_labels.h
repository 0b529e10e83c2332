// operators/class_labels.h on the device: each label is checked where it is read.
#pragma once

#include <cstdint>

#include "cuda/errors_cuda.h"
#include "tensor/tensor.h"

namespace dygraph::labels {

// int32 or int64 numbers. Others than classes are reported, and 0 stands for them.
class ClassLabels {
 public:
  explicit ClassLabels(const Tensor& t)
      : narrow_(t.dtype() == DType::kInt32 ? t.data<int32_t>() : nullptr),
        wide_(narrow_ ? nullptr : t.data<int64_t>()),
        guard_({"a loss", "every Label"}, INT64_MAX) {}
  DYGRAPH_INLINE int64_t operator[](int64_t i) const {
    const int64_t label = narrow_ ? narrow_[i] : wide_[i];
    return ignores_ && label == ignored_ ? label : guard_(label);
  }
  void Check(int64_t classes, int64_t ignore_index) {
    CheckAll(classes);
    ignores_ = true;
    ignored_ = ignore_index;
  }
  // The same where no label may be ignored.
  void CheckAll(int64_t classes) { guard_ = cuda::IndexGuard({"a loss", "every Label"}, classes); }

 private:
  const int32_t* narrow_;
  const int64_t* wide_;
  cuda::IndexGuard guard_;
  bool ignores_ = false;
  int64_t ignored_ = 0;
};

}  // namespace dygraph::labels
