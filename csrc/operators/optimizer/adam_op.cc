#include "operators/optimizer/adam_step.h"

namespace dygraph {
namespace {

struct AdamAttrs {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  bool lazy_mode = false;
};

void DefineAdam(OpDef& op) {
  op.Comment(
        "Moment1Out = beta1 * Moment1 + (1 - beta1) * Grad; Moment2Out = beta2 * Moment2 + (1 - "
        "beta2) * Grad^2; ParamOut = Param - "
        "LearningRate * sqrt(1 - Beta2Pow) / (1 - Beta1Pow) * Moment1Out / (sqrt(Moment2Out) + "
        "epsilon); Beta1PowOut = Beta1Pow * "
        "beta1, Beta2PowOut = Beta2Pow * beta2 (Kingma and Ba, 2015). Rows that a Grad of selected "
        "rows leaves out have a "
        "gradient of 0; with lazy_mode they are left as they are.")
      .Example(
          ">>> param, grad, rate = (to_variable([v]) for v in (1.0, 2.0, 0.5))\n"
          ">>> zero, *powers = (to_variable([v]) for v in (0.0, 0.9, 0.999))\n"
          ">>> out = F.adam(param, grad, rate, zero, zero, *powers)\n"
          ">>> [round(v.item(), 4) for v in out[:3]]  # the first step: the rate\n"
          "[0.5, 0.2, 0.004]");
  optimizer::DefineAdamStep<AdamAttrs>(op).Attr(&AdamAttrs::lazy_mode, "lazy_mode",
                                                "update only the rows of a sparse Grad");
}

template <class T>
struct AdamKernel {
  static void Compute(KernelContext& ctx) {
    optimizer::AdamStep<T>(
        ctx, ctx.attrs<AdamAttrs>(),
        [] DYGRAPH_FN(double rate, double power1, double power2) -> optimizer::AdamScales {
          return {1, rate * std::sqrt(1 - power2) / (1 - power1), 1};
        });
  }
};

REGISTER_OPERATOR(adam, DefineAdam);
REGISTER_KERNELS(adam, AdamKernel, float, double);

}  // namespace
}  // namespace dygraph
