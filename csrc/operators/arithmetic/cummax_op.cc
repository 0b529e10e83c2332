#include <limits>

#include "operators/arithmetic/cumulative_extreme.h"

namespace dygraph::cumulative {
namespace {

struct MaxSoFar {
  template <class T>
  DYGRAPH_INLINE static bool Replaces(T v, T best) {
    return v >= best;
  }
  template <class T>
  DYGRAPH_INLINE static T Least() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
};

void DefineCummax(OpDef& op) {
  op.Comment(
        "out[i] = the greatest of x[0] ... x[i] along an axis, indices[i] where it stands; a NaN, "
        "once "
        "met, stays.")
      .Example(
          ">>> out, indices = F.cummax(to_variable([1.0, 3.0, 2.0, 4.0]))\n"
          ">>> out.tolist(), indices.tolist()\n"
          "([1.0, 3.0, 3.0, 4.0], [0, 1, 1, 3])");
  DefineExtreme(op);
}

template <class T>
using CummaxKernel = ExtremeKernel<MaxSoFar, T>;

REGISTER_OPERATOR(cummax, DefineCummax);
REGISTER_LOD_RULE(cummax, ExtremeKeepsRows);
REGISTER_KERNELS(cummax, CummaxKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph::cumulative
