#include "operators/activation/step.h"

namespace dygraph::activation {
namespace {

struct Ceiling {
  static constexpr const char* kComment =
      "Out = the smallest whole number not below X, elementwise. The gradient is 0.";
  static constexpr const char* kExample =
      ">>> F.ceil(to_variable([1.2, -1.2, 2.0])).tolist()\n"
      "[2.0, -1.0, 2.0]";
  template <class T>
  static DYGRAPH_INLINE T Whole(T x) {
    return std::ceil(x);
  }
};
using Ceil = Step<Ceiling>;

REGISTER_ELEMENTWISE(ceil, Ceil, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::activation
