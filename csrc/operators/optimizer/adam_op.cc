#include <cmath>

#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kGrad = 1, kLearningRate = 2, kMoment1 = 3, kMoment2 = 4, kBeta1Pow = 5,
              kBeta2Pow = 6, kBeta1Tensor = 7, kBeta2Tensor = 8, kEpsilonTensor = 9;
constexpr int kParamOut = 0, kMoment1Out = 1, kMoment2Out = 2, kBeta1PowOut = 3, kBeta2PowOut = 4;

struct AdamAttrs {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  bool lazy_mode = false;
};

void InferShape(InferContext& ctx) {
  optimizer::InferStep(
      ctx, kParam, kGrad, {{kParam, kParamOut}, {kMoment1, kMoment1Out}, {kMoment2, kMoment2Out}},
      {kLearningRate, kBeta1Pow, kBeta2Pow, kBeta1Tensor, kBeta2Tensor, kEpsilonTensor});
  optimizer::InferNumber(ctx, kBeta1Pow, kBeta1PowOut);
  optimizer::InferNumber(ctx, kBeta2Pow, kBeta2PowOut);
}

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
          "[0.5, 0.2, 0.004]")
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
      .Attr(&AdamAttrs::beta1, "beta1", "how much of the first moment stays", Between(0, 1))
      .Attr(&AdamAttrs::beta2, "beta2", "how much of the second moment stays", Between(0, 1))
      .Attr(&AdamAttrs::epsilon, "epsilon", "keeps the quotient finite")
      .Attr(&AdamAttrs::lazy_mode, "lazy_mode", "update only the rows of a sparse Grad")
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
struct AdamKernel {
  const T *p, *m1, *m2;
  T *p_out, *m1_out, *m2_out;
  T beta1, beta2, rate, epsilon;

  // Elements [begin, end) in one pass; g(i) is the gradient of element i.
  template <class G>
  DYGRAPH_INLINE void Step(int64_t begin, int64_t end, G g) const {
    const T *p = this->p, *m1 = this->m1, *m2 = this->m2;
    T *p_out = this->p_out, *m1_out = this->m1_out, *m2_out = this->m2_out;
    T b1 = beta1, b2 = beta2, c1 = 1 - b1, c2 = 1 - b2, rate = this->rate, eps = epsilon;
    DYGRAPH_IVDEP
    for (int64_t i = begin; i < end; ++i) {
      T gi = g(i), first = b1 * m1[i] + c1 * gi, second = b2 * m2[i] + c2 * gi * gi;
      m1_out[i] = first;
      m2_out[i] = second;
      p_out[i] = p[i] - rate * first / (std::sqrt(second) + eps);
    }
  }

  static void Compute(KernelContext& ctx) {
    const AdamAttrs& a = ctx.attrs<AdamAttrs>();
    const Tensor &param = ctx.In(kParam), &m1 = ctx.In(kMoment1), &m2 = ctx.In(kMoment2);
    const Tensor *beta1_tensor = ctx.InOrNull(kBeta1Tensor),
                 *beta2_tensor = ctx.InOrNull(kBeta2Tensor);
    double beta1 = beta1_tensor ? Item(*beta1_tensor) : NumberFor<T>(a.beta1),
           beta2 = beta2_tensor ? Item(*beta2_tensor) : NumberFor<T>(a.beta2);
    const Tensor* epsilon = ctx.InOrNull(kEpsilonTensor);
    double rate = Item(ctx.In(kLearningRate)) * std::sqrt(1 - Item(ctx.In(kBeta2Pow))) /
                  (1 - Item(ctx.In(kBeta1Pow)));
    Tensor &p_out = ctx.Out(kParamOut), &m1_out = ctx.Out(kMoment1Out),
           &m2_out = ctx.Out(kMoment2Out);
    AdamKernel step{param.data<T>(),
                    m1.data<T>(),
                    m2.data<T>(),
                    p_out.mutable_data<T>(),
                    m1_out.mutable_data<T>(),
                    m2_out.mutable_data<T>(),
                    static_cast<T>(beta1),
                    static_cast<T>(beta2),
                    static_cast<T>(rate),
                    static_cast<T>(epsilon ? Item(*epsilon) : a.epsilon)};
    optimizer::StoreNumber(&ctx.Out(kBeta1PowOut), Item(ctx.In(kBeta1Pow)) * beta1);
    optimizer::StoreNumber(&ctx.Out(kBeta2PowOut), Item(ctx.In(kBeta2Pow)) * beta2);
    if (!ctx.IsRows(kGrad)) {
      const T* g = ctx.In(kGrad).data<T>();
      return optimizer::Elements(ctx, param.numel(), 2, [=](int64_t begin, int64_t end) {
        kernels::Simd([=] { step.Step(begin, end, [=](int64_t i) { return g[i]; }); });
      });
    }
    Ref<SelectedRows> merged = ctx.InRows(kGrad).Merged();
    int64_t width = optimizer::RowWidth(param);
    auto row = [=](int64_t r, const T* g) {
      int64_t begin = r * width;
      kernels::Simd([=] {
        if (g)
          step.Step(begin, begin + width, [=](int64_t i) { return g[i - begin]; });
        else
          step.Step(begin, begin + width, [](int64_t) { return T(0); });
      });
    };
    if (!a.lazy_mode) return optimizer::ForEachRow<T>(param.dim(0), width, *merged, row);
    optimizer::CopyThrough(param, &p_out);
    optimizer::CopyThrough(m1, &m1_out);
    optimizer::CopyThrough(m2, &m2_out);
    optimizer::ForTouchedRows<T>(width, *merged, row);
  }
};

REGISTER_OPERATOR(adam, DefineAdam);
REGISTER_CPU_KERNEL(adam, AdamKernel, float, double);

}  // namespace
}  // namespace dygraph
