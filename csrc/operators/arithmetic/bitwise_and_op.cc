#include "operators/arithmetic/bitwise.h"

namespace dygraph::bitwise {
namespace {

struct And {
  template <class U>
  DYGRAPH_INLINE static auto F(U a, U b) {
    return a & b;
  }
};
template <class T>
using BitwiseAndKernel = Kernel<And, T>;

REGISTER_OPERATOR(bitwise_and, [](OpDef& op) {
  Define(op, "Out = X & Y, the AND of their bits, elementwise. Shapes broadcast as NumPy's.",
         ">>> F.bitwise_and(to_variable([6, 12]), to_variable([3, 10])).tolist()\n"
         "[2, 8]");
  REGISTER_LOD_ALSO(bitwise_and, kY);
});
REGISTER_KERNELS(bitwise_and, BitwiseAndKernel, bool, uint8_t, int8_t, int16_t, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::bitwise
