#include <cmath>

#include "kernels/cast.h"
#include "kernels/elementwise.h"
#include "kernels/math.h"
#include "op/gradient_call.h"
#include "op/op_registry.h"
#include "op/pointwise.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kMin = 1, kMax = 2, kOut = 0;

struct ClipAttrs {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

void CheckOrder(double min, double max) {
  ENFORCE(!(min > max), InvalidArgument, "min must not be above max, got ",
          ToString(FloatValue(min)), " and ", ToString(FloatValue(max)));
}

void DefineClip(OpDef& op) {
  op.Comment("Out = min(max(X, min), max), elementwise. A NaN passes.")
      .Example(
          ">>> F.clip(to_variable([-3.0, 0.5, 7.0]), min=0.0, max=1.0).tolist()\n"
          "[0.0, 0.5, 1.0]")
      .Input(kX, "X", "any shape")
      .Input(kMin, "Min", "the lower bound, one element, in place of the attribute", kDispensable)
      .Input(kMax, "Max", "the upper bound, one element, in place of the attribute", kDispensable)
      .Output(kOut, "Out", "shape of X")
      .Attr(&ClipAttrs::min, "min", "the lower bound")
      .Attr(&ClipAttrs::max, "max", "the upper bound, at least min")
      .Shape([](InferContext& ctx) {
        const auto& a = ctx.attrs<ClipAttrs>();
        const DType type = ctx.dtype(kX);
        if (!ctx.HasInput(kMin) && !ctx.HasInput(kMax))
          CheckOrder(NumberFor(type, a.min), NumberFor(type, a.max));
        ctx.SetOutput(kOut, ctx.dims(kX), ctx.dtype(kX));
      })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad(CallGradient);
}

template <class T>
struct Bounds {
  T low, high;
  explicit Bounds(const KernelContext& ctx) {
    const auto& a = ctx.attrs<ClipAttrs>();
    auto bound = [&](int slot, const char* name, double attr) -> double {
      const Tensor* t = ctx.InOrNull(slot);
      if (!t) return NumberFor<T>(attr);
      ENFORCE(t->numel() == 1, InvalidArgument, name, " must have one element, got shape ",
              t->dims());
      return Item(*t);
    };
    const double least = bound(kMin, "Min", a.min), most = bound(kMax, "Max", a.max);
    CheckOrder(least, most);
    constexpr bool kWhole = std::is_integral_v<T>;
    low = kernels::Convert<T>(kWhole ? std::ceil(least) : least);
    high = kernels::Convert<T>(kWhole ? std::floor(most) : most);
  }
};

template <class T>
struct ClipKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    Bounds<T> b(ctx);
    kernels::Map(x.data<T>(), ctx.Out(kOut).mutable_data<T>(), x.numel(),
                 [b] DYGRAPH_FN(T v) { return kernels::Clamp(v, b.low, b.high); });
  }
};

namespace grad {
constexpr int kX = 0, kMin = 1, kMax = 2, kOutGrad = 3, kXGrad = 0;

void DefineClipGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD where min < X < max, else 0.")
      .Input(kX, "X", "input of clip")
      .Input(kMin, "Min", "the lower bound, in place of the attribute", kDispensable)
      .Input(kMax, "Max", "the upper bound, in place of the attribute", kDispensable)
      .Input(kOutGrad, "Out@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("clip")
      .SameShape(kX, kXGrad)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KeepsLayout()
      .Grad([](GradBuilder& g) {  // linear in Out@GRAD; flat in X
        g.Call("clip_grad", {g.Input(kX), g.Input(kMin), g.Input(kMax), g.OutputGrad(kXGrad)},
               {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct ClipGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    Bounds<T> b(ctx);
    kernels::Zip(x.data<T>(), ctx.In(kOutGrad).data<T>(), ctx.Out(kXGrad).mutable_data<T>(),
                 x.numel(),
                 [b] DYGRAPH_FN(T v, T g) { return v > b.low && v < b.high ? g : T(0); });
  }
};
}  // namespace grad

REGISTER_OPERATOR(clip, DefineClip);
REGISTER_POINTWISE(clip);
REGISTER_KERNELS(clip, ClipKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(clip_grad, grad::DefineClipGrad);
REGISTER_POINTWISE(clip_grad);
REGISTER_KERNELS(clip_grad, grad::ClipGradKernel, float, double);

}  // namespace
}  // namespace dygraph
