#include "platform/float_status.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace dygraph {

#if defined(__x86_64__)
bool TakeInvalid() {
  constexpr unsigned kInvalid = 1;
  const unsigned status = _mm_getcsr();
  if (!(status & kInvalid)) return false;
  _mm_setcsr(status & ~kInvalid);
  return true;
}
#else
bool TakeInvalid() { return false; }
#endif

}  // namespace dygraph
