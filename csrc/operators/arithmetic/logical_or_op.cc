#include "op/pointwise.h"
#include "operators/arithmetic/logical.h"

namespace dygraph::logical {
namespace {

struct Or {
  DYGRAPH_INLINE static uint8_t F(uint8_t a, uint8_t b) { return a | b; }
};
template <class T>
using LogicalOrKernel = Kernel<Or, T>;

REGISTER_OPERATOR(logical_or, [](OpDef& op) {
  Define(op, "Out = True where X or Y or both are true, elementwise. Shapes broadcast as NumPy's.",
         ">>> x, y = to_variable([True, True, False]), to_variable([True, False, False])\n"
         ">>> F.logical_or(x, y).tolist()\n"
         "[True, True, False]");
  REGISTER_LOD_ALSO(logical_or, kY);
});
REGISTER_POINTWISE(logical_or);
REGISTER_KERNELS(logical_or, LogicalOrKernel, bool, uint8_t, int8_t, int16_t, int32_t, int64_t,
                 float16, bfloat16, float, double);

}  // namespace
}  // namespace dygraph::logical
