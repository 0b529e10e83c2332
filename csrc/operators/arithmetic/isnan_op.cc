#include "operators/arithmetic/finiteness.h"

namespace dygraph::finiteness {
namespace {

template <class T>
using IsnanKernel = WholeKernel<NotANumber, T>;

REGISTER_OPERATOR(isnan, [](OpDef& op) {
  DefineWhole(
      op, "Out = True where an element of X is NaN, one answer for all. isnan_v2 answers for each.",
      ">>> x = to_variable([1.0, np.inf, np.nan])\n"
      ">>> F.isnan(x).item(), F.isnan(x[:2]).item()\n"
      "(True, False)");
});
REGISTER_KERNELS(isnan, IsnanKernel, float, double, float16, bfloat16, uint8_t, int8_t, int16_t,
                 int32_t, int64_t, complex64, complex128);

}  // namespace
}  // namespace dygraph::finiteness
