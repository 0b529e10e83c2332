#include "op/pointwise.h"
#include "operators/arithmetic/finiteness.h"

namespace dygraph::finiteness {
namespace {

template <class T>
using IsnanV2Kernel = EachKernel<NotANumber, T>;

REGISTER_OPERATOR(isnan_v2, [](OpDef& op) {
  DefineEach(op, "Out = True where X is NaN, elementwise.",
             ">>> F.isnan_v2(to_variable([1.0, np.inf, np.nan])).tolist()\n"
             "[False, False, True]");
});
REGISTER_POINTWISE(isnan_v2);
REGISTER_KERNELS(isnan_v2, IsnanV2Kernel, float, double, float16, bfloat16, uint8_t, int8_t,
                 int16_t, int32_t, int64_t, complex64, complex128);

}  // namespace
}  // namespace dygraph::finiteness
