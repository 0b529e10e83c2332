// The form of a value: what a kernel was chosen by, and what is planned for it.
#pragma once

#include "tensor/value.h"

namespace dygraph::program {

struct Form {
  Dims dims;
  DType dtype = DType::kUnset;
  Layout layout = Layout::kPlain;
  bool has_data = false;  // else a shape that is read alone

  Form() = default;
  explicit Form(const Tensor& t)
      : dims(t.dims()), dtype(t.dtype()), layout(t.layout()), has_data(t.has_data()) {}
  bool operator==(const Form& o) const {
    return dims == o.dims && dtype == o.dtype && layout == o.layout && has_data == o.has_data;
  }
  bool Fits(const Value& v) const {
    if (!v.is_tensor()) return false;
    const Tensor& t = v.tensor();
    return t.dims() == dims && t.dtype() == dtype && t.layout() == layout &&
           t.has_data() == has_data && !t.lod();
  }
};

}  // namespace dygraph::program
