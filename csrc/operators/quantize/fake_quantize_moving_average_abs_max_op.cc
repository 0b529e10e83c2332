#include "operators/quantize/moving_average.h"

namespace dygraph::quantize {
namespace {

constexpr int kX = 0, kInScale = 1, kInAccum = 2, kInState = 3;
constexpr int kOut = 0, kOutScale = 1, kOutState = 2, kOutAccum = 3;
constexpr AverageSlots kSlots = {kInAccum, kInState, kOutScale, kOutState, kOutAccum};

OpDef& Declare(OpDef& op) {
  op.Input(kX, "X", "any shape")
      .Input(kInScale, "InScale", "[1], the scale so far, used with is_test")
      .Input(kInAccum, "InAccum", "[1], the sum so far", kDispensable)
      .Input(kInState, "InState", "[1], the count so far", kDispensable)
      .Output(kOut, "Out", "shape of X")
      .Output(kOutScale, "OutScale", "[1], the scale")
      .Output(kOutState, "OutState", "[1]")
      .Output(kOutAccum, "OutAccum", "[1]");
  return Bits(MovingRate(op))
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, ctx.dims(kX));
        CheckOne(ctx, kInScale, "InScale");
        InferAverage(ctx, kSlots, !ctx.attrs<FakeAttrs>().is_test);
      })
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .InPlace(kInScale, kOutScale)
      .InPlace(kInState, kOutState)
      .InPlace(kInAccum, kOutAccum);
}

void DefineFakeQuantizeMovingAverageAbsMax(OpDef& op) {
  Declare(op.Comment(
                "Out = round(X / OutScale * L), X cut off at OutScale, L = 2^(bit_length - 1) - 1. "
                "OutScale = OutAccum / OutState follows max |X|: OutAccum = moving_rate * InAccum "
                "+ max |X|, OutState = moving_rate * InState + 1. With is_test it is InScale.")
              .Example(">>> one = to_variable([1.0])\n"
                       ">>> x = to_variable([0.5, -1.0, 3.0])\n"
                       ">>> out, scale, state, accum = F.fake_quantize_moving_average_abs_max(\n"
                       "...     x, one, in_accum=one, in_state=one, moving_rate=1.0)\n"
                       ">>> out.tolist(), scale.item(), state.item(), accum.item()\n"
                       "([32.0, -64.0, 127.0], 2.0, 2.0, 4.0)"))
      .NoGrad();
}

void DefineFakeQuantizeDequantizeMovingAverageAbsMax(OpDef& op) {
  Declare(op.Comment("Out = round(X / OutScale * L) * OutScale / L, X cut off at OutScale, L = "
                     "2^(bit_length - 1) - 1: X with the error that so many bits make. OutScale = "
                     "OutAccum / OutState follows max |X|: OutAccum = moving_rate * InAccum + max "
                     "|X|, OutState = moving_rate * InState + 1. With is_test it is InScale. The "
                     "gradient goes straight through, X@GRAD = Out@GRAD.")
              .Example(">>> three = to_variable([3.0])\n"
                       ">>> out = F.fake_quantize_dequantize_moving_average_abs_max(\n"
                       "...     to_variable([0.5, -1.0, 4.0]), three, bit_length=3, is_test=True)\n"
                       ">>> out[0].tolist()\n"
                       "[1.0, -1.0, 3.0]"))
      .Grad(StraightThrough);
}

template <class T, bool kBack>
void Compute(KernelContext& ctx) {
  const FakeAttrs& a = ctx.attrs<FakeAttrs>();
  const Tensor& x = ctx.In(kX);
  Tensor made;
  const Tensor* scale = &ctx.In(kInScale);
  if (a.is_test) {
    KeepAverage(ctx, kSlots, scale->data<T>());
  } else {
    Tensor most({1}, DTypeOf<T>::value, ctx.place());
    made = Tensor({1}, DTypeOf<T>::value, ctx.place());
    scale = &made;
    AbsMax(x, most.mutable_data<T>());
    Average<T>(ctx, kSlots, most.data<T>(), NumberFor<T>(a.moving_rate), made.mutable_data<T>());
  }
  Round(x.data<T>(), ctx.Out(kOut).mutable_data<T>(), x.numel(), *scale, a, kBack);
}

template <class T>
struct MovingAverageKernel {
  static void Compute(KernelContext& ctx) { quantize::Compute<T, false>(ctx); }
};
template <class T>
struct MovingAverageBackKernel {
  static void Compute(KernelContext& ctx) { quantize::Compute<T, true>(ctx); }
};

REGISTER_OPERATOR(fake_quantize_moving_average_abs_max, DefineFakeQuantizeMovingAverageAbsMax);
REGISTER_LOD_RULE(fake_quantize_moving_average_abs_max, RowsOfFirstOutput);
REGISTER_KERNELS(fake_quantize_moving_average_abs_max, MovingAverageKernel, float, double);
REGISTER_OPERATOR(fake_quantize_dequantize_moving_average_abs_max,
                  DefineFakeQuantizeDequantizeMovingAverageAbsMax);
REGISTER_LOD_RULE(fake_quantize_dequantize_moving_average_abs_max, RowsOfFirstOutput);
REGISTER_KERNELS(fake_quantize_dequantize_moving_average_abs_max, MovingAverageBackKernel, float,
                 double);

}  // namespace
}  // namespace dygraph::quantize
