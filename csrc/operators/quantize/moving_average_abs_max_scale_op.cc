#include "operators/quantize/moving_average.h"

namespace dygraph::quantize {
namespace {

constexpr int kX = 0, kInAccum = 1, kInState = 2;
constexpr int kOut = 0, kOutScale = 1, kOutState = 2, kOutAccum = 3;
constexpr AverageSlots kSlots = {kInAccum, kInState, kOutScale, kOutState, kOutAccum};

void DefineMovingAverageAbsMaxScale(OpDef& op) {
  MovingRate(op.Comment("Out = X. OutScale = OutAccum / OutState follows max |X|: OutAccum = "
                        "moving_rate * InAccum + max |X|, OutState = moving_rate * InState + 1. "
                        "With is_test nothing follows, and OutScale is the quotient so far.")
                 .Example(">>> one = to_variable([1.0])\n"
                          ">>> x = to_variable([0.5, -3.0])\n"
                          ">>> out, scale, state, accum = F.moving_average_abs_max_scale(\n"
                          "...     x, in_accum=one, in_state=one, moving_rate=1.0)\n"
                          ">>> out.tolist(), scale.item(), state.item(), accum.item()\n"
                          "([0.5, -3.0], 2.0, 2.0, 4.0)")
                 .Input(kX, "X", "any shape")
                 .Input(kInAccum, "InAccum", "[1], the sum so far", kDispensable)
                 .Input(kInState, "InState", "[1], the count so far", kDispensable)
                 .Output(kOut, "Out", "X")
                 .Output(kOutScale, "OutScale", "[1], the scale")
                 .Output(kOutState, "OutState", "[1]")
                 .Output(kOutAccum, "OutAccum", "[1]"))
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, ctx.dims(kX));
        InferAverage(ctx, kSlots, !ctx.attrs<FakeAttrs>().is_test);
      })
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .InPlace(kInState, kOutState)
      .InPlace(kInAccum, kOutAccum)
      .Grad(StraightThrough);
}

template <class T>
struct MovingAverageAbsMaxScaleKernel {
  static void Compute(KernelContext& ctx) {
    const FakeAttrs& a = ctx.attrs<FakeAttrs>();
    const Tensor& x = ctx.In(kX);
    Tensor made({1}, DTypeOf<T>::value, ctx.place());
    T* scale = made.mutable_data<T>();
    if (a.is_test) {
      const T *accum = AtOrNull<T>(ctx.InOrNull(kInAccum)),
              *state = AtOrNull<T>(ctx.InOrNull(kInState));
      kernels::ForEach(
          1, [=] DYGRAPH_FN(int64_t) { *scale = accum && state ? *accum / *state : T(0); });
      KeepAverage<T>(ctx, kSlots, scale);
    } else {
      Tensor most({1}, DTypeOf<T>::value, ctx.place());
      AbsMax(x, most.mutable_data<T>());
      Average<T>(ctx, kSlots, most.data<T>(), NumberFor<T>(a.moving_rate), scale);
    }
    if (Tensor* out = ctx.OutOrNull(kOut))
      kernels::Map(x.data<T>(), out->mutable_data<T>(), x.numel(),
                   [] DYGRAPH_FN(T v) { return v; });
  }
};

REGISTER_OPERATOR(moving_average_abs_max_scale, DefineMovingAverageAbsMaxScale);
REGISTER_LOD_RULE(moving_average_abs_max_scale, RowsOfFirstOutput);
REGISTER_KERNELS(moving_average_abs_max_scale, MovingAverageAbsMaxScaleKernel, float, double);

}  // namespace
}  // namespace dygraph::quantize
