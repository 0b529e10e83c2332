#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/reduce/reduce_extreme.h"

namespace dygraph::reduce {
namespace {

void DefineMin(OpDef& op) {
  DefineReduce(op,
               "Out = the smallest element of X over the axes of dim; a NaN wins. The gradient of "
               "ties goes to the first.")
      .Grad(CallGradient);
}

template <class T>
struct ReduceMinKernel {
  static void Compute(KernelContext& ctx) { ComputeExtreme<kernels::MinOp, T>(ctx); }
};

void DefineMinGrad(OpDef& op) {
  namespace e = extreme_grad;
  // a choice of elements: linear in Out@GRAD, flat in X
  e::Define(op, "reduce_min").Grad([](GradBuilder& g) {
    g.Call("reduce_min_grad_grad", {g.Input(e::kX), g.Input(e::kOut), g.OutputGrad(e::kXGrad)},
           {g.InputGrad(e::kOutGrad)})
        .SameAttrs();
  });
}

void DefineMinGradGrad(OpDef& op) {
  namespace e = extreme_grad_grad;
  e::Define(op, "reduce_min").Grad([](GradBuilder& g) {
    g.Call("reduce_min_grad", {g.Input(e::kX), g.Input(e::kOut), g.OutputGrad(e::kOutGradGrad)},
           {g.InputGrad(e::kXGradGrad)})
        .SameAttrs();
  });
}

REGISTER_OPERATOR(reduce_min, DefineMin);
REGISTER_OPEN_ATTRS(reduce_min, "dim");
REGISTER_LOD_RULE(reduce_min, KeepsRows);
REGISTER_KERNELS(reduce_min, ReduceMinKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(reduce_min_grad, DefineMinGrad);
REGISTER_KERNELS(reduce_min_grad, extreme_grad::Kernel, float, double);
REGISTER_OPERATOR(reduce_min_grad_grad, DefineMinGradGrad);
REGISTER_KERNELS(reduce_min_grad_grad, extreme_grad_grad::Kernel, float, double);

}  // namespace
}  // namespace dygraph::reduce
