// Working memory of a kernel on the current device. All work of a device runs on one stream, so a
// block may be freed before the work that uses it has run.
#pragma once

#include "cuda/stream.h"
#include "tensor/scratch.h"

namespace dygraph::cuda {

template <class T>
class Workspace {
 public:
  explicit Workspace(int64_t n) : block_(CurrentPlace(), static_cast<size_t>(n) * sizeof(T)) {}
  T* data() { return block_.as<T>(); }

 private:
  Scratch block_;
};

}  // namespace dygraph::cuda
