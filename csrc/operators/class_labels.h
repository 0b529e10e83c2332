// Class numbers, one for each distribution of scores.
#pragma once

#include <cstdint>

#include "base/enforce.h"
#include "kernels/simd.h"
#include "tensor/tensor.h"

namespace dygraph::labels {

// int32 or int64 numbers.
class ClassLabels {
 public:
  explicit ClassLabels(const Tensor& t)
      : narrow_(t.dtype() == DType::kInt32 ? t.data<int32_t>() : nullptr),
        wide_(narrow_ ? nullptr : t.data<int64_t>()),
        count_(t.numel()) {}
  DYGRAPH_INLINE int64_t operator[](int64_t i) const { return narrow_ ? narrow_[i] : wide_[i]; }
  // Before anything reads scores at a label.
  void Check(int64_t classes, int64_t ignore_index) const {
    for (int64_t i = 0; i < count_; ++i) {
      int64_t label = (*this)[i];
      ENFORCE((label >= 0 && label < classes) || label == ignore_index, OutOfRange,
              "every Label must be a class in [0, ", classes, ") or ignore_index (", ignore_index,
              "), got ", label, " at position ", i);
    }
  }
  // The same where no label may be ignored.
  void CheckAll(int64_t classes) const {
    for (int64_t i = 0; i < count_; ++i) {
      int64_t label = (*this)[i];
      ENFORCE(label >= 0 && label < classes, OutOfRange, "every Label must be a class in [0, ",
              classes, "), got ", label, " at position ", i);
    }
  }

 private:
  const int32_t* narrow_;
  const int64_t* wide_;
  int64_t count_;
};

}  // namespace dygraph::labels
