#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0;

void DefineDeleteVar(OpDef& op) {
  op.Comment(
        "Ends the values of variables: in a program those of a run hold nothing after it, while "
        "persistable ones stay in the scope. It changes nothing beside memory, which the executor "
        "gives back after the last use anyway; eagerly a Variable ends when Python lets it go.")
      .Example(">>> dygraph.run_op('delete_var', {'X': [to_variable([1.0])]}, {})\n{}")
      .Input(kX, "X", "variables of any kind",
             kDuplicable | kTakesRows | kTakesArray | kTakesTable | kMayBeUnwritten)
      .Shape([](InferContext&) {})
      .KernelDType([](const Call&) { return DType::kFloat32; })
      .MixedDTypes()
      .NoGrad();
}

template <class>
struct DeleteVarKernel {
  static void Compute(KernelContext&) {}  // the executor ends them
};

REGISTER_OPERATOR(delete_var, DefineDeleteVar);
REGISTER_KERNELS(delete_var, DeleteVarKernel, AllTypes);

}  // namespace
}  // namespace dygraph
