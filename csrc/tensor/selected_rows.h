// Some rows of a tall matrix: the gradient of a lookup touches few rows of the table. Row numbers
// may repeat; repeated rows add.
#pragma once

#include <vector>

#include "tensor/tensor.h"
#include "tensor/value_object.h"

namespace dygraph {

class SelectedRows : public ValueObject {
 public:
  // InvalidArgument when they do not fit
  SelectedRows(std::vector<int64_t> rows, int64_t height, Tensor value);

  const std::vector<int64_t>& rows() const { return rows_; }
  int64_t height() const { return height_; }
  const Tensor& value() const { return value_; }
  const Dims& complete_dims() const { return complete_dims_; }  // height x the value's other sizes
  Tensor ToDense() const;
  Ref<SelectedRows> Merged() const;  // rows ascending and distinct, repeated ones added in order

 private:
  SelectedRows OnHost() const;
  std::vector<int64_t> rows_;
  int64_t height_;
  Tensor value_;
  Dims complete_dims_;
};

}  // namespace dygraph
