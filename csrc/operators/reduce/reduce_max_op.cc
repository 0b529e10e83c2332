#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/reduce/reduce_extreme.h"

namespace dygraph::reduce {
namespace {

void DefineMax(OpDef& op) {
  DefineReduce(op,
               "Out = the largest element of X over the axes of dim; a NaN wins. The gradient of "
               "ties goes to the first.")
      .Grad(CallGradient);
}

template <class T>
struct ReduceMaxKernel {
  static void Compute(KernelContext& ctx) { ComputeExtreme<kernels::MaxOp, T>(ctx); }
};

void DefineMaxGrad(OpDef& op) {
  namespace e = extreme_grad;
  // a choice of elements: linear in Out@GRAD, flat in X
  e::Define(op, "reduce_max").Grad([](GradBuilder& g) {
    g.Call("reduce_max_grad_grad", {g.Input(e::kX), g.Input(e::kOut), g.OutputGrad(e::kXGrad)},
           {g.InputGrad(e::kOutGrad)})
        .SameAttrs();
  });
}

void DefineMaxGradGrad(OpDef& op) {
  namespace e = extreme_grad_grad;
  e::Define(op, "reduce_max").Grad([](GradBuilder& g) {
    g.Call("reduce_max_grad", {g.Input(e::kX), g.Input(e::kOut), g.OutputGrad(e::kOutGradGrad)},
           {g.InputGrad(e::kXGradGrad)})
        .SameAttrs();
  });
}

REGISTER_OPERATOR(reduce_max, DefineMax);
REGISTER_OPEN_ATTRS(reduce_max, "dim");
REGISTER_LOD_RULE(reduce_max, KeepsRows);
REGISTER_KERNELS(reduce_max, ReduceMaxKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(reduce_max_grad, DefineMaxGrad);
REGISTER_KERNELS(reduce_max_grad, extreme_grad::Kernel, float, double);
REGISTER_OPERATOR(reduce_max_grad_grad, DefineMaxGradGrad);
REGISTER_KERNELS(reduce_max_grad_grad, extreme_grad_grad::Kernel, float, double);

}  // namespace
}  // namespace dygraph::reduce
