#include "op/pointwise.h"
#include "operators/arithmetic/logical.h"

namespace dygraph::logical {
namespace {

struct And {
  DYGRAPH_INLINE static uint8_t F(uint8_t a, uint8_t b) { return a & b; }
};
template <class T>
using LogicalAndKernel = Kernel<And, T>;

REGISTER_OPERATOR(logical_and, [](OpDef& op) {
  Define(op, "Out = True where both X and Y are true, elementwise. Shapes broadcast as NumPy's.",
         ">>> x, y = to_variable([True, True, False]), to_variable([True, False, False])\n"
         ">>> F.logical_and(x, y).tolist()\n"
         "[True, False, False]");
  REGISTER_LOD_ALSO(logical_and, kY);
});
REGISTER_POINTWISE(logical_and);
REGISTER_KERNELS(logical_and, LogicalAndKernel, bool, uint8_t, int8_t, int16_t, int32_t, int64_t,
                 float16, bfloat16, float, double);

}  // namespace
}  // namespace dygraph::logical
