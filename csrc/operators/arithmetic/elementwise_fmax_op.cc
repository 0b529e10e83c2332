#include "op/gradient_call.h"
#include "operators/arithmetic/elementwise_extreme.h"

namespace dygraph::elementwise {
namespace {

struct Fmax {
  template <class T>
  static bool First(T a, T b) {
    return a >= b || b != b;
  }
};
template <class T>
using FmaxKernel = ExtremeKernel<Fmax, T>;
template <class T>
using FmaxGradKernel = extreme_grad::Kernel<Fmax, T>;
template <class T>
using FmaxGradGradKernel = extreme_grad_grad::Kernel<Fmax, T>;

void DefineFmax(OpDef& op) {
  DefineBinary(op,
               "Out = the larger of X and Y, elementwise; of a NaN and a number the number. The "
               "gradient of ties goes to X. Shapes broadcast as NumPy's; axis >= 0 lays Y along X "
               "from that axis on.")
      .Example(
          ">>> nan = float(\"nan\")\n"
          ">>> F.elementwise_fmax(to_variable([1.0, nan]), to_variable([3.0, 2.0])).tolist()\n"
          "[3.0, 2.0]")
      .Grad(CallGradient);
}

void DefineFmaxGrad(OpDef& op) {
  namespace e = extreme_grad;
  e::Define(op, "elementwise_fmax").Grad([](GradBuilder& g) {
    g.Call("elementwise_fmax_grad_grad",
           {g.Input(e::kX), g.Input(e::kY), g.InputShape(e::kOutGrad), g.OutputGrad(e::kXGrad),
            g.OutputGrad(e::kYGrad)},
           {g.InputGrad(e::kOutGrad)})
        .SameAttrs();
  });
}

void DefineFmaxGradGrad(OpDef& op) {
  namespace e = extreme_grad_grad;
  e::Define(op, "elementwise_fmax").Grad([](GradBuilder& g) {
    g.Call("elementwise_fmax_grad", {g.Input(e::kX), g.Input(e::kY), g.OutputGrad(e::kOutGradGrad)},
           {g.InputGrad(e::kXGradGrad), g.InputGrad(e::kYGradGrad)})
        .SameAttrs();
  });
}

REGISTER_OPERATOR(elementwise_fmax, DefineFmax);
REGISTER_LOD_RULE(elementwise_fmax, elementwise::KeepsRows);
REGISTER_LOD_ALSO(elementwise_fmax, elementwise::kY);
REGISTER_CPU_KERNEL(elementwise_fmax, FmaxKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(elementwise_fmax_grad, DefineFmaxGrad);
REGISTER_CPU_KERNEL(elementwise_fmax_grad, FmaxGradKernel, float, double);
REGISTER_OPERATOR(elementwise_fmax_grad_grad, DefineFmaxGradGrad);
REGISTER_CPU_KERNEL(elementwise_fmax_grad_grad, FmaxGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph::elementwise
