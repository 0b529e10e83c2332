// Numbers that the host has made and loops read.
#pragma once

#include <vector>

namespace dygraph::kernels {

// Shows a vector, which must outlive it; a device gets a copy of its own
// (csrc/cuda/kernels/table.h), good for what is launched while the table lives.
template <class T>
class Table {
 public:
  explicit Table(const std::vector<T>& values) : data_(values.data()) {}
  const T* data() { return data_; }

 private:
  const T* data_;
};

}  // namespace dygraph::kernels
