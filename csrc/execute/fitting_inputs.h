// Inputs with which a gradient call was found to fit its forward call.
#pragma once

#include "op/call.h"

namespace dygraph::program {

// Made again with inputs of the same shapes and types the call fits, too: where all are tensors of
// fractions without levels of detail, since these decide no shape by what they hold.
class FittingInputs {
 public:
  bool Match(const Call& call) const {
    const Span<const Value* const> flat = call.in.flat();
    if (!known_ || flat.size() != dims_.size()) return false;
    for (size_t i = 0; i < flat.size(); ++i) {
      if (!flat[i] || !flat[i]->is_tensor()) return false;
      const Tensor& t = flat[i]->tensor();
      if (t.dtype() != dtypes_[i] || t.lod() || !(t.dims() == dims_[i])) return false;
    }
    return true;
  }
  // The inputs of the next run; they fit once the call has run.
  void Note(const Call& call) {
    known_ = false;
    dims_.clear();
    dtypes_.clear();
    for (const Value* v : call.in.flat()) {
      if (!v || !v->is_tensor() || !IsInexact(v->dtype()) || v->tensor().lod()) return;
      dims_.push_back(v->dims());
      dtypes_.push_back(v->dtype());
    }
  }
  void Confirm(const Call& call) { known_ = dims_.size() == call.in.flat().size(); }

 private:
  bool known_ = false;
  SmallVector<Dims, 4> dims_;
  SmallVector<DType, 4> dtypes_;
};

}  // namespace dygraph::program
