#include "operators/quantize/quantize.h"

namespace dygraph::quantize {
namespace {

constexpr int kX = 0, kScale = 1, kOut = 0;

struct DequantizeAbsMaxAttrs {
  double max_range = 127.0;
};

void DefineDequantizeAbsMax(OpDef& op) {
  op.Comment("Out = Scale * X / max_range: a table that is stored as integers.")
      .Example(
          ">>> x = to_variable(np.array([0, -127], \"int8\"))\n"
          ">>> out = F.dequantize_abs_max(x, to_variable([2.0]), max_range=127.0)\n"
          ">>> out.tolist()\n"
          "[0.0, -2.0]")
      .Input(kX, "X", "any shape; int8 or int16")
      .Input(kScale, "Scale", "[1], float32")
      .Output(kOut, "Out", "shape of X, float32")
      .Attr(&DequantizeAbsMaxAttrs::max_range, "max_range",
            "the greatest whole number, 2^(bits - 1) - 1")
      .Shape([](InferContext& ctx) {
        CheckOne(ctx, kScale, "Scale");
        ENFORCE(ctx.dtype(kScale) == DType::kFloat32, Type, "Scale must be of float32, got ",
                ctx.dtype(kScale), ". Convert with astype('float32')");
        ctx.SetOutput(kOut, ctx.dims(kX), DType::kFloat32);
      })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KeepsLayout()
      .ShareLoD(kX)
      .NoGrad();
}

template <class T>
struct DequantizeAbsMaxKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const float range = NearestFloat(ctx.attrs<DequantizeAbsMaxAttrs>().max_range);
    const Number<float> scale(ctx.In(kScale));
    kernels::Map(
        x.data<T>(), ctx.Out(kOut).mutable_data<float>(), x.numel(),
        [=] DYGRAPH_FN(T v) { return scale() * static_cast<float>(v) / range; }, 2);
  }
};

REGISTER_OPERATOR(dequantize_abs_max, DefineDequantizeAbsMax);
REGISTER_KERNELS(dequantize_abs_max, DequantizeAbsMaxKernel, int8_t, int16_t);

}  // namespace
}  // namespace dygraph::quantize
