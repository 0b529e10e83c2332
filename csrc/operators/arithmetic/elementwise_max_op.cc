#include "op/gradient_call.h"
#include "operators/arithmetic/elementwise_extreme.h"

namespace dygraph::elementwise {
namespace {

struct Max {
  template <class T>
  static bool First(T a, T b) {
    return a >= b || a != a;
  }
};
template <class T>
using MaxKernel = ExtremeKernel<Max, T>;
template <class T>
using MaxGradKernel = extreme_grad::Kernel<Max, T>;
template <class T>
using MaxGradGradKernel = extreme_grad_grad::Kernel<Max, T>;

void DefineMax(OpDef& op) {
  DefineBinary(op,
               "Out = the larger of X and Y, elementwise; a NaN wins. The gradient of ties goes to "
               "X. Shapes broadcast as "
               "NumPy's; axis >= 0 lays Y along X from that axis on.")
      .Example(
          ">>> F.elementwise_max(to_variable([1.0, 5.0]), to_variable([3.0, 2.0])).tolist()\n"
          "[3.0, 5.0]")
      .Grad(CallGradient);
}

void DefineMaxGrad(OpDef& op) {
  namespace e = extreme_grad;
  // a choice of elements: linear in Out@GRAD, flat in X and Y
  e::Define(op, "elementwise_max").Grad([](GradBuilder& g) {
    g.Call("elementwise_max_grad_grad",
           {g.Input(e::kX), g.Input(e::kY), g.InputShape(e::kOutGrad), g.OutputGrad(e::kXGrad),
            g.OutputGrad(e::kYGrad)},
           {g.InputGrad(e::kOutGrad)})
        .SameAttrs();
  });
}

void DefineMaxGradGrad(OpDef& op) {
  namespace e = extreme_grad_grad;
  e::Define(op, "elementwise_max").Grad([](GradBuilder& g) {
    g.Call("elementwise_max_grad", {g.Input(e::kX), g.Input(e::kY), g.OutputGrad(e::kOutGradGrad)},
           {g.InputGrad(e::kXGradGrad), g.InputGrad(e::kYGradGrad)})
        .SameAttrs();
  });
}

REGISTER_OPERATOR(elementwise_max, DefineMax);
REGISTER_LOD_RULE(elementwise_max, elementwise::KeepsRows);
REGISTER_LOD_ALSO(elementwise_max, elementwise::kY);
REGISTER_CPU_KERNEL(elementwise_max, MaxKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(elementwise_max_grad, DefineMaxGrad);
REGISTER_CPU_KERNEL(elementwise_max_grad, MaxGradKernel, float, double);
REGISTER_OPERATOR(elementwise_max_grad_grad, DefineMaxGradGrad);
REGISTER_CPU_KERNEL(elementwise_max_grad_grad, MaxGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph::elementwise
