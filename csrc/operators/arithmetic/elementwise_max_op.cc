#include "operators/arithmetic/elementwise_extreme.h"

namespace dygraph::elementwise {
namespace {

struct Max {
  static constexpr const char* kComment =
      "Out = the larger of X and Y, elementwise; a NaN wins. The gradient of ties goes to X. "
      "Shapes "
      "broadcast as NumPy's; axis >= 0 lays Y along X from that axis on.";
  static constexpr const char* kExample =
      ">>> F.elementwise_max(to_variable([1.0, 5.0]), to_variable([3.0, 2.0])).tolist()\n"
      "[3.0, 5.0]";
  template <class T>
  DYGRAPH_INLINE static bool First(T a, T b) {
    return a >= b || a != a;
  }
};

REGISTER_EXTREME(elementwise_max, Max);

}  // namespace
}  // namespace dygraph::elementwise
