// Numbers that the host has made and a loop reads.
#pragma once

#include <vector>

#include "op/op_registry.h"

namespace dygraph {

// A list in memory of the kernel's place: on the host the vector itself, which must outlive it.
template <class T>
class PlacedList {
 public:
  PlacedList(KernelContext& ctx, const std::vector<T>& list) : data_(list.data()) {
    if (ctx.place() == CPUPlace() || list.empty()) return;
    copy_ = Tensor({static_cast<int64_t>(list.size())}, DTypeOf<T>::value, ctx.place());
    ctx.device().CopyFromHost(copy_.mutable_raw_data(), list.data(), list.size() * sizeof(T));
    data_ = copy_.template data<T>();
  }
  const T* data() const { return data_; }

 private:
  Tensor copy_;
  const T* data_;
};

}  // namespace dygraph
