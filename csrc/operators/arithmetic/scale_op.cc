#include <cmath>

#include "kernels/cast.h"
#include "kernels/complex.h"
#include "kernels/elementwise.h"
#include "op/pointwise.h"
#include "operators/selected_rows.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kScaleTensor = 1, kOut = 0;

struct ScaleAttrs {
  double scale = 1.0;
  double bias = 0.0;
  bool bias_after_scale = true;
};

void DefineScale(OpDef& op) {
  op.Comment(
        "Out = scale * X + bias, or scale * (X + bias) where bias_after_scale is False. Selected "
        "rows give selected rows, and take no bias; an array gives an array.")
      .Example(
          ">>> x = to_variable([1.0, 2.0])\n"
          ">>> F.scale(x, scale=2.0, bias=1.0).tolist()\n"
          "[3.0, 5.0]\n"
          ">>> F.scale(x, scale=2.0, bias=1.0, bias_after_scale=False).tolist()\n"
          "[4.0, 6.0]")
      .Input(kX, "X", "any shape; a tensor, selected rows or an array", kTakesRows | kTakesArray)
      .Input(kScaleTensor, "ScaleTensor", "the factor, one element, in place of the attribute",
             kDispensable)
      .Output(kOut, "Out", "shape of X")
      .Attr(&ScaleAttrs::scale, "scale", "the factor")
      .Attr(&ScaleAttrs::bias, "bias", "the summand")
      .Attr(&ScaleAttrs::bias_after_scale, "bias_after_scale", "add after multiplying")
      .VarType([](InferContext& ctx) {
        Value* out = ctx.call().out.at(kOut);
        if (out && ctx.value(kX).is_array()) *out = ctx.value(kX);
        selected_rows::VarTypeOf<kX, kOut>(ctx);
      })
      .Shape([](InferContext& ctx) {
        if (!ctx.value(kX).is_array()) selected_rows::ShapeOf<kX, kOut>(ctx);
      })
      .KernelDType([](const Call& call) {
        const DType dtype = call.in.at(kX)->dtype();  // unset: an array that holds nothing
        return dtype == DType::kUnset ? DType::kFloat32 : dtype;
      })
      .MixedDTypes()
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad([](GradBuilder& g) {  // the forward kernel is the gradient's
        g.Call("scale", {g.OutputGrad(kOut), g.Input(kScaleTensor)}, {g.InputGrad(kX)})
            .AttrsFrom([](const void* forward, void* backward) {
              static_cast<ScaleAttrs*>(backward)->scale =
                  static_cast<const ScaleAttrs*>(forward)->scale;
            });
      });
}

template <class T>
struct ScaleKernel {
  static void Compute(KernelContext& ctx) {
    if (ctx.InValue(kX).is_array()) return ScaleElements(ctx);
    if (!ctx.IsRows(kX)) return Scale(ctx, ctx.In(kX), &ctx.Out(kOut));
    ENFORCE(NumberFor<T>(ctx.attrs<ScaleAttrs>().bias) == 0, InvalidArgument,
            "bias must be 0 where X is selected rows, whose other rows stand for zeros, got ",
            ctx.attrs<ScaleAttrs>().bias);
    const SelectedRows& x = ctx.InRows(kX);
    Tensor out(x.value().dims(), x.value().dtype(), ctx.place());
    Scale(ctx, x.value(), &out);
    ctx.OutValue(kOut).SetRows(selected_rows::WithValue(x, std::move(out)));
  }

  // The elements are the same ones where nothing changes.
  static void ScaleElements(KernelContext& ctx) {
    const ScaleAttrs& a = ctx.attrs<ScaleAttrs>();
    if (NumberFor<T>(a.scale) == 1 && NumberFor<T>(a.bias) == 0 && !ctx.HasInput(kScaleTensor))
      return;
    for (Tensor& t : ctx.OutValue(kOut).MutableArray().items) {
      if (!t.has_data()) continue;
      Tensor scaled(t.dims(), t.dtype(), ctx.place());
      Scale(ctx, t.Plain(), &scaled);
      scaled.SetLoD(t.lod_ref());
      t = std::move(scaled);
    }
  }

  static void Scale(const KernelContext& ctx, const Tensor& x, Tensor* out) {
    const ScaleAttrs& a = ctx.attrs<ScaleAttrs>();
    using C =
        std::conditional_t<std::is_integral_v<T>, double, kernels::RealPart<kernels::Wide<T>>>;
    C scale = NumberFor<T>(a.scale);
    if (const Tensor* t = ctx.InOrNull(kScaleTensor)) {
      ENFORCE(t->numel() == 1, InvalidArgument, "ScaleTensor must have one element, got shape ",
              t->dims());
      scale = static_cast<C>(Item(*t));
    }
    const C summand = NumberFor<T>(a.bias);
    C bias = a.bias_after_scale ? summand : scale * summand;
    T* y = out->mutable_data<T>();
    if constexpr (std::is_integral_v<T>) {
      if (scale == std::floor(scale) && bias == std::floor(bias) && std::abs(scale) < 1e18 &&
          std::abs(bias) < 1e18) {
        auto s = static_cast<uint64_t>(static_cast<int64_t>(scale)),
             b = static_cast<uint64_t>(static_cast<int64_t>(bias));
        return kernels::Map(
            x.data<T>(), y, x.numel(),  // whole numbers stay exact, and wrap
            [s, b] DYGRAPH_FN(T v) { return static_cast<T>(static_cast<uint64_t>(v) * s + b); });
      }
      return kernels::Map(x.data<T>(), y, x.numel(), [scale, bias] DYGRAPH_FN(T v) {
        return kernels::Convert<T>(static_cast<double>(v) * scale + bias);
      });
    }
    if (bias == 0) {
      kernels::Map(x.data<T>(), y, x.numel(),
                   [scale] DYGRAPH_FN(kernels::Wide<T> v) { return static_cast<T>(v * scale); });
    } else if (scale == 1) {
      kernels::Map(x.data<T>(), y, x.numel(),
                   [bias] DYGRAPH_FN(kernels::Wide<T> v) { return static_cast<T>(v + bias); });
    } else {
      kernels::Map(x.data<T>(), y, x.numel(), [scale, bias] DYGRAPH_FN(kernels::Wide<T> v) {
        return static_cast<T>(v * scale + bias);
      });
    }
  }
};

REGISTER_OPERATOR(scale, DefineScale);
REGISTER_POINTWISE(scale);
REGISTER_KERNELS(scale, ScaleKernel, float, double, uint8_t, int8_t, int16_t, int32_t, int64_t,
                 complex64, complex128);
REGISTER_DEVICE_TYPES(scale, ScaleKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph
