// A rare part of a larger value.
#pragma once

#include <memory>
#include <utility>

namespace dygraph {

// An optional value on the heap: one pointer while absent, so that rare fields do not swell every
// message.
template <class T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(const Boxed& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(Boxed other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }
  explicit operator bool() const { return value_ != nullptr; }
  T& operator*() const { return *value_; }
  T* operator->() const { return value_.get(); }
  T& emplace() { return *(value_ = std::make_unique<T>()); }
  void reset() { value_.reset(); }
  bool operator==(const Boxed& o) const {
    return value_ && o.value_ ? *value_ == *o.value_ : value_ == o.value_;
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace dygraph
