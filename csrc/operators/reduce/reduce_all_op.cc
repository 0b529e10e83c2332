#include "op/lod_rule.h"
#include "operators/reduce/reduce_truth.h"

namespace dygraph::reduce {
namespace {

template <class T>
using AllKernel = TruthKernel<kernels::AllOp<uint8_t>, T>;

REGISTER_OPERATOR(reduce_all, [](OpDef& op) {
  REGISTER_LOD_RULE(reduce_all, TruthKeepsRows);
  DefineTruth(op,
              "Out = True where all elements of X are true over the axes of dim; of nothing: True. "
              "Numbers are true where they are not 0.");
});
REGISTER_KERNELS(reduce_all, AllKernel, AllTypes);

}  // namespace
}  // namespace dygraph::reduce
