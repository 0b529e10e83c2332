#include "operators/activation/step.h"

namespace dygraph::activation {
namespace {

struct Rounding {
  static constexpr const char* kComment =
      "Out = the whole number nearest to X, halves to the even one as NumPy does (Fluid rounds "
      "them away from 0), elementwise. The gradient is 0.";
  static constexpr const char* kExample =
      ">>> F.round(to_variable([0.5, 1.5, 2.4, -2.6])).tolist()\n"
      "[0.0, 2.0, 2.0, -3.0]";
  template <class T>
  static DYGRAPH_INLINE T Whole(T x) {
    return std::nearbyint(x);
  }
};
using Round = Step<Rounding>;

REGISTER_ELEMENTWISE(round, Round, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::activation
