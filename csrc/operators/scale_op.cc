#include "kernels/elementwise.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct ScaleAttrs {
  float scale = 1.0f;
  float bias = 0.0f;
  bool bias_after_scale = true;
};

void DefineScale(OpDef& op) {
  op.Comment("Out = scale * X + bias, or scale * (X + bias) where bias_after_scale is False.")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X")
      .Attr(&ScaleAttrs::scale, "scale", "the factor")
      .Attr(&ScaleAttrs::bias, "bias", "the summand")
      .Attr(&ScaleAttrs::bias_after_scale, "bias_after_scale", "add after multiplying")
      .SameShape(kX, kOut)
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad([](GradBuilder& g) {  // the forward kernel is the gradient's
        g.Call("scale", {g.OutputGrad(kOut)}, {g.InputGrad(kX)})
            .AttrsFrom([](const void* forward, void* backward) {
              static_cast<ScaleAttrs*>(backward)->scale = static_cast<const ScaleAttrs*>(forward)->scale;
            });
      });
}

template <class T>
struct ScaleKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const ScaleAttrs& a = ctx.attrs<ScaleAttrs>();
    using C = std::conditional_t<std::is_integral_v<T>, double, T>;
    C scale = a.scale, bias = a.bias_after_scale ? C(a.bias) : C(a.scale) * C(a.bias);
    T* y = ctx.Out(kOut).mutable_data<T>();
    if (bias == 0) {
      kernels::Map(x.data<T>(), y, x.numel(), [scale](T v) { return static_cast<T>(v * scale); });
    } else if (scale == 1) {
      kernels::Map(x.data<T>(), y, x.numel(), [bias](T v) { return static_cast<T>(v + bias); });
    } else {
      kernels::Map(x.data<T>(), y, x.numel(), [scale, bias](T v) { return static_cast<T>(v * scale + bias); });
    }
  }
};

REGISTER_OPERATOR(scale, DefineScale);
REGISTER_CPU_KERNEL(scale, ScaleKernel, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph
