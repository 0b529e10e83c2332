// A weight in the form that a kernel prefers, such as a filter in a library's order, kept beside a
// call that is repeated with the same weight, or in place of the weight.
#pragma once

#include <memory>
#include <mutex>

#include "op/kernel.h"
#include "tensor/tensor.h"

namespace dygraph {

// Safe from any thread. The weight's storage is held, so a write to the weight goes to a copy (copy
// on write) and the form stays valid. Forms of foreign memory, which its owner may write at
// any time, are never kept.
class KeptForm {
 public:
  class Form {  // kernels derive theirs
   public:
    // `bytes` count while it lives; `library`: of kernels that take it in place of the weight.
    Form(size_t bytes, Library library);
    virtual ~Form();
    Form(const Form&) = delete;
    Form& operator=(const Form&) = delete;
    Library library() const { return library_; }
    // The weight again, bit for bit, where the form says so.
    virtual bool restores() const { return false; }
    virtual Tensor Restore() const { return Tensor(); }
    // The form in the memory of the weight itself, which is overwritten; nullptr where it does not
    // fit. What others still use of the form before stays.
    virtual std::shared_ptr<const Form> MovedInto(Tensor*) const { return nullptr; }

   private:
    size_t bytes_;
    Library library_;
  };
  // Whether another form of so many bytes may be kept: all of them have a bound.
  static bool HasRoom(size_t bytes);

  static bool MayKeep(const Tensor& weight) {
    return weight.storage() && !weight.storage()->foreign();
  }

  // The form last made of these values; nullptr if there is none.
  std::shared_ptr<const Form> Find(const Tensor& weight) {
    std::lock_guard<std::mutex> lock(mutex_);
    bool same =
        storage_ == weight.storage() && data_ == weight.raw_data() && dims_ == weight.dims();
    return same ? form_ : nullptr;
  }

  // Where the weight has no other holder, it becomes a shape: the form, which is the result, is all
  // there is from here on, and found for that shape. It moves into the weight's memory, so that the
  // allocator is left with no holes of the sizes of weights.
  std::shared_ptr<const Form> TakeOver(Tensor* weight) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!form_ || !form_->restores() || !storage_ || storage_ != weight->storage()) return nullptr;
    storage_.reset();
    if (!weight->OwnsStorage()) {
      storage_ = weight->storage();
      return nullptr;
    }
    if (std::shared_ptr<const Form> moved = form_->MovedInto(weight)) form_ = std::move(moved);
    *weight = weight->Meta();
    data_ = nullptr;
    return form_;
  }

  void Keep(const Tensor& weight, std::shared_ptr<const Form> form) {
    std::shared_ptr<const Form> old;  // ends outside the lock
    std::lock_guard<std::mutex> lock(mutex_);
    old = std::exchange(form_, std::move(form));
    storage_ = weight.storage();
    data_ = weight.raw_data();
    dims_ = weight.dims();
  }

 private:
  std::mutex mutex_;
  Ref<Storage> storage_;
  const void* data_ = nullptr;
  Dims dims_;
  std::shared_ptr<const Form> form_;
};

}  // namespace dygraph
