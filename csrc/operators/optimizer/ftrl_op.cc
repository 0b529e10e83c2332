#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kSquaredAccumulator = 1, kLinearAccumulator = 2, kGrad = 3,
              kLearningRate = 4;
constexpr int kParamOut = 0, kSquaredAccumOut = 1, kLinearAccumOut = 2;

struct FtrlAttrs {
  double l1 = 0.0;
  double l2 = 0.0;
  double lr_power = -0.5;
};

void InferShape(InferContext& ctx) {
  optimizer::InferStep(ctx, kParam, kGrad,
                       {{kParam, kParamOut},
                        {kSquaredAccumulator, kSquaredAccumOut},
                        {kLinearAccumulator, kLinearAccumOut}},
                       {kLearningRate});
}

void DefineFtrl(OpDef& op) {
  op.Comment(
        "new = SquaredAccumulator + Grad^2; sigma = (new^-lr_power - SquaredAccumulator^-lr_power) "
        "/ LearningRate; LinearAccumOut = LinearAccumulator + Grad - sigma * Param; ParamOut = (l1 "
        "* sign(LinearAccumOut) - LinearAccumOut) / (new^-lr_power / LearningRate + 2 * l2) where "
        "|LinearAccumOut| > l1, else 0; SquaredAccumOut = new (McMahan and others, 2013).")
      .Example(
          ">>> zero, grad, rate = (to_variable([v]) for v in (0.0, 2.0, 0.5))\n"
          ">>> out = F.ftrl(zero, zero, zero, grad, rate, l1=1.0)\n"
          ">>> [round(v.item(), 4) for v in out]  # (1 - 2) / (sqrt(4) / 0.5), 2^2, 2\n"
          "[-0.25, 4.0, 2.0]")
      .Input(kParam, "Param", "any shape")
      .Input(kSquaredAccumulator, "SquaredAccumulator", "shape and type of Param")
      .Input(kLinearAccumulator, "LinearAccumulator", "shape and type of Param")
      .Input(kGrad, "Grad", "shape and type of Param")
      .Input(kLearningRate, "LearningRate", "[1] or []")
      .Output(kParamOut, "ParamOut", "shape of Param")
      .Output(kSquaredAccumOut, "SquaredAccumOut", "shape of Param")
      .Output(kLinearAccumOut, "LinearAccumOut", "shape of Param")
      .Attr(&FtrlAttrs::l1, "l1", "strength of the L1 penalty", AtLeast(0))
      .Attr(&FtrlAttrs::l2, "l2", "strength of the L2 penalty", AtLeast(0))
      .Attr(&FtrlAttrs::lr_power, "lr_power", "how the rate falls with the sum of squares")
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kParam, kParamOut)
      .InPlace(kSquaredAccumulator, kSquaredAccumOut)
      .InPlace(kLinearAccumulator, kLinearAccumOut)
      .NoGrad();
}

template <class T>
struct FtrlKernel {
  static void Compute(KernelContext& ctx) {
    const FtrlAttrs& a = ctx.attrs<FtrlAttrs>();
    const Number<T> rate(ctx.In(kLearningRate));
    // Fluid's small addition keeps the quotient finite.
    T l1 = static_cast<T>(a.l1) + T(1e-10), l2 = static_cast<T>(a.l2) + T(1e-10);
    T power = -static_cast<T>(a.lr_power);
    bool root = power == T(0.5);
    const T* p = ctx.In(kParam).data<T>();
    const T* s = ctx.In(kSquaredAccumulator).data<T>();
    const T* l = ctx.In(kLinearAccumulator).data<T>();
    T* p_out = ctx.Out(kParamOut).mutable_data<T>();
    T* s_out = ctx.Out(kSquaredAccumOut).mutable_data<T>();
    T* l_out = ctx.Out(kLinearAccumOut).mutable_data<T>();
    auto raised = [=] DYGRAPH_FN(T v) { return root ? std::sqrt(v) : std::pow(v, power); };
    optimizer::ForEachElement<T>(ctx, kParam, kGrad, rate, [=] DYGRAPH_FN(T rate, int64_t i, T g) {
      T sum = s[i] + g * g, now = raised(sum);
      T linear = l[i] + g - (now - raised(s[i])) / rate * p[i];
      T shrunk = (linear > 0 ? l1 : -l1) - linear;
      s_out[i] = sum;
      l_out[i] = linear;
      p_out[i] = std::abs(linear) <= l1 ? T(0) : shrunk / (now / rate + 2 * l2);
    });
  }
};

REGISTER_OPERATOR(ftrl, DefineFtrl);
REGISTER_KERNELS(ftrl, FtrlKernel, float, double);

}  // namespace
}  // namespace dygraph
