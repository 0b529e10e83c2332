#include "operators/arithmetic/bitwise.h"

namespace dygraph::bitwise {
namespace {

struct Xor {
  template <class U>
  DYGRAPH_INLINE static auto F(U a, U b) {
    return a ^ b;
  }
};
template <class T>
using BitwiseXorKernel = Kernel<Xor, T>;

REGISTER_OPERATOR(bitwise_xor, [](OpDef& op) {
  Define(op,
         "Out = X ^ Y, the exclusive OR of their bits, elementwise. Shapes broadcast as NumPy's.",
         ">>> F.bitwise_xor(to_variable([6, 12]), to_variable([3, 10])).tolist()\n"
         "[5, 6]");
  REGISTER_LOD_ALSO(bitwise_xor, kY);
});
REGISTER_KERNELS(bitwise_xor, BitwiseXorKernel, bool, uint8_t, int8_t, int16_t, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::bitwise
