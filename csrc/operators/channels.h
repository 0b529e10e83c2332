// For operators whose data_format may put the channels last: their loops know one order, so the
// data is turned before and after.
#pragma once

#include "kernels/transpose.h"
#include "op/op_registry.h"

namespace dygraph::channels {

// X with its channels second.
Tensor Second(const Tensor& t, bool channels_last);

// An output computed with the channels second, and put where it belongs at the end.
template <class T>
class Result {
 public:
  Result(Tensor* out, bool channels_last) : out_(out), turned_(out && channels_last) {
    if (turned_) copy_.Allocate(Dims(out->dims()), out->dtype(), out->place());
  }
  T* data() {
    if (!out_) return nullptr;
    return turned_ ? copy_.mutable_data<T>() : out_->mutable_data<T>();
  }
  void Finish() {
    if (!turned_) return;
    const Dims& d = out_->dims();
    int rank = d.rank();
    kernels::NchwToNhwc(copy_.raw_data(), d[0], d[rank - 1], Numel(d, 1, rank - 1),
                        out_->mutable_raw_data(), SizeOf(out_->dtype()));
  }

 private:
  Tensor* out_;
  Tensor copy_;
  bool turned_;
};

}  // namespace dygraph::channels
