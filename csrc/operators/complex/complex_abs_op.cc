#include <cmath>
#include <limits>

#include "operators/complex/parts.h"

namespace dygraph::complex {
namespace {

void DefineComplexAbs(OpDef& op) {
  DefineRealOf(op,
               "Out = |X|, the distance of X from 0, elementwise; its gradient is X / |X|, 0 where "
               "X is 0.",
               ">>> F.complex_abs(to_variable([3 + 4j, -2j])).tolist()\n"
               "[5.0, 2.0]");
  op.Grad([](GradBuilder& g) {  // that of the norm of the two parts
    RecipeRef parts = g.Apply("as_real", {g.Input(kX)}), of_parts = g.Temp();
    g.Call("p_norm_grad", {parts, g.Output(kOut), g.OutputGrad(kOut)}, {of_parts});
    g.Call("as_complex", {of_parts}, {g.InputGrad(kX)});
  });
}

template <class T>
struct ComplexAbsKernel {
  static void Compute(KernelContext& ctx) {  // in doubles a sum of squares of floats is safe
    MapTo<T, kernels::RealPart<T>>(
        ctx,
        [](T v) {
          if constexpr (std::is_same_v<T, complex64>) {
            const double re = v.real(), im = v.imag();
            if (std::isinf(re) || std::isinf(im)) return std::numeric_limits<float>::infinity();
            return static_cast<float>(std::sqrt(re * re + im * im));
          } else {
            return std::hypot(v.real(), v.imag());
          }
        },
        8);
  }
};

REGISTER_OPERATOR(complex_abs, DefineComplexAbs);
REGISTER_CPU_KERNEL(complex_abs, ComplexAbsKernel, complex64, complex128);

}  // namespace
}  // namespace dygraph::complex
