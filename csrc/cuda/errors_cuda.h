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
  int64_t least;  // it must lie in [least, bound)
  int64_t bound;
};

// Who reports: an operator and one of its inputs. The texts must outlive the process.
struct Reporter {
  const char* op = "a kernel";
  const char* slot = "an input";
};
// A number under which kernels report, the same for the same texts.
int32_t NumberOf(const Reporter& reporter);
Reporter ReporterOf(int32_t number);

// The word of the current device, for kernels.
ErrorWord* CurrentErrors();

#ifdef DYGRAPH_CUDA_PASS
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
    Report(i);
    return 0;
  }

 private:
  __host__ __device__ void Report(int64_t i) const {
#if defined(__CUDA_ARCH__) || !defined(__CUDACC__)
    if (atomicCAS(&word_->op, 0, op_) != 0) return;
    word_->value = i;
    word_->least = least_;
    word_->bound = bound_;
    __threadfence_system();
    *static_cast<volatile int32_t*>(&word_->set) = 1;
#else
    (void)i;
#endif
  }
  ErrorWord* word_;
  int32_t op_;
  int64_t least_, bound_;
};
#endif

}  // namespace dygraph::cuda
