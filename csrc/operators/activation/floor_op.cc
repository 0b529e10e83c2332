#include "operators/activation/step.h"

namespace dygraph::activation {
namespace {

struct Flooring {
  static constexpr const char* kComment =
      "Out = the largest whole number not above X, elementwise. The gradient is 0.";
  static constexpr const char* kExample =
      ">>> F.floor(to_variable([1.7, -1.2, 2.0])).tolist()\n"
      "[1.0, -2.0, 2.0]";
  template <class T>
  static DYGRAPH_INLINE T Whole(T x) {
    return std::floor(x);
  }
};
using Floor = Step<Flooring>;

REGISTER_ELEMENTWISE(floor, Floor, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::activation
