// An ordered list of parts that copies share until one of them is written: a snapshot of a program
// costs a pointer for each of its parts.
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/ref.h"

namespace dygraph::program {

template <class T>
struct Part : RefCounted<Part<T>> {
  Part() = default;
  explicit Part(T v) : value(std::move(v)) {}
  T value;
};

// The value of a part, for writing: a copy of it where a snapshot reads this one.
template <class T>
T& Own(Ref<Part<T>>& part) {
  if (!part->unique()) part = MakeRef<Part<T>>(T(part->value));
  return part->value;
}

// It reads as a std::vector<T>. What is not const writes: an element that another list shares is
// copied first.
template <class T>
class Items {
  using Parts = std::vector<Ref<Part<T>>>;

  template <bool kConst>
  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = std::conditional_t<kConst, const T*, T*>;
    using reference = std::conditional_t<kConst, const T&, T&>;
    using Position = std::conditional_t<kConst, typename Parts::const_iterator,
                                        typename Parts::iterator>;

    Iterator() = default;
    explicit Iterator(Position at) : at_(at) {}
    reference operator*() const {
      if constexpr (kConst) {
        return (*at_)->value;
      } else {
        return Own(*at_);
      }
    }
    pointer operator->() const { return &**this; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator& operator+=(difference_type n) {
      at_ += n;
      return *this;
    }
    Iterator operator+(difference_type n) const { return Iterator(at_ + n); }
    difference_type operator-(const Iterator& o) const { return at_ - o.at_; }
    bool operator==(const Iterator& o) const { return at_ == o.at_; }
    bool operator!=(const Iterator& o) const { return at_ != o.at_; }

   private:
    Position at_;
  };

 public:
  using value_type = T;
  using iterator = Iterator<false>;
  using const_iterator = Iterator<true>;

  size_t size() const { return parts_.size(); }
  bool empty() const { return parts_.empty(); }
  size_t capacity() const { return parts_.capacity(); }
  void reserve(size_t n) { parts_.reserve(n); }
  void clear() { parts_.clear(); }

  const T& operator[](size_t i) const { return parts_[i]->value; }
  T& operator[](size_t i) { return Own(parts_[i]); }
  const T& at(size_t i) const { return parts_.at(i)->value; }
  T& back() { return Own(parts_.back()); }
  const_iterator begin() const { return const_iterator(parts_.begin()); }
  const_iterator end() const { return const_iterator(parts_.end()); }
  iterator begin() { return iterator(parts_.begin()); }
  iterator end() { return iterator(parts_.end()); }

  T& emplace_back() {
    parts_.push_back(MakeRef<Part<T>>());
    return parts_.back()->value;
  }
  void push_back(T value) { parts_.push_back(MakeRef<Part<T>>(std::move(value))); }
  // The part itself, which both hold from here on.
  void Share(Ref<Part<T>> part) { parts_.push_back(std::move(part)); }
  const Ref<Part<T>>& part(size_t i) const { return parts_[i]; }
  Ref<Part<T>> TakePart(size_t i) { return std::move(parts_[i]); }  // leaves a hole

  template <class Drop>
  void EraseIf(Drop&& drop) {
    size_t kept = 0;
    for (Ref<Part<T>>& part : parts_) {
      if (!drop(static_cast<const T&>(part->value))) parts_[kept++].swap(part);
    }
    parts_.resize(kept);
  }

 private:
  Parts parts_;
};

}  // namespace dygraph::program
