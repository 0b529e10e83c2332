#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kMeanSquare = 1, kMeanGrad = 2, kLearningRate = 3, kGrad = 4, kMoment = 5;
constexpr int kParamOut = 0, kMomentOut = 1, kMeanSquareOut = 2, kMeanGradOut = 3;

struct RmspropAttrs {
  double epsilon = 1e-10;
  double decay = 0.9;
  double momentum = 0.0;
  bool centered = false;
};

void InferShape(InferContext& ctx) {
  optimizer::InferStep(ctx, kParam, kGrad,
                       {{kParam, kParamOut},
                        {kMoment, kMomentOut},
                        {kMeanSquare, kMeanSquareOut},
                        {kMeanGrad, kMeanGradOut}},
                       {kLearningRate});
  bool given = ctx.HasInput(kMeanGrad);
  ENFORCE(given || !ctx.attrs<RmspropAttrs>().centered, InvalidArgument,
          "MeanGrad must be given where centered is True, got nothing");
  if (!given) ctx.SetOutput(kMeanGradOut, {0}, ctx.dtype(kParam));
}

void DefineRmsprop(OpDef& op) {
  op.Comment(
        "MeanSquareOut = decay * MeanSquare + (1 - decay) * Grad^2; MomentOut = momentum * Moment "
        "+ LearningRate * Grad / sqrt(MeanSquareOut + epsilon); ParamOut = Param - MomentOut "
        "(Tieleman and Hinton, 2012). With centered MeanGradOut = decay * MeanGrad + (1 - decay) * "
        "Grad, and its square is taken from MeanSquareOut under the root. Rows that a Grad of "
        "selected rows leaves out have a gradient of 0.")
      .Example(
          ">>> param, zero, grad, rate = (to_variable([v]) for v in (1.0, 0.0, 2.0, 0.1))\n"
          ">>> states = {\"mean_square\": zero, \"moment\": zero}\n"
          ">>> step = F.rmsprop(param, learning_rate=rate, grad=grad, **states, decay=0.75)\n"
          ">>> [round(v.item(), 4) for v in step[:3]]  # parameter, moment, mean square\n"
          "[0.8, 0.2, 1.0]")
      .Input(kParam, "Param", "any shape")
      .Input(kMeanSquare, "MeanSquare", "shape and type of Param")
      .Input(kMeanGrad, "MeanGrad", "shape and type of Param; needed if centered", kDispensable)
      .Input(kLearningRate, "LearningRate", "[1] or []")
      .Input(kGrad, "Grad", "shape and type of Param; a tensor or selected rows", kTakesRows)
      .Input(kMoment, "Moment", "shape and type of Param")
      .Output(kParamOut, "ParamOut", "shape of Param")
      .Output(kMomentOut, "MomentOut", "shape of Param")
      .Output(kMeanSquareOut, "MeanSquareOut", "shape of Param")
      .Output(kMeanGradOut, "MeanGradOut", "shape of Param; no elements where MeanGrad is absent",
              kDispensable)
      .Attr(&RmspropAttrs::epsilon, "epsilon", "keeps the quotient finite", AtLeast(0))
      .Attr(&RmspropAttrs::decay, "decay", "how much of the means stays", Between(0, 1))
      .Attr(&RmspropAttrs::momentum, "momentum", "how much of the moment stays")
      .Attr(&RmspropAttrs::centered, "centered", "divide by the standard deviation")
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kParam, kParamOut)
      .InPlace(kMoment, kMomentOut)
      .InPlace(kMeanSquare, kMeanSquareOut)
      .InPlace(kMeanGrad, kMeanGradOut)
      .NoGrad();
}

template <class T>
struct RmspropKernel {
  static void Compute(KernelContext& ctx) {
    const RmspropAttrs& a = ctx.attrs<RmspropAttrs>();
    const Number<T> rate(ctx.In(kLearningRate));
    T decay = static_cast<T>(a.decay), eps = static_cast<T>(a.epsilon),
      momentum = static_cast<T>(a.momentum);
    const T* p = ctx.In(kParam).data<T>();
    const T* s = ctx.In(kMeanSquare).data<T>();
    const T* m = ctx.In(kMoment).data<T>();
    T* p_out = ctx.Out(kParamOut).mutable_data<T>();
    T* s_out = ctx.Out(kMeanSquareOut).mutable_data<T>();
    T* m_out = ctx.Out(kMomentOut).mutable_data<T>();
    auto move = [=] DYGRAPH_FN(T rate, int64_t i, T g, T variance) {
      T moment = momentum * m[i] + rate * g / std::sqrt(variance + eps);
      m_out[i] = moment;
      p_out[i] = p[i] - moment;
    };
    if (!a.centered) {
      if (ctx.HasInput(kMeanGrad))
        optimizer::CopyThrough(ctx.In(kMeanGrad), &ctx.Out(kMeanGradOut));
      return optimizer::ForEachElement<T>(ctx, kParam, kGrad, rate,
                                          [=] DYGRAPH_FN(T rate, int64_t i, T g) {
                                            T square = decay * s[i] + (1 - decay) * g * g;
                                            s_out[i] = square;
                                            move(rate, i, g, square);
                                          });
    }
    const T* c = ctx.In(kMeanGrad).data<T>();
    T* c_out = ctx.Out(kMeanGradOut).mutable_data<T>();
    optimizer::ForEachElement<T>(ctx, kParam, kGrad, rate, [=] DYGRAPH_FN(T rate, int64_t i, T g) {
      T square = decay * s[i] + (1 - decay) * g * g, mean = decay * c[i] + (1 - decay) * g;
      s_out[i] = square;
      c_out[i] = mean;
      move(rate, i, g, square - mean * mean);
    });
  }
};

REGISTER_OPERATOR(rmsprop, DefineRmsprop);
REGISTER_KERNELS(rmsprop, RmspropKernel, float, double);

}  // namespace
}  // namespace dygraph
