// Checked positions. Vectors, spans and arrays of this library check every index in every build: an
// index that no earlier rule refused becomes a typed error and never reaches foreign memory. Inner
// loops of kernels use raw pointers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dygraph {

[[noreturn]] __attribute__((cold)) void FailIndex(size_t i, size_t size);
[[noreturn]] __attribute__((cold)) void FailCapacity(size_t size, size_t capacity);

inline void CheckIndex(size_t i, size_t size) {
  if (__builtin_expect(i >= size, 0)) FailIndex(i, size);
}

// An array of N elements whose indices are checked.
template <class T, size_t N>
class FixedArray {
 public:
  T& operator[](size_t i) {
    CheckIndex(i, N);
    return items_[i];
  }
  const T& operator[](size_t i) const {
    CheckIndex(i, N);
    return items_[i];
  }
  static constexpr size_t size() { return N; }
  T* data() { return items_; }
  const T* data() const { return items_; }

 private:
  T items_[N];
};

}  // namespace dygraph
