#include "operators/quantize/linear.h"

namespace dygraph::quantize {
namespace {

void DefineQuantizeLinear(OpDef& op) {
  DeclareLinear(
      op.Comment("Y = round(X / Scale * L), L = 2^(bit_length - 1) - 1, between -L - 1 and L, or X "
                 "cut off at Scale with round_type 1. Without is_test a new OutScale is used: with "
                 "quant_axis -1 OutAccum / OutState, which follows max |X|, OutAccum = moving_rate "
                 "* InAccum + max |X|, OutState = moving_rate * InState + 1; else max |X| of each "
                 "channel.")
          .Example(
              ">>> x, scale, zero = (to_variable(v) for v in ([0.5, -1.0, 5.0], [2.0], [0.0]))\n"
              ">>> F.quantize_linear(x, scale, zero, quant_axis=-1)[0].tolist()\n"
              "[32.0, -64.0, 127.0]"))
      .NoGrad();
}

template <class T>
struct QuantizeLinearKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<LinearAttrs>();
    CheckZeroPoint(ctx.In(kZeroPoint));
    const Tensor x = InTypeOf<T>(ctx.In(kX)), &given = ctx.In(kScale);
    Tensor made(given.dims(), DTypeOf<T>::value, ctx.place());
    T* scales = made.mutable_data<T>();
    if (!a.is_test && a.quant_axis < 0) {
      Tensor most({1}, DTypeOf<T>::value, ctx.place());
      AbsMax(x, most.mutable_data<T>());
      Average<T>(ctx, kLinearSlots, most.data<T>(), NumberFor<T>(a.moving_rate), scales);
    } else {
      if (a.is_test) {
        CopyScale(ctx, given, &made);
      } else {
        AbsMaxOfChannels(x, a.quant_axis, scales);
      }
      KeepAverage<T>(ctx, kLinearSlots, nullptr);
    }
    if (Tensor* out = ctx.OutOrNull(kOutScale)) CopyScale(ctx, made, out);
    Tensor& y = ctx.Out(kY);
    FakeAttrs rounding;
    rounding.bit_length = a.bit_length;
    rounding.round_type = a.round_type;
    if (a.only_observer) {
      kernels::Map(x.data<T>(), y.mutable_data<T>(), x.numel(), [] DYGRAPH_FN(T v) { return v; });
    } else if (a.quant_axis < 0) {
      Round(x.data<T>(), y.mutable_data<T>(), x.numel(), made, rounding, false);
    } else {
      RoundChannels(x, &y, a.quant_axis, scales, rounding, false);
    }
  }
};

REGISTER_OPERATOR(quantize_linear, DefineQuantizeLinear);
REGISTER_LOD_RULE(quantize_linear, RowsOfFirstOutput);
REGISTER_KERNELS(quantize_linear, QuantizeLinearKernel, float, double);

}  // namespace
}  // namespace dygraph::quantize
