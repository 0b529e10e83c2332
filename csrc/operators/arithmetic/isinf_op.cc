#include "operators/arithmetic/finiteness.h"

namespace dygraph::finiteness {
namespace {

template <class T>
using IsinfKernel = WholeKernel<Infinite, T>;

REGISTER_OPERATOR(isinf, [](OpDef& op) {
  DefineWhole(op,
              "Out = True where an element of X is infinite, one answer for all. isinf_v2 answers "
              "for each.",
              ">>> x = to_variable([1.0, -np.inf, np.nan])\n"
              ">>> F.isinf(x).item(), F.isinf(x[2:]).item()\n"
              "(True, False)");
});
REGISTER_KERNELS(isinf, IsinfKernel, float, double, float16, bfloat16, uint8_t, int8_t, int16_t,
                 int32_t, int64_t, complex64, complex128);

}  // namespace
}  // namespace dygraph::finiteness
