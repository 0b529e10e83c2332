#include "platform/float_status.h"

#include <atomic>

#include "platform/threads.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace dygraph {

#if defined(__x86_64__)
bool TakeInvalid() {
  constexpr unsigned kInvalid = 1;
  std::atomic<bool> found{false};
  const int threads = NumThreads();
#ifdef _OPENMP
#pragma omp parallel num_threads(threads) if (threads > 1)
#endif
  {
    const unsigned status = _mm_getcsr();
    if (status & kInvalid) {
      _mm_setcsr(status & ~kInvalid);
      found = true;
    }
  }
  return found;
}
#else
bool TakeInvalid() { return false; }
#endif

}  // namespace dygraph
