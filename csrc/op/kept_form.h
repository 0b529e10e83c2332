// A weight in the form that a kernel likes, such as a filter in the order of a library, kept beside
// a call that is repeated with the same weight.
#pragma once

#include <memory>
#include <mutex>

#include "tensor/tensor.h"

namespace dygraph {

// Safe from any thread. The weight's storage is held, so that whoever writes to the weight writes
// elsewhere (copy on write): what was made of it stays true. The memory of somebody else, who may
// write at any time, is never kept.
class KeptForm {
 public:
  struct Form {  // kernels derive theirs
    virtual ~Form() = default;
  };

  // The one beside the call that this thread runs; nullptr: nobody repeats it.
  static KeptForm* Current();
  class Beside {  // says so, while it lives
   public:
    explicit Beside(KeptForm* form);
    ~Beside();
    Beside(const Beside&) = delete;
    Beside& operator=(const Beside&) = delete;

   private:
    KeptForm* before_;
  };

  static bool MayKeep(const Tensor& weight) {
    return weight.storage() && !weight.storage()->foreign();
  }

  // What was last made of these very values; nullptr when there is none.
  std::shared_ptr<const Form> Find(const Tensor& weight) {
    std::lock_guard<std::mutex> lock(mutex_);
    bool same =
        storage_ == weight.storage() && data_ == weight.raw_data() && dims_ == weight.dims();
    return same ? form_ : nullptr;
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
