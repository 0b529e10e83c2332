#include "op/lod_rule.h"
#include "operators/reduce/reduce_truth.h"

namespace dygraph::reduce {
namespace {

template <class T>
using AnyKernel = TruthKernel<kernels::AnyOp<uint8_t>, T>;

REGISTER_OPERATOR(reduce_any, [](OpDef& op) {
  REGISTER_LOD_RULE(reduce_any, TruthKeepsRows);
  DefineTruth(op,
              "Out = True where an element of X is true over the axes of dim; of nothing: False. "
              "Numbers are true where they are not 0.");
});
REGISTER_KERNELS(reduce_any, AnyKernel, AllTypes);

}  // namespace
}  // namespace dygraph::reduce
