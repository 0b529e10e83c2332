// What kernels report. A bad index does not end the context, as an assertion on the device would:
// the kernel goes on with an index that is allowed, and writes what it found into a word of mapped
// memory. The next call on the device, and each wait, reads the word and raises.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "cuda/stream.h"

namespace dygraph::cuda {

struct ErrorWord {
  int32_t set;    // not 0: the rest is the first report
  int32_t op;     // who reported: a number of NumberOf
  int64_t value;  // what was found; of a ValueReport the bits of a double
  int64_t least;  // it must lie in [least, bound)
  int64_t bound;
};

// Who reports: an operator and one of its inputs, or a whole text with a '%' where the value goes.
// The texts must outlive the process.
struct Reporter {
  const char* op = "a kernel";
  const char* slot = "an input";  // nullptr: op is the text
};
// A number under which kernels report, the same for the same texts.
DYGRAPH_CUDA_API int32_t NumberOf(const Reporter& reporter);
Reporter ReporterOf(int32_t number);

// The word of the current device, for kernels.
DYGRAPH_CUDA_API ErrorWord* CurrentErrors();

#ifdef DYGRAPH_CUDA_PASS
// The first report is kept until it is raised.
__host__ __device__ inline void Report(const ErrorWord& found, ErrorWord* word) {
#if defined(__CUDA_ARCH__) || !defined(__CUDACC__)
  if (atomicCAS(&word->op, 0, found.op) != 0) return;
  word->value = found.value;
  word->least = found.least;
  word->bound = found.bound;
  __threadfence_system();
  *static_cast<volatile int32_t*>(&word->set) = 1;
#else
  (void)found, (void)word;
#endif
}

// Reports values that are not allowed: made on the host, called in a kernel.
class ValueReport {
 public:
  explicit ValueReport(const char* text)
      : word_(CurrentErrors()), number_(NumberOf({text, nullptr})) {}
  __host__ __device__ void operator()(double value) const {
    ErrorWord found = {1, number_, 0, 0, 0};
    memcpy(&found.value, &value, sizeof value);
    Report(found, word_);
  }

 private:
  ErrorWord* word_;
  int32_t number_;
};

// Keeps the indices of one input within [0, bound), or [-bound, bound) where negative ones count
// from the end: made on the host, called in a kernel. op/index_guard.h is its word for operators.
class IndexGuard {
 public:
  IndexGuard(const Reporter& reporter, int64_t bound, bool from_end = false)
      : word_(CurrentErrors()),
        op_(NumberOf(reporter)),
        least_(from_end ? -bound : 0),
        bound_(bound) {}
  // The index from 0 up where it is allowed; otherwise it is reported, and 0 stands for it.
  __host__ __device__ int64_t operator()(int64_t i) const {
    if (i >= least_ && i < bound_) return i < 0 ? i + bound_ : i;
    Report({1, op_, i, least_, bound_}, word_);
    return 0;
  }

 private:
  ErrorWord* word_;
  int32_t op_;
  int64_t least_, bound_;
};
#endif

}  // namespace dygraph::cuda
