// What kernels report. A bad index does not end the context, as an assertion on the device would:
// the kernel goes on with an index that is allowed, and writes what it found into a word of mapped
// memory. The next call on the device, and each wait, reads the word and raises.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace dygraph::cuda {

struct ErrorWord {
  int32_t set;    // not 0: the rest is the first report
  int32_t op;     // a number of NameReporter
  int64_t value;  // what was found
  int64_t bound;  // it must lie in [-bound, bound) or [0, bound)
};

// A number under which kernels report; `what` names operator and slot: "gather: Index". The text
// must outlive the process.
int32_t NameReporter(const char* what);
const char* ReporterName(int32_t number);

// The word of the current device, for kernels.
ErrorWord* CurrentErrors();

#ifdef DYGRAPH_CUDA_PASS
// Keeps the indices of one input within [0, bound): made on the host, called in a kernel.
class IndexGuard {
 public:
  IndexGuard(const char* what, int64_t bound)
      : word_(CurrentErrors()), op_(NameReporter(what)), bound_(bound) {}
  // The index itself where it is allowed; otherwise it is reported, and 0 stands for it.
  __host__ __device__ int64_t operator()(int64_t i) const {
    if (i >= 0 && i < bound_) return i;
    Report(i);
    return 0;
  }
  // The same where a negative index counts from the end.
  __host__ __device__ int64_t FromEnd(int64_t i) const {
    if (i >= -bound_ && i < bound_) return i < 0 ? i + bound_ : i;
    Report(i);
    return 0;
  }

 private:
  __host__ __device__ void Report(int64_t i) const {
#if defined(__CUDA_ARCH__) || !defined(__CUDACC__)
    if (atomicCAS(&word_->op, 0, op_) != 0) return;
    word_->value = i;
    word_->bound = bound_;
    __threadfence_system();
    *static_cast<volatile int32_t*>(&word_->set) = 1;
#else
    (void)i;
#endif
  }
  ErrorWord* word_;
  int32_t op_;
  int64_t bound_;
};
#endif

}  // namespace dygraph::cuda
