#include "operators/complex/parts.h"

namespace dygraph::complex {
namespace {

void DefineReal(OpDef& op) {
  DefineRealOf(op, "Out = the real part of X, elementwise.",
               ">>> F.real(to_variable([1 + 2j, 3 - 4j])).tolist()\n"
               "[1.0, 3.0]");
  op.Grad([](GradBuilder& g) { g.Call("real_grad", {g.OutputGrad(kOut)}, {g.InputGrad(kX)}); });
}

template <class T>
struct RealKernel {
  static void Compute(KernelContext& ctx) {
    MapTo<T, kernels::RealPart<T>>(ctx, [](T v) { return v.real(); });
  }
};

void DefineRealGrad(OpDef& op) {
  DefinePartGrad(op, "X@GRAD = Out@GRAD as the real part, the imaginary part being 0.",
                 [](GradBuilder& g) { g.Call("real", {g.OutputGrad(kOut)}, {g.InputGrad(kX)}); });
}

template <class T>
struct RealGradKernel {
  static void Compute(KernelContext& ctx) {
    MapTo<T, std::complex<T>>(ctx, [] DYGRAPH_FN(T g) { return std::complex<T>(g, 0); });
  }
};

REGISTER_OPERATOR(real, DefineReal);
REGISTER_CPU_KERNEL(real, RealKernel, complex64, complex128);
REGISTER_OPERATOR(real_grad, DefineRealGrad);
REGISTER_KERNELS(real_grad, RealGradKernel, float, double);

}  // namespace
}  // namespace dygraph::complex
