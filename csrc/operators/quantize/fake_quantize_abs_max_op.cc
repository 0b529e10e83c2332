#include "operators/quantize/quantize.h"

namespace dygraph::quantize {
namespace {

constexpr int kX = 0, kOut = 0, kOutScale = 1;

OpDef& Declare(OpDef& op) {
  op.Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X")
      .Output(kOutScale, "OutScale", "[1], max |X|");
  return Bits(op)
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, ctx.dims(kX));
        ctx.SetOutput(kOutScale, {1});
      })
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut);
}

void DefineFakeQuantizeAbsMax(OpDef& op) {
  Declare(
      op.Comment("Out = round(X / OutScale * L), OutScale = max |X|, L = 2^(bit_length - 1) - 1: "
                 "whole numbers as floating-point ones.")
          .Example(">>> F.fake_quantize_abs_max(to_variable([0.5, -1.0, 2.0]))[0].tolist()\n"
                   "[32.0, -64.0, 127.0]"))
      .NoGrad();
}

void DefineFakeQuantizeDequantizeAbsMax(OpDef& op) {
  Declare(op.Comment("Out = round(X / OutScale * L) * OutScale / L, OutScale = max |X|, L = "
                     "2^(bit_length - 1) - 1: X with the error that so many bits make. The "
                     "gradient goes straight through, X@GRAD = Out@GRAD.")
              .Example(">>> x = to_variable([0.5, -1.0, 3.0])\n"
                       ">>> F.fake_quantize_dequantize_abs_max(x, bit_length=3)[0].tolist()\n"
                       "[1.0, -1.0, 3.0]"))
      .Grad(StraightThrough);
}

template <class T, bool kBack>
void Compute(KernelContext& ctx) {
  const Tensor& x = ctx.In(kX);
  Tensor made, *scale = ctx.OutOrNull(kOutScale);
  if (!scale) {
    made = Tensor({1}, DTypeOf<T>::value, ctx.place());
    scale = &made;
  }
  AbsMax(x, scale->mutable_data<T>());
  Round(x.data<T>(), ctx.Out(kOut).mutable_data<T>(), x.numel(), *scale, ctx.attrs<FakeAttrs>(),
        kBack);
}

template <class T>
struct FakeQuantizeKernel {
  static void Compute(KernelContext& ctx) { quantize::Compute<T, false>(ctx); }
};
template <class T>
struct FakeQuantizeDequantizeKernel {
  static void Compute(KernelContext& ctx) { quantize::Compute<T, true>(ctx); }
};

REGISTER_OPERATOR(fake_quantize_abs_max, DefineFakeQuantizeAbsMax);
REGISTER_LOD_RULE(fake_quantize_abs_max, RowsOfFirstOutput);
REGISTER_KERNELS(fake_quantize_abs_max, FakeQuantizeKernel, float, double);
REGISTER_OPERATOR(fake_quantize_dequantize_abs_max, DefineFakeQuantizeDequantizeAbsMax);
REGISTER_LOD_RULE(fake_quantize_dequantize_abs_max, RowsOfFirstOutput);
REGISTER_KERNELS(fake_quantize_dequantize_abs_max, FakeQuantizeDequantizeKernel, float, double);

}  // namespace
}  // namespace dygraph::quantize
