#include "op/lod_rule.h"
#include "operators/reduce/arg_extremum.h"

namespace dygraph::arg_extremum {
namespace {

void DefineArgMax(OpDef& op) {
  Define(op,
         "Out = the position of the greatest element of X along an axis; of several the first. A "
         "NaN counts as the greatest.",
         ">>> F.arg_max(to_variable([[1.0, 5.0, 2.0], [7.0, 0.0, 3.0]]), axis=1).tolist()\n"
         "[1, 0]");
}

template <class T>
struct ArgMaxKernel {
  static void Compute(KernelContext& ctx) {
    arg_extremum::Compute<T, true>(ctx);
  }
};

REGISTER_OPERATOR(arg_max, DefineArgMax);
REGISTER_OPEN_ATTRS(arg_max, "axis");
REGISTER_LOD_RULE(arg_max, KeepsRows);
REGISTER_KERNELS(arg_max, ArgMaxKernel, uint8_t, int8_t, int16_t, int32_t, int64_t, float,
                    double);

}  // namespace
}  // namespace dygraph::arg_extremum
