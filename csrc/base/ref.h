// Intrusive reference counting. The count is atomic; a sole owner frees without a locked
// instruction.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace dygraph {

template <class Self>
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void Retain() const { count_.fetch_add(1, std::memory_order_relaxed); }
  void Release() const {
    if (count_.load(std::memory_order_acquire) == 1 ||
        count_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      Self::Destroy(const_cast<Self*>(static_cast<const Self*>(this)));
    }
  }
  uint32_t use_count() const { return count_.load(std::memory_order_acquire); }
  bool unique() const { return use_count() == 1; }

  // The first reference to a new object, which no other thread sees yet: no locked instruction.
  void RetainFirst() const { count_.store(1, std::memory_order_relaxed); }

  static void Destroy(Self* self) { delete self; }  // a class with a pool of its own hides this

 private:
  mutable std::atomic<uint32_t> count_{0};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* p) : p_(p) {
    if (p_) p_->Retain();
  }
  Ref(const Ref& other) : Ref(other.p_) {}
  Ref(Ref&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  ~Ref() {
    if (p_) p_->Release();
  }
  Ref& operator=(const Ref& other) {
    Ref(other).swap(*this);
    return *this;
  }
  Ref& operator=(Ref&& other) noexcept {
    Ref(std::move(other)).swap(*this);
    return *this;
  }
  void swap(Ref& other) noexcept { std::swap(p_, other.p_); }
  void reset() { Ref().swap(*this); }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Ref& other) const { return p_ == other.p_; }
  bool operator!=(const Ref& other) const { return p_ != other.p_; }
  // Gives the owned count to the caller, or takes one over.
  T* Detach() { return std::exchange(p_, nullptr); }
  // Of a new object that holds no reference to itself.
  static Ref New(T* p) {
    p->RetainFirst();
    return Adopt(p);
  }
  static Ref Adopt(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }

 private:
  T* p_ = nullptr;
};

template <class T, class... Args>
Ref<T> MakeRef(Args&&... args) {
  return Ref<T>::New(new T(std::forward<Args>(args)...));
}

}  // namespace dygraph
