#include "tensor/tensor_array.h"

namespace dygraph {

DType TensorArray::dtype() const {
  for (const Tensor& t : items) {
    if (t.dtype() != DType::kUnset) return t.dtype();
  }
  return DType::kUnset;
}

Place TensorArray::place() const {
  for (const Tensor& t : items) {
    if (t.has_data()) return t.place();
  }
  return CPUPlace();
}

size_t TensorArray::bytes() const {
  size_t sum = 0;
  for (const Tensor& t : items) sum += t.bytes();
  return sum;
}

Ref<TensorArray> TensorArray::Meta() const {
  std::vector<Tensor> metas;
  for (const Tensor& t : items) metas.push_back(t.Meta());
  return MakeRef<TensorArray>(std::move(metas));
}

}  // namespace dygraph
