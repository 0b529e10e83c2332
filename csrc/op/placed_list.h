// Numbers that the host has made and a loop reads.
#pragma once

#include <vector>

#include "op/op_registry.h"

namespace dygraph {

// A list in memory of the kernel's place: on the host the vector itself, which must outlive it.
class PlacedList {
 public:
  PlacedList(KernelContext& ctx, const std::vector<int64_t>& list) : data_(list.data()) {
    if (ctx.place() == CPUPlace() || list.empty()) return;
    copy_ = Tensor({static_cast<int64_t>(list.size())}, DType::kInt64, ctx.place());
    ctx.device().CopyFromHost(copy_.mutable_raw_data(), list.data(), list.size() * sizeof(int64_t));
    data_ = copy_.data<int64_t>();
  }
  const int64_t* data() const { return data_; }

 private:
  Tensor copy_;
  const int64_t* data_;
};

}  // namespace dygraph
