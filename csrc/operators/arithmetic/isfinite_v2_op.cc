#include "op/pointwise.h"
#include "operators/arithmetic/finiteness.h"

namespace dygraph::finiteness {
namespace {

template <class T>
using IsfiniteV2Kernel = EachKernel<Finite, T>;

REGISTER_OPERATOR(isfinite_v2, [](OpDef& op) {
  DefineEach(op, "Out = True where X is neither infinite nor NaN, elementwise.",
             ">>> F.isfinite_v2(to_variable([1.0, np.inf, np.nan])).tolist()\n"
             "[True, False, False]");
});
REGISTER_POINTWISE(isfinite_v2);
REGISTER_KERNELS(isfinite_v2, IsfiniteV2Kernel, float, double, float16, bfloat16, uint8_t, int8_t,
                 int16_t, int32_t, int64_t, complex64, complex128);

}  // namespace
}  // namespace dygraph::finiteness
