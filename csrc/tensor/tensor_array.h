// A list of tensors that a program fills and reads by number. It is a value: a change of a shared
// one first copies the handles, never the elements.
#pragma once

#include <vector>

#include "tensor/tensor.h"
#include "tensor/value_object.h"

namespace dygraph {

class TensorArray : public ValueObject {
 public:
  TensorArray() = default;
  explicit TensorArray(std::vector<Tensor> items) : items(std::move(items)) {}
  // Elements that were never written have no type. While a program is described the array holds one
  // element without data, which shows the shape and type of all.
  std::vector<Tensor> items;

  DType dtype() const;  // of the elements, unset where there are none
  Place place() const;
  size_t bytes() const;
  Ref<TensorArray> Meta() const;  // shapes and types of the elements, no data
};

}  // namespace dygraph
