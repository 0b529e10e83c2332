#include "op/lod_rule.h"
#include "operators/reduce/norms.h"

namespace dygraph::norms {
namespace {

constexpr int kX = 0, kOut = 0;

struct FrobeniusNorm {
  static constexpr const char *kType = "frobenius_norm",
                              *kGradGradType = "frobenius_norm_grad_grad";
  static Norm Of(const void* attrs, const Tensor&) {
    return {2.0, *static_cast<const reduce::ReduceAttrs*>(attrs)};
  }
};

void DefineFrobeniusNorm(OpDef& op) {
  reduce::DefineReduce(op, "Out = the root of the sum of X^2 over the axes of dim.")
      .Example(
          ">>> F.frobenius_norm(to_variable([[3.0, 4.0], [6.0, 8.0]]), dim=[1]).tolist()\n"
          "[5.0, 10.0]")
      .Shape([](InferContext& ctx) {
        const reduce::ReduceAttrs& a = ctx.attrs<reduce::ReduceAttrs>();
        ENFORCE(a.out_dtype == DType::kUnset || a.out_dtype == ctx.dtype(kX), Unimplemented,
                "out_dtype must be the type of X, ", ctx.dtype(kX), ", got ", a.out_dtype);
        ctx.SetOutput(kOut, reduce::OutDims(ctx));
      })
      .Grad([](GradBuilder& g) {
        g.Call("frobenius_norm_grad", {g.Input(kX), g.Output(kOut), g.OutputGrad(kOut)},
               {g.InputGrad(kX)})
            .SameAttrs();
      });
}

template <class T>
struct FrobeniusNormKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    norms::Compute<T>(x, FrobeniusNorm::Of(ctx.call().attrs, x), &ctx.Out(kOut));
  }
};
template <class T>
using FrobeniusNormGradKernel = GradKernel<FrobeniusNorm, T>;
template <class T>
using FrobeniusNormGradGradKernel = GradGradKernel<FrobeniusNorm, T>;
using FrobeniusNormThird = Third<FrobeniusNorm>;

REGISTER_OPERATOR(frobenius_norm, DefineFrobeniusNorm);
REGISTER_OPEN_ATTRS(frobenius_norm, "dim");
REGISTER_LOD_RULE(frobenius_norm, reduce::KeepsRows);
REGISTER_KERNELS(frobenius_norm, FrobeniusNormKernel, float, double);
REGISTER_OPERATOR(frobenius_norm_grad, DefineGrad<FrobeniusNorm>);
REGISTER_KERNELS(frobenius_norm_grad, FrobeniusNormGradKernel, float, double);
REGISTER_OPERATOR(frobenius_norm_grad_grad, DefineGradGrad<FrobeniusNorm>);
REGISTER_KERNELS(frobenius_norm_grad_grad, FrobeniusNormGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(frobenius_norm_grad_grad, FrobeniusNormThird);

}  // namespace
}  // namespace dygraph::norms
