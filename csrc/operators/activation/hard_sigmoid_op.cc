#include "kernels/elementwise.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct HardSigmoidAttrs {
  float slope = 0.2f;
  float offset = 0.5f;
};

void DefineHardSigmoid(OpDef& op) {
  op.Comment("Out = min(max(slope * X + offset, 0), 1), elementwise.")
      .Example(
          ">>> [round(v, 4) for v in F.hard_sigmoid(to_variable([-3.0, 1.0, 3.0])).tolist()]\n"
          "[0.0, 0.7, 1.0]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X")
      .Attr(&HardSigmoidAttrs::slope, "slope", "the slope between the two bends")
      .Attr(&HardSigmoidAttrs::offset, "offset", "the value at X = 0, before clipping")
      .SameShape(kX, kOut)
      .KeepsLayout()
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        g.Call("hard_sigmoid_grad", {g.Output(kOut), g.OutputGrad(kOut)}, {g.InputGrad(kX)})
            .SameAttrs();
      });
}

template <class T>
struct HardSigmoidKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const auto& attrs = ctx.attrs<HardSigmoidAttrs>();
    T slope = attrs.slope, offset = attrs.offset;
    kernels::Map(x.data<T>(), ctx.Out(kOut).mutable_data<T>(), x.numel(), [slope, offset](T v) {
      T line = slope * v + offset;
      T above = line < T(0) ? T(0) : line;  // a NaN passes
      return above > T(1) ? T(1) : above;
    });
  }
};

namespace grad {
constexpr int kOut = 0, kOutGrad = 1, kXGrad = 0;

void DefineHardSigmoidGrad(OpDef& op) {
  op.Comment("X@GRAD = slope * Out@GRAD where 0 < Out < 1, else 0.")
      .Input(kOut, "Out", "output of hard_sigmoid")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of Out")
      .AttrsOf("hard_sigmoid")
      .SameShape(kOut, kXGrad)
      .KeepsLayout()
      .Grad([](GradBuilder& g) {
        // Linear in Out@GRAD; a step function of Out, whose derivative is zero.
        g.Call("hard_sigmoid_grad", {g.Input(kOut), g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct HardSigmoidGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& out = ctx.In(kOut);
    T slope = ctx.attrs<HardSigmoidAttrs>().slope;
    kernels::Zip(out.data<T>(), ctx.In(kOutGrad).data<T>(), ctx.Out(kXGrad).mutable_data<T>(),
                 out.numel(),
                 [slope](T v, T g) { return v > T(0) && v < T(1) ? slope * g : T(0); });
  }
};
}  // namespace grad

REGISTER_OPERATOR(hard_sigmoid, DefineHardSigmoid);
REGISTER_CPU_KERNEL(hard_sigmoid, HardSigmoidKernel, float, double);
REGISTER_OPERATOR(hard_sigmoid_grad, grad::DefineHardSigmoidGrad);
REGISTER_CPU_KERNEL(hard_sigmoid_grad, grad::HardSigmoidGradKernel, float, double);

}  // namespace
}  // namespace dygraph
