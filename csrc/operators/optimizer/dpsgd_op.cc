#include "operators/optimizer/optimizer.h"
#include "operators/random/random.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kGrad = 1, kLearningRate = 2;
constexpr int kParamOut = 0;

struct DpsgdAttrs {
  double clip = 10.0;
  double batch_size = 16.0;
  double sigma = 1.0;
  int32_t seed = 0;
};

void InferShape(InferContext& ctx) {
  optimizer::InferStep(ctx, kParam, kGrad, {{kParam, kParamOut}}, {kLearningRate});
}

void DefineDpsgd(OpDef& op) {
  op.Comment(
        "ParamOut = Param - LearningRate * (Grad / max(1, |Grad| / clip) + noise / batch_size), "
        "where each element of noise is drawn from the normal distribution of mean 0 and standard "
        "deviation sigma (Abadi and others, 2016). Fluid draws one number for all elements, which "
        "hides nothing.")
      .Example(
          ">>> param, grad = to_variable([1.0, 1.0]), to_variable([3.0, 4.0])\n"
          ">>> out = F.dpsgd(param, grad, to_variable([0.5]), clip=1.0, sigma=0.0)\n"
          ">>> [round(v, 4) for v in out.tolist()]  # without noise\n"
          "[0.7, 0.6]")
      .Input(kParam, "Param", "any shape")
      .Input(kGrad, "Grad", "shape and type of Param")
      .Input(kLearningRate, "LearningRate", "[1] or []")
      .Output(kParamOut, "ParamOut", "shape of Param")
      .Attr(&DpsgdAttrs::clip, "clip", "the largest norm of Grad", AtLeast(0))
      .Attr(&DpsgdAttrs::batch_size, "batch_size", "divides the noise")
      .Attr(&DpsgdAttrs::sigma, "sigma", "standard deviation of the noise", AtLeast(0))
      .Attr(&DpsgdAttrs::seed, "seed",
            "0: the generator's; others give the same numbers at each call")
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kParam, kParamOut)
      .Random()
      .NoGrad();
}

template <class T>
struct DpsgdNumbers {
  T rate, factor;
};

template <class T>
struct DpsgdKernel {
  static void Compute(KernelContext& ctx) {
    const DpsgdAttrs& a = ctx.attrs<DpsgdAttrs>();
    int64_t n = ctx.In(kParam).numel();
    ENFORCE(NumberFor<T>(a.batch_size) > 0, InvalidArgument, "batch_size must be positive in ",
            DTypeOf<T>::value, ", got ", ToString(FloatValue(a.batch_size)));
    const Number<T> given(ctx.In(kLearningRate));
    const optimizer::Length size(ctx, ctx.In(kGrad).data<T>(), n);
    const Number<double> length = size.number();
    const double most = NumberFor<T>(a.clip);
    T spread = static_cast<T>(a.sigma) / static_cast<T>(a.batch_size);
    Scratch space = ctx.Workspace(n * sizeof(T));
    T* noise = space.as<T>();
    random::Generator(ctx, a.seed).Normal(noise, n);
    const T* p = ctx.In(kParam).data<T>();
    T* p_out = ctx.Out(kParamOut).mutable_data<T>();
    auto read = [=] DYGRAPH_FN() -> DpsgdNumbers<T> {
      const double norm = length();
      return {given(), norm > most ? static_cast<T>(most / norm) : T(1)};
    };
    optimizer::ForEachElement<T>(
        ctx, kParam, kGrad, read,
        [=] DYGRAPH_FN(const DpsgdNumbers<T>& s, int64_t i, T g) {
          p_out[i] = p[i] - s.rate * (g * s.factor + noise[i] * spread);
        },
        true);  // `noise` is gone afterwards
  }
};

REGISTER_OPERATOR(dpsgd, DefineDpsgd);
REGISTER_KERNELS(dpsgd, DpsgdKernel, float, double);

}  // namespace
}  // namespace dygraph
