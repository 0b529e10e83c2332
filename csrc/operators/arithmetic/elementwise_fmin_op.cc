#include "op/gradient_call.h"
#include "operators/arithmetic/elementwise_extreme.h"

namespace dygraph::elementwise {
namespace {

struct Fmin {
  template <class T>
  static bool First(T a, T b) {
    return a <= b || b != b;
  }
};
template <class T>
using FminKernel = ExtremeKernel<Fmin, T>;
template <class T>
using FminGradKernel = extreme_grad::Kernel<Fmin, T>;
template <class T>
using FminGradGradKernel = extreme_grad_grad::Kernel<Fmin, T>;

void DefineFmin(OpDef& op) {
  DefineBinary(op,
               "Out = the smaller of X and Y, elementwise; of a NaN and a number the number. The "
               "gradient of ties goes to X. Shapes broadcast as NumPy's; axis >= 0 lays Y along X "
               "from that axis on.")
      .Example(
          ">>> nan = float(\"nan\")\n"
          ">>> F.elementwise_fmin(to_variable([1.0, nan]), to_variable([3.0, 2.0])).tolist()\n"
          "[1.0, 2.0]")
      .Grad(CallGradient);
}

void DefineFminGrad(OpDef& op) {
  namespace e = extreme_grad;
  e::Define(op, "elementwise_fmin").Grad([](GradBuilder& g) {
    g.Call("elementwise_fmin_grad_grad",
           {g.Input(e::kX), g.Input(e::kY), g.InputShape(e::kOutGrad), g.OutputGrad(e::kXGrad),
            g.OutputGrad(e::kYGrad)},
           {g.InputGrad(e::kOutGrad)})
        .SameAttrs();
  });
}

void DefineFminGradGrad(OpDef& op) {
  namespace e = extreme_grad_grad;
  e::Define(op, "elementwise_fmin").Grad([](GradBuilder& g) {
    g.Call("elementwise_fmin_grad", {g.Input(e::kX), g.Input(e::kY), g.OutputGrad(e::kOutGradGrad)},
           {g.InputGrad(e::kXGradGrad), g.InputGrad(e::kYGradGrad)})
        .SameAttrs();
  });
}

REGISTER_OPERATOR(elementwise_fmin, DefineFmin);
REGISTER_LOD_RULE(elementwise_fmin, elementwise::KeepsRows);
REGISTER_LOD_ALSO(elementwise_fmin, elementwise::kY);
REGISTER_CPU_KERNEL(elementwise_fmin, FminKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(elementwise_fmin_grad, DefineFminGrad);
REGISTER_CPU_KERNEL(elementwise_fmin_grad, FminGradKernel, float, double);
REGISTER_OPERATOR(elementwise_fmin_grad_grad, DefineFminGradGrad);
REGISTER_CPU_KERNEL(elementwise_fmin_grad_grad, FminGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph::elementwise
