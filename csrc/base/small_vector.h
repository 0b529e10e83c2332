// A vector whose first N elements live inside it: shapes, argument lists and edges rarely need the
// heap.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "base/span.h"

namespace dygraph {

template <class T, uint32_t N>
class SmallVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() = default;
  explicit SmallVector(size_t n, const T& value = T()) { resize(n, value); }
  SmallVector(std::initializer_list<T> list) { Append(list.begin(), list.end()); }
  template <class It, class = decltype(*std::declval<It&>())>
  SmallVector(It first, It last) {
    Append(first, last);
  }
  SmallVector(const SmallVector& other) { CopyFrom(other); }
  SmallVector(SmallVector&& other) noexcept { MoveFrom(std::move(other)); }
  ~SmallVector() { Dispose(); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      if constexpr (!std::is_trivially_copyable_v<T>) clear();
      CopyFrom(other);
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      Dispose();
      data_ = Inline();
      size_ = 0;
      capacity_ = N;
      MoveFrom(std::move(other));
    }
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) {
    CheckIndex(i, size_);
    return data_[i];
  }
  const T& operator[](size_t i) const {
    CheckIndex(i, size_);
    return data_[i];
  }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_t{size_} - 1]; }
  const T& back() const { return (*this)[size_t{size_} - 1]; }
  operator Span<const T>() const { return {data_, size_}; }

  void push_back(T value) { emplace_back(std::move(value)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (__builtin_expect(size_ == capacity_, 0)) Grow(size_ + 1);
    return *new (data_ + size_++) T(std::forward<Args>(args)...);
  }
  void pop_back() {
    back().~T();
    --size_;
  }
  void clear() {
    std::destroy_n(data_, size_);
    size_ = 0;
  }
  void reserve(size_t n) {
    if (n > capacity_) Grow(n);
  }
  void resize(size_t n, const T& value = T()) {
    reserve(n);
    while (size_ > n) pop_back();
    while (size_ < n) new (data_ + size_++) T(value);
  }
  T* insert(T* at, T value) {
    size_t i = at - data_;
    push_back(std::move(value));
    for (size_t k = size_ - 1; k > i; --k) std::swap(data_[k], data_[k - 1]);
    return data_ + i;
  }
  T* erase(T* at) {
    for (T* p = at; p + 1 < end(); ++p) *p = std::move(p[1]);
    pop_back();
    return at;
  }
  template <class It>
  void Append(It first, It last) {
    if constexpr (std::is_pointer_v<It> && std::is_trivially_copyable_v<T>) {
      T* to = Extend(static_cast<size_t>(last - first));
      while (first != last) *to++ = static_cast<T>(*first++);
    } else {
      for (; first != last; ++first) emplace_back(*first);
    }
  }
  // Counts `n` more elements and gives their place, for the caller to fill.
  T* Extend(size_t n) {
    static_assert(std::is_trivially_copyable_v<T>, "elements would exist without a constructor");
    reserve(size_ + n);
    T* added = data_ + size_;
    size_ += static_cast<uint32_t>(n);
    return added;
  }

  bool operator==(const SmallVector& other) const {
    if (size_ != other.size_) return false;
    for (size_t i = 0; i < size_; ++i) {
      if (!(data_[i] == other.data_[i])) return false;
    }
    return true;
  }
  bool operator!=(const SmallVector& other) const { return !(*this == other); }

 private:
  T* Inline() { return reinterpret_cast<T*>(inline_); }
  bool OnHeap() const { return data_ != reinterpret_cast<const T*>(inline_); }
  void Dispose() {
    std::destroy_n(data_, size_);
    if (OnHeap()) ::operator delete(data_);
  }
  void CopyFrom(const SmallVector& other) {
    if constexpr (std::is_trivially_copyable_v<T> && N * sizeof(T) <= 64) {
      if (__builtin_expect(other.size_ <= N, 1)) {  // both have room for N: no call of memcpy
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
        std::memcpy(static_cast<void*>(data_), other.data_, N * sizeof(T));
#pragma GCC diagnostic pop
        size_ = other.size_;
        return;
      }
    }
    reserve(other.size_);
    if constexpr (std::is_trivially_copyable_v<T>) {
      std::memcpy(static_cast<void*>(data_), other.data_, other.size_ * sizeof(T));
    } else {
      std::uninitialized_copy_n(other.data_, other.size_, data_);
    }
    size_ = other.size_;
  }
  void MoveFrom(SmallVector&& other) noexcept {
    if (other.OnHeap()) {
      data_ = std::exchange(other.data_, other.Inline());
      capacity_ = std::exchange(other.capacity_, N);
      size_ = std::exchange(other.size_, 0);
      return;
    }
    std::uninitialized_move_n(other.data_, other.size_, data_);
    size_ = other.size_;
    other.clear();
  }
  __attribute__((noinline)) void Grow(size_t needed) {
    size_t capacity = size_t{capacity_} * 2 > needed ? size_t{capacity_} * 2 : needed;
    constexpr size_t kMost = std::numeric_limits<uint32_t>::max();
    if (capacity > kMost) capacity = needed;
    if (capacity > kMost) FailCapacity(needed, kMost);
    T* bigger = static_cast<T*>(::operator new(capacity * sizeof(T)));
    std::uninitialized_move_n(data_, size_, bigger);
    std::destroy_n(data_, size_);
    if (OnHeap()) ::operator delete(data_);
    data_ = bigger;
    capacity_ = static_cast<uint32_t>(capacity);
  }

  T* data_ = Inline();
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  alignas(T) unsigned char inline_[N * sizeof(T)];
};

}  // namespace dygraph
