#include "op/pointwise.h"
#include "operators/arithmetic/finiteness.h"

namespace dygraph::finiteness {
namespace {

template <class T>
using IsinfV2Kernel = EachKernel<Infinite, T>;

REGISTER_OPERATOR(isinf_v2, [](OpDef& op) {
  DefineEach(op, "Out = True where X is infinite, elementwise.",
             ">>> F.isinf_v2(to_variable([1.0, -np.inf, np.nan])).tolist()\n"
             "[False, True, False]");
});
REGISTER_POINTWISE(isinf_v2);
REGISTER_KERNELS(isinf_v2, IsinfV2Kernel, float, double, float16, bfloat16, uint8_t, int8_t,
                 int16_t, int32_t, int64_t, complex64, complex128);

}  // namespace
}  // namespace dygraph::finiteness
