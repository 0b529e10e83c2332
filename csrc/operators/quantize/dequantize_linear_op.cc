#include "operators/quantize/linear.h"

namespace dygraph::quantize {
namespace {

void DefineDequantizeLinear(OpDef& op) {
  DeclareLinear(
      op.Comment("Y = X * Scale / L, L = 2^(bit_length - 1) - 1, in the type of Scale: the numbers "
                 "that quantize_linear made whole. X may be of integers.")
          .Example(">>> x = to_variable(np.array([0, -127], \"int8\"))\n"
                   ">>> scale, zero = to_variable([2.0]), to_variable([0.0])\n"
                   ">>> F.dequantize_linear(x, scale, zero, quant_axis=-1)[0].tolist()\n"
                   "[0.0, -2.0]"))
      .NoGrad();
}

template <class T>
struct DequantizeLinearKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<LinearAttrs>();
    CheckZeroPoint(ctx.In(kZeroPoint));
    const Tensor x = InTypeOf<T>(ctx.In(kX)), &scale = ctx.In(kScale);
    KeepAverage<T>(ctx, kLinearSlots, nullptr);
    if (Tensor* out = ctx.OutOrNull(kOutScale)) CopyScale(ctx, scale, out);
    const T* from = x.data<T>();
    T* to = ctx.Out(kY).mutable_data<T>();
    if (a.only_observer) return kernels::Map(from, to, x.numel(), [] DYGRAPH_FN(T v) { return v; });
    const T levels = static_cast<T>(Levels(a.bit_length));
    const bool whole = a.quant_axis < 0;
    const Channels c(whole ? Dims{1, 1, x.numel()} : x.dims(), whole ? 1 : a.quant_axis);
    MapChannels(from, to, c, scale.data<T>(), [=] DYGRAPH_FN(T v, T s) { return v * s / levels; });
  }
};

REGISTER_OPERATOR(dequantize_linear, DefineDequantizeLinear);
REGISTER_LOD_RULE(dequantize_linear, RowsOfFirstOutput);
REGISTER_KERNELS(dequantize_linear, DequantizeLinearKernel, float, double);

}  // namespace
}  // namespace dygraph::quantize
