#include <limits>

#include "operators/arithmetic/cumulative_extreme.h"

namespace dygraph::cumulative {
namespace {

struct MinSoFar {
  template <class T>
  DYGRAPH_INLINE static bool Replaces(T v, T best) {
    return v <= best;
  }
  template <class T>
  DYGRAPH_INLINE static T Least() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
};

void DefineCummin(OpDef& op) {
  op.Comment(
        "out[i] = the least of x[0] ... x[i] along an axis, indices[i] where it stands; a NaN, "
        "once "
        "met, stays.")
      .Example(
          ">>> out, indices = F.cummin(to_variable([4.0, 2.0, 3.0, 1.0]))\n"
          ">>> out.tolist(), indices.tolist()\n"
          "([4.0, 2.0, 2.0, 1.0], [0, 1, 1, 3])");
  DefineExtreme(op);
}

template <class T>
using CumminKernel = ExtremeKernel<MinSoFar, T>;

REGISTER_OPERATOR(cummin, DefineCummin);
REGISTER_LOD_RULE(cummin, ExtremeKeepsRows);
REGISTER_KERNELS(cummin, CumminKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph::cumulative
