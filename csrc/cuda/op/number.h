// op/number.h on the device: the loop reads the number where it lies.
#pragma once

#include "base/marks.h"
#include "tensor/tensor.h"

namespace dygraph {

template <class T>
class Number {
 public:
  explicit Number(const Tensor& t) : dtype_(t.dtype()), at_(t.raw_data()) {
    ENFORCE(t.numel() == 1, InvalidArgument,
            "only a tensor of one element converts to a number, got shape ", t.dims());
    ENFORCE(IsFloating(dtype_) || dtype_ == DType::kInt32 || dtype_ == DType::kInt64, Type,
            "a number must be floating, of int32 or of int64, got ", dtype_);
  }
  explicit Number(T value) : dtype_(DType::kUnset), value_(value) {}
  // What the loop finds at an address of the device.
  explicit Number(const T* at) : dtype_(DTypeOf<T>::value), at_(at) {}
  DYGRAPH_BOTH T operator()() const {
    switch (dtype_) {
      case DType::kUnset: return value_;
      case DType::kFloat32: return static_cast<T>(*static_cast<const float*>(at_));
      case DType::kFloat16:
        return static_cast<T>(static_cast<float>(*static_cast<const float16*>(at_)));
      case DType::kBFloat16:
        return static_cast<T>(static_cast<float>(*static_cast<const bfloat16*>(at_)));
      case DType::kFloat64: return static_cast<T>(*static_cast<const double*>(at_));
      case DType::kInt32: return static_cast<T>(*static_cast<const int32_t*>(at_));
      default: return static_cast<T>(*static_cast<const int64_t*>(at_));
    }
  }

 private:
  DType dtype_;
  union {
    const void* at_;
    T value_;
  };
};

}  // namespace dygraph
