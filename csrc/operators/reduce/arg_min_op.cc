#include "op/lod_rule.h"
#include "operators/reduce/arg_extremum.h"

namespace dygraph::arg_extremum {
namespace {

void DefineArgMin(OpDef& op) {
  Define(op,
         "Out = the position of the least element of X along an axis; of several the first. A NaN "
         "counts as the least.",
         ">>> F.arg_min(to_variable([[1.0, 5.0, 2.0], [7.0, 0.0, 3.0]]), axis=1).tolist()\n"
         "[0, 1]");
}

template <class T>
struct ArgMinKernel {
  static void Compute(KernelContext& ctx) {
    arg_extremum::Compute<T, false>(ctx);
  }
};

REGISTER_OPERATOR(arg_min, DefineArgMin);
REGISTER_OPEN_ATTRS(arg_min, "axis");
REGISTER_LOD_RULE(arg_min, KeepsRows);
REGISTER_KERNELS(arg_min, ArgMinKernel, uint8_t, int8_t, int16_t, int32_t, int64_t, float,
                    double);

}  // namespace
}  // namespace dygraph::arg_extremum
