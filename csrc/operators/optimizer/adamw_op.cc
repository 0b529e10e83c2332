#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kGrad = 1, kLearningRate = 2, kMoment1 = 3, kMoment2 = 4, kBeta1Pow = 5,
              kBeta2Pow = 6, kBeta1Tensor = 7, kBeta2Tensor = 8, kEpsilonTensor = 9;
constexpr int kParamOut = 0, kMoment1Out = 1, kMoment2Out = 2, kBeta1PowOut = 3, kBeta2PowOut = 4;

struct AdamwAttrs {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double lr_ratio = 1.0;
  double coeff = 0.01;
  bool with_decay = false;
  bool lazy_mode = false;
};

void InferShape(InferContext& ctx) {
  optimizer::InferStep(
      ctx, kParam, kGrad, {{kParam, kParamOut}, {kMoment1, kMoment1Out}, {kMoment2, kMoment2Out}},
      {kLearningRate, kBeta1Pow, kBeta2Pow, kBeta1Tensor, kBeta2Tensor, kEpsilonTensor});
  optimizer::InferNumber(ctx, kBeta1Pow, kBeta1PowOut);
  optimizer::InferNumber(ctx, kBeta2Pow, kBeta2PowOut);
}

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
          "[0.495, 0.2, 0.004]")
      .Input(kParam, "Param", "any shape")
      .Input(kGrad, "Grad", "shape and type of Param; a tensor or selected rows", kTakesRows)
      .Input(kLearningRate, "LearningRate", "[1] or []")
      .Input(kMoment1, "Moment1", "shape and type of Param")
      .Input(kMoment2, "Moment2", "shape and type of Param")
      .Input(kBeta1Pow, "Beta1Pow", "[1]: beta1 to the number of this step")
      .Input(kBeta2Pow, "Beta2Pow", "[1]: beta2 to the number of this step")
      .Input(kBeta1Tensor, "Beta1Tensor", "[1], in place of beta1", kDispensable)
      .Input(kBeta2Tensor, "Beta2Tensor", "[1], in place of beta2", kDispensable)
      .Input(kEpsilonTensor, "EpsilonTensor", "[1], in place of epsilon", kDispensable)
      .Output(kParamOut, "ParamOut", "shape of Param")
      .Output(kMoment1Out, "Moment1Out", "shape of Param")
      .Output(kMoment2Out, "Moment2Out", "shape of Param")
      .Output(kBeta1PowOut, "Beta1PowOut", "shape of Beta1Pow")
      .Output(kBeta2PowOut, "Beta2PowOut", "shape of Beta2Pow")
      .Attr(&AdamwAttrs::beta1, "beta1", "how much of the first moment stays", Between(0, 1))
      .Attr(&AdamwAttrs::beta2, "beta2", "how much of the second moment stays", Between(0, 1))
      .Attr(&AdamwAttrs::epsilon, "epsilon", "keeps the quotient finite", AtLeast(0))
      .Attr(&AdamwAttrs::lr_ratio, "lr_ratio", "factor on the learning rate", AtLeast(0))
      .Attr(&AdamwAttrs::coeff, "coeff", "strength of the decay", AtLeast(0))
      .Attr(&AdamwAttrs::with_decay, "with_decay", "whether Param decays")
      .Attr(&AdamwAttrs::lazy_mode, "lazy_mode", "update only the rows of a sparse Grad")
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kParam, kParamOut)
      .InPlace(kMoment1, kMoment1Out)
      .InPlace(kMoment2, kMoment2Out)
      .InPlace(kBeta1Pow, kBeta1PowOut)
      .InPlace(kBeta2Pow, kBeta2PowOut)
      .NoGrad();
}

template <class T>
struct AdamwKernel {
  static void Compute(KernelContext& ctx) {
    const AdamwAttrs& a = ctx.attrs<AdamwAttrs>();
    const Tensor& param = ctx.In(kParam);
    double power1 = Item(ctx.In(kBeta1Pow)), power2 = Item(ctx.In(kBeta2Pow));
    double rate = Item(ctx.In(kLearningRate)) * NumberFor<T>(a.lr_ratio);
    T keep = static_cast<T>(a.with_decay ? 1 - rate * NumberFor<T>(a.coeff) : 1);
    auto number = [&](int slot, double attr) {
      const Tensor* t = ctx.InOrNull(slot);
      return t ? Item(*t) : NumberFor<T>(attr);
    };
    const double beta1 = number(kBeta1Tensor, a.beta1), beta2 = number(kBeta2Tensor, a.beta2);
    T b1 = static_cast<T>(beta1), b2 = static_cast<T>(beta2),
      eps = static_cast<T>(number(kEpsilonTensor, a.epsilon)),
      step = static_cast<T>(rate / (1 - power1));
    T correction = static_cast<T>(1 / std::sqrt(1 - power2));
    const T* p = ctx.In(kParam).data<T>();
    const T* m1 = ctx.In(kMoment1).data<T>();
    const T* m2 = ctx.In(kMoment2).data<T>();
    T* p_out = ctx.Out(kParamOut).mutable_data<T>();
    T* m1_out = ctx.Out(kMoment1Out).mutable_data<T>();
    T* m2_out = ctx.Out(kMoment2Out).mutable_data<T>();
    optimizer::StoreNumber(ctx.OutOrNull(kBeta1PowOut), power1 * beta1);
    optimizer::StoreNumber(ctx.OutOrNull(kBeta2PowOut), power2 * beta2);
    auto element = [=](int64_t i, T g) {
      T first = b1 * m1[i] + (1 - b1) * g, second = b2 * m2[i] + (1 - b2) * g * g;
      m1_out[i] = first;
      m2_out[i] = second;
      p_out[i] = keep * p[i] - step * first / (std::sqrt(second) * correction + eps);
    };
    if (!a.lazy_mode || !ctx.IsRows(kGrad))
      return optimizer::ForEachElement<T>(ctx, kParam, kGrad, element);
    optimizer::CopyThrough(param, &ctx.Out(kParamOut));
    optimizer::CopyThrough(ctx.In(kMoment1), &ctx.Out(kMoment1Out));
    optimizer::CopyThrough(ctx.In(kMoment2), &ctx.Out(kMoment2Out));
    int64_t width = optimizer::RowWidth(param);
    optimizer::ForTouchedRows<T>(width, *ctx.InRows(kGrad).Merged(), [=](int64_t r, const T* g) {
      for (int64_t k = 0; k < width; ++k) element(r * width + k, g[k]);
    });
  }
};

REGISTER_OPERATOR(adamw, DefineAdamw);
REGISTER_CPU_KERNEL(adamw, AdamwKernel, float, double);

}  // namespace
}  // namespace dygraph
