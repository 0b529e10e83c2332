#include <cmath>

#include "operators/complex/parts.h"

namespace dygraph::complex {
namespace {

void DefineAngle(OpDef& op) {
  DefineRealOf(op,
               "Out = the angle of X in the complex plane, in [-pi, pi], elementwise; its gradient "
               "is 0 where X is 0.",
               ">>> [round(v, 4) for v in F.angle(to_variable([1j, -1 + 0j, 1 - 1j])).tolist()]\n"
               "[1.5708, 3.1416, -0.7854]");
  op.Grad([](GradBuilder& g) {  // that of atan2(imag, real)
    RecipeRef real = g.Apply("real", {g.Input(kX)}), imag = g.Apply("imag", {g.Input(kX)});
    RecipeRef of_real = g.Temp(), of_imag = g.Temp();
    g.Call("atan2_grad", {imag, real, g.OutputGrad(kOut)}, {of_imag, of_real});
    g.Call("complex", {of_real, of_imag}, {g.InputGrad(kX)});
  });
}

template <class T>
struct AngleKernel {
  static void Compute(KernelContext& ctx) {
    MapTo<T, kernels::RealPart<T>>(ctx, [](T v) { return std::atan2(v.imag(), v.real()); }, 20);
  }
};

REGISTER_OPERATOR(angle, DefineAngle);
REGISTER_CPU_KERNEL(angle, AngleKernel, complex64, complex128);

}  // namespace
}  // namespace dygraph::complex
