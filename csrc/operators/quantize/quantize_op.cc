#include "operators/quantize/whole.h"

namespace dygraph::quantize {
namespace {

constexpr int kInput = 0, kOutput = 0;

struct QuantizeAttrs {
  bool is_negative_input = false;
  double Scale = 1.0;
  double Shift = 0.0;
  std::string output_format = "NHWC";
  bool bfloat16 = false;
};

DType TypeOf(const QuantizeAttrs& a) {
  if (a.bfloat16) return DType::kBFloat16;
  return a.is_negative_input && a.Shift == 0 ? DType::kInt8 : DType::kUInt8;
}

void DefineQuantize(OpDef& op) {
  op.Comment(
        "Output = round(Input * Scale + Shift), halves to the even number, cut off at the ends of "
        "the range: of uint8, or of int8 with is_negative_input and without Shift. With bfloat16 "
        "it is Input in that type.")
      .Example(
          ">>> x = to_variable([0.5, -1.0, 30.0])\n"
          ">>> F.quantize(x, Scale=10.0, is_negative_input=True).tolist()\n"
          "[5, -10, 127]")
      .Input(kInput, "Input", "any shape")
      .Output(kOutput, "Output", "shape of Input, uint8, int8 or bfloat16")
      .Attr(&QuantizeAttrs::is_negative_input, "is_negative_input", "int8, where Shift is 0")
      .Attr(&QuantizeAttrs::Scale, "Scale", "the factor, not 0")
      .Attr(&QuantizeAttrs::Shift, "Shift", "what stands for 0, a whole number from 0 to 255",
            AByte())
      .Attr(&QuantizeAttrs::output_format, "output_format", "of programs", OneOf({"NHWC", "NCHW"}))
      .Attr(&QuantizeAttrs::bfloat16, "bfloat16", "convert to bfloat16")
      .Shape([](InferContext& ctx) {
        const auto& a = ctx.attrs<QuantizeAttrs>();
        CheckScale("Scale", a.Scale);
        ctx.SetOutput(kOutput, ctx.dims(kInput), TypeOf(a));
      })
      .KeepsLayout()
      .ShareLoD(kInput)
      .NoGrad();
}

template <class T>
struct QuantizeKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<QuantizeAttrs>();
    const Tensor& x = ctx.In(kInput);
    Tensor& out = ctx.Out(kOutput);
    if (a.bfloat16)
      return kernels::Cast(x.dtype(), x.raw_data(), out.dtype(), out.mutable_raw_data(), x.numel());
    const float scale = NearestFloat(a.Scale), shift = NearestFloat(a.Shift);
    if (out.dtype() == DType::kInt8) {
      kernels::Map(x.data<T>(), out.mutable_data<int8_t>(), x.numel(),
                   ToWhole<int8_t>{scale, shift}, 4);
    } else {
      kernels::Map(x.data<T>(), out.mutable_data<uint8_t>(), x.numel(),
                   ToWhole<uint8_t>{scale, shift}, 4);
    }
  }
};

REGISTER_OPERATOR(quantize, DefineQuantize);
REGISTER_KERNELS(quantize, QuantizeKernel, float, double);

}  // namespace
}  // namespace dygraph::quantize
