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
  int64_t bound;  // it must lie in [-bound, bound) or [0, bound); kNoBound: it is not allowed
};
constexpr int64_t kNoBound = -1;

// A number under which kernels report; `what` names operator and slot: "gather: Index". The text
// must outlive the process.
int32_t NameReporter(const char* what);
const char* ReporterName(int32_t number);

// The word of the current device, for kernels.
ErrorWord* CurrentErrors();

#ifdef DYGRAPH_CUDA_PASS
// The first report is kept until it is raised.
__host__ __device__ inline void Report(ErrorWord* word, int32_t op, int64_t value, int64_t bound) {
#if defined(__CUDA_ARCH__) || !defined(__CUDACC__)
  if (atomicCAS(&word->op, 0, op) != 0) return;
  word->value = value;
  word->bound = bound;
  __threadfence_system();
  *static_cast<volatile int32_t*>(&word->set) = 1;
#else
  (void)word, (void)op, (void)value, (void)bound;
#endif
}

// Keeps the indices of one input within [0, bound): made on the host, called in a kernel.
class IndexGuard {
 public:
  IndexGuard(const char* what, int64_t bound)
      : word_(CurrentErrors()), op_(NameReporter(what)), bound_(bound) {}
  // The index itself where it is allowed; otherwise it is reported, and 0 stands for it.
  __host__ __device__ int64_t operator()(int64_t i) const {
    if (i >= 0 && i < bound_) return i;
    Report(word_, op_, i, bound_);
    return 0;
  }
  // The same where a negative index counts from the end.
  __host__ __device__ int64_t FromEnd(int64_t i) const {
    if (i >= -bound_ && i < bound_) return i < 0 ? i + bound_ : i;
    Report(word_, op_, i, bound_);
    return 0;
  }

 private:
  ErrorWord* word_;
  int32_t op_;
  int64_t bound_;
};

// Reports values that are not allowed: made on the host, called in a kernel. The text of the error
// has a '%' where the value goes.
class ValueReport {
 public:
  explicit ValueReport(const char* text) : word_(CurrentErrors()), text_(NameReporter(text)) {}
  __host__ __device__ void operator()(int64_t value) const {
    Report(word_, text_, value, kNoBound);
  }

 private:
  ErrorWord* word_;
  int32_t text_;
};
#endif

}  // namespace dygraph::cuda
