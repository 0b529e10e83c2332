// A view of consecutive elements (C++17 has none).
#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

#include "base/bounds.h"

namespace dygraph {

template <class T>
class Span {
 public:
  Span() = default;
  Span(T* data, size_t size) : data_(data), size_(size) {}
  template <class U>
  Span(const std::vector<U>& v) : data_(v.data()), size_(v.size()) {}
  T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) const {
    CheckIndex(i, size_);
    return data_[i];
  }
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace dygraph
