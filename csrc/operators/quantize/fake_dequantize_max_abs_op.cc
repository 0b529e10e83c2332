#include "operators/quantize/quantize.h"

namespace dygraph::quantize {
namespace {

constexpr int kX = 0, kScale = 1, kOut = 0;

struct FakeDequantizeAttrs {
  double max_range = 127.0;
};

void DefineFakeDequantizeMaxAbs(OpDef& op) {
  op.Comment("Out = Scale * X / max_range: the numbers that fake_quantize_abs_max made whole.")
      .Example(
          ">>> x, scale = to_variable([0.0, -127.0]), to_variable([2.0])\n"
          ">>> F.fake_dequantize_max_abs(x, scale, max_range=127.0).tolist()\n"
          "[0.0, -2.0]")
      .Input(kX, "X", "whole numbers, any shape")
      .Input(kScale, "Scale", "[1]")
      .Output(kOut, "Out", "shape of X")
      .Attr(&FakeDequantizeAttrs::max_range, "max_range",
            "the greatest whole number, 2^(bits - 1) - 1")
      .Shape([](InferContext& ctx) {
        CheckOne(ctx, kScale, "Scale");
        ctx.SetOutput(kOut, ctx.dims(kX));
      })
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .NoGrad();
}

template <class T>
struct FakeDequantizeMaxAbsKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const Number<T> scale(ctx.In(kScale));
    const T range = NumberFor<T>(ctx.attrs<FakeDequantizeAttrs>().max_range);
    kernels::Map(x.data<T>(), ctx.Out(kOut).mutable_data<T>(), x.numel(),
                 [=] DYGRAPH_FN(T v) { return scale() / range * v; });
  }
};

REGISTER_OPERATOR(fake_dequantize_max_abs, DefineFakeDequantizeMaxAbs);
REGISTER_KERNELS(fake_dequantize_max_abs, FakeDequantizeMaxAbsKernel, float, double);

}  // namespace
}  // namespace dygraph::quantize
