#include "op/pointwise.h"
#include "operators/arithmetic/logical.h"

namespace dygraph::logical {
namespace {

struct Xor {
  DYGRAPH_INLINE static uint8_t F(uint8_t a, uint8_t b) { return a ^ b; }
};
template <class T>
using LogicalXorKernel = Kernel<Xor, T>;

REGISTER_OPERATOR(logical_xor, [](OpDef& op) {
  Define(
      op,
      "Out = True where exactly one of X and Y is true, elementwise. Shapes broadcast as NumPy's.",
      ">>> x, y = to_variable([True, True, False]), to_variable([True, False, False])\n"
      ">>> F.logical_xor(x, y).tolist()\n"
      "[False, True, False]");
  REGISTER_LOD_ALSO(logical_xor, kY);
});
REGISTER_POINTWISE(logical_xor);
REGISTER_KERNELS(logical_xor, LogicalXorKernel, bool, uint8_t, int8_t, int16_t, int32_t, int64_t,
                 float16, bfloat16, float, double);

}  // namespace
}  // namespace dygraph::logical
