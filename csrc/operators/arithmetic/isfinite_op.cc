#include "operators/arithmetic/finiteness.h"

namespace dygraph::finiteness {
namespace {

template <class T>
using IsfiniteKernel = WholeKernel<Finite, T>;

REGISTER_OPERATOR(isfinite, [](OpDef& op) {
  DefineWhole(op,
              "Out = True where no element of X is infinite or NaN, one answer for all. "
              "isfinite_v2 answers for each.",
              ">>> x = to_variable([1.0, np.inf, np.nan])\n"
              ">>> F.isfinite(x).item(), F.isfinite(x[:1]).item()\n"
              "(False, True)");
});
REGISTER_KERNELS(isfinite, IsfiniteKernel, float, double, float16, bfloat16, uint8_t, int8_t,
                 int16_t, int32_t, int64_t, complex64, complex128);

}  // namespace
}  // namespace dygraph::finiteness
