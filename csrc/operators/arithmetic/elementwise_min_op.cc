#include "op/gradient_call.h"
#include "operators/arithmetic/elementwise_extreme.h"

namespace dygraph::elementwise {
namespace {

struct Min {
  template <class T>
  static bool First(T a, T b) {
    return a <= b || a != a;
  }
};
template <class T>
using MinKernel = ExtremeKernel<Min, T>;
template <class T>
using MinGradKernel = extreme_grad::Kernel<Min, T>;
template <class T>
using MinGradGradKernel = extreme_grad_grad::Kernel<Min, T>;

void DefineMin(OpDef& op) {
  DefineBinary(op,
               "Out = the smaller of X and Y, elementwise; a NaN wins. The gradient of ties goes "
               "to X. Shapes broadcast as "
               "NumPy's; axis >= 0 lays Y along X from that axis on.")
      .Example(
          ">>> F.elementwise_min(to_variable([1.0, 5.0]), to_variable([3.0, 2.0])).tolist()\n"
          "[1.0, 2.0]")
      .Grad(CallGradient);
}

void DefineMinGrad(OpDef& op) {
  namespace e = extreme_grad;
  // a choice of elements: linear in Out@GRAD, flat in X and Y
  e::Define(op, "elementwise_min").Grad([](GradBuilder& g) {
    g.Call("elementwise_min_grad_grad",
           {g.Input(e::kX), g.Input(e::kY), g.InputShape(e::kOutGrad), g.OutputGrad(e::kXGrad),
            g.OutputGrad(e::kYGrad)},
           {g.InputGrad(e::kOutGrad)})
        .SameAttrs();
  });
}

void DefineMinGradGrad(OpDef& op) {
  namespace e = extreme_grad_grad;
  e::Define(op, "elementwise_min").Grad([](GradBuilder& g) {
    g.Call("elementwise_min_grad", {g.Input(e::kX), g.Input(e::kY), g.OutputGrad(e::kOutGradGrad)},
           {g.InputGrad(e::kXGradGrad), g.InputGrad(e::kYGradGrad)})
        .SameAttrs();
  });
}

REGISTER_OPERATOR(elementwise_min, DefineMin);
REGISTER_LOD_RULE(elementwise_min, elementwise::KeepsRows);
REGISTER_LOD_ALSO(elementwise_min, elementwise::kY);
REGISTER_CPU_KERNEL(elementwise_min, MinKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(elementwise_min_grad, DefineMinGrad);
REGISTER_CPU_KERNEL(elementwise_min_grad, MinGradKernel, float, double);
REGISTER_OPERATOR(elementwise_min_grad_grad, DefineMinGradGrad);
REGISTER_CPU_KERNEL(elementwise_min_grad_grad, MinGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph::elementwise
