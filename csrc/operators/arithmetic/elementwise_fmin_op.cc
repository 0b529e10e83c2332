#include "operators/arithmetic/elementwise_extreme.h"

namespace dygraph::elementwise {
namespace {

struct Fmin {
  static constexpr const char* kComment =
      "Out = the smaller of X and Y, elementwise; of a NaN and a number the number. The gradient "
      "of "
      "ties goes to X. Shapes broadcast as NumPy's; axis >= 0 lays Y along X from that axis on.";
  static constexpr const char* kExample =
      ">>> nan = float(\"nan\")\n"
      ">>> F.elementwise_fmin(to_variable([1.0, nan]), to_variable([3.0, 2.0])).tolist()\n"
      "[1.0, 2.0]";
  template <class T>
  DYGRAPH_INLINE static bool First(T a, T b) {
    return a <= b || b != b;
  }
};

REGISTER_EXTREME(elementwise_fmin, Fmin);

}  // namespace
}  // namespace dygraph::elementwise
