#include "operators/quantize/whole.h"

namespace dygraph::quantize {
namespace {

constexpr int kInput = 0, kOutput = 0;

struct DequantizeAttrs {
  double Scale = 1.0;
  double Shift = 0.0;
};

void DefineDequantize(OpDef& op) {
  op.Comment("Output = (Input - Shift) / Scale, of float32: the numbers that quantize made whole.")
      .Example(
          ">>> F.dequantize(to_variable(np.array([5, -10], \"int8\")), Scale=10.0).tolist()\n"
          "[0.5, -1.0]")
      .Input(kInput, "Input", "any shape; uint8, int8, int32 or bfloat16")
      .Output(kOutput, "Output", "shape of Input, float32")
      .Attr(&DequantizeAttrs::Scale, "Scale", "the factor of quantize, not 0")
      .Attr(&DequantizeAttrs::Shift, "Shift", "that of quantize, a whole number from 0 to 255",
            AByte())
      .Shape([](InferContext& ctx) {
        CheckScale("Scale", ctx.attrs<DequantizeAttrs>().Scale);
        ctx.SetOutput(kOutput, ctx.dims(kInput), DType::kFloat32);
      })
      .KeepsLayout()
      .ShareLoD(kInput)
      .NoGrad();
}

template <class T>
struct DequantizeKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<DequantizeAttrs>();
    const Tensor& x = ctx.In(kInput);
    const float factor = 1.0f / NearestFloat(a.Scale), shift = NearestFloat(a.Shift);
    kernels::Map(
        x.data<T>(), ctx.Out(kOutput).mutable_data<float>(), x.numel(),
        [=] DYGRAPH_FN(kernels::Wide<T> v) { return (static_cast<float>(v) - shift) * factor; }, 2);
  }
};

REGISTER_OPERATOR(dequantize, DefineDequantize);
REGISTER_KERNELS(dequantize, DequantizeKernel, uint8_t, int8_t, int32_t, bfloat16);

}  // namespace
}  // namespace dygraph::quantize
