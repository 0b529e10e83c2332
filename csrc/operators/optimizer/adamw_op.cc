#include "operators/optimizer/adam_step.h"

namespace dygraph {
namespace {

struct AdamwAttrs {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double lr_ratio = 1.0;
  double coeff = 0.01;
  bool with_decay = false;
  bool lazy_mode = false;
};

void DefineAdamw(OpDef& op) {
  op.Comment(
        "The step of adam with a decay that does not pass through the moments (Loshchilov and "
        "Hutter, 2019): Moment1Out = beta1 * Moment1 + (1 - beta1) * Grad; Moment2Out = beta2 * "
        "Moment2 + (1 - beta2) * Grad^2; ParamOut = Param * (1 - LearningRate * lr_ratio * coeff, "
        "where with_decay) - LearningRate * lr_ratio / (1 - Beta1Pow) * Moment1Out / "
        "(sqrt(Moment2Out / (1 - Beta2Pow)) + epsilon). Rows that a Grad of selected rows leaves "
        "out have a gradient of 0; with lazy_mode they are left as they are.")
      .Example(
          ">>> param, grad, rate = (to_variable([v]) for v in (1.0, 2.0, 0.5))\n"
          ">>> zero, *powers = (to_variable([v]) for v in (0.0, 0.9, 0.999))\n"
          ">>> out = F.adamw(param, grad, rate, zero, zero, *powers, with_decay=True)\n"
          ">>> [round(v.item(), 4) for v in out[:3]]  # 1 * (1 - 0.5 * 0.01) - 0.5\n"
          "[0.495, 0.2, 0.004]");
  optimizer::DefineAdamStep<AdamwAttrs>(op)
      .Attr(&AdamwAttrs::lr_ratio, "lr_ratio", "factor on the learning rate", AtLeast(0))
      .Attr(&AdamwAttrs::coeff, "coeff", "strength of the decay", AtLeast(0))
      .Attr(&AdamwAttrs::with_decay, "with_decay", "whether Param decays")
      .Attr(&AdamwAttrs::lazy_mode, "lazy_mode", "update only the rows of a sparse Grad");
}

template <class T>
struct AdamwKernel {
  static void Compute(KernelContext& ctx) {
    const AdamwAttrs& a = ctx.attrs<AdamwAttrs>();
    const double ratio = NumberFor<T>(a.lr_ratio), decay = NumberFor<T>(a.coeff);
    const bool with_decay = a.with_decay;
    optimizer::AdamStep<T>(
        ctx, a,
        [=] DYGRAPH_FN(double given, double power1, double power2) -> optimizer::AdamScales {
          const double rate = given * ratio;
          return {with_decay ? 1 - rate * decay : 1, rate / (1 - power1),
                  1 / std::sqrt(1 - power2)};
        });
  }
};

REGISTER_OPERATOR(adamw, DefineAdamw);
REGISTER_KERNELS(adamw, AdamwKernel, float, double);

}  // namespace
}  // namespace dygraph
