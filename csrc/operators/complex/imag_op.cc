#include "operators/complex/parts.h"

namespace dygraph::complex {
namespace {

void DefineImag(OpDef& op) {
  DefineRealOf(op, "Out = the imaginary part of X, elementwise.",
               ">>> F.imag(to_variable([1 + 2j, 3 - 4j])).tolist()\n"
               "[2.0, -4.0]");
  op.Grad([](GradBuilder& g) { g.Call("imag_grad", {g.OutputGrad(kOut)}, {g.InputGrad(kX)}); });
}

template <class T>
struct ImagKernel {
  static void Compute(KernelContext& ctx) {
    MapTo<T, kernels::RealPart<T>>(ctx, [](T v) { return v.imag(); });
  }
};

void DefineImagGrad(OpDef& op) {
  DefinePartGrad(op, "X@GRAD = Out@GRAD as the imaginary part, the real part being 0.",
                 [](GradBuilder& g) { g.Call("imag", {g.OutputGrad(kOut)}, {g.InputGrad(kX)}); });
}

template <class T>
struct ImagGradKernel {
  static void Compute(KernelContext& ctx) {
    MapTo<T, std::complex<T>>(ctx, [] DYGRAPH_FN(T g) { return std::complex<T>(0, g); });
  }
};

REGISTER_OPERATOR(imag, DefineImag);
REGISTER_CPU_KERNEL(imag, ImagKernel, complex64, complex128);
REGISTER_OPERATOR(imag_grad, DefineImagGrad);
REGISTER_KERNELS(imag_grad, ImagGradKernel, float, double);

}  // namespace
}  // namespace dygraph::complex
