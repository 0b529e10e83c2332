#include "operators/arithmetic/bitwise.h"

namespace dygraph::bitwise {
namespace {

struct Or {
  template <class U>
  DYGRAPH_INLINE static auto F(U a, U b) {
    return a | b;
  }
};
template <class T>
using BitwiseOrKernel = Kernel<Or, T>;

REGISTER_OPERATOR(bitwise_or, [](OpDef& op) {
  Define(op, "Out = X | Y, the OR of their bits, elementwise. Shapes broadcast as NumPy's.",
         ">>> F.bitwise_or(to_variable([6, 12]), to_variable([3, 10])).tolist()\n"
         "[7, 14]");
  REGISTER_LOD_ALSO(bitwise_or, kY);
});
REGISTER_KERNELS(bitwise_or, BitwiseOrKernel, bool, uint8_t, int8_t, int16_t, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::bitwise
