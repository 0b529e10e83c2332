#include "operators/quantize/whole.h"

namespace dygraph::quantize {
namespace {

constexpr int kInput = 0, kOutput = 0;

struct RequantizeAttrs {
  double Scale_in = 1.0;
  double Scale_out = 1.0;
  double Shift_in = 1.0;
  double Shift_out = 1.0;
};

float FactorOf(const RequantizeAttrs& a) {
  return NearestFloat(a.Scale_out) / NearestFloat(a.Scale_in);
}

// A byte, as oneDNN holds it.
float ShiftOf(const RequantizeAttrs& a) {
  const float before = std::floor(FactorOf(a) * NearestFloat(a.Shift_in));
  return static_cast<float>(kernels::Convert<uint8_t>(NearestFloat(a.Shift_out) - before));
}

// Fluid has no shifts; programs without them get the defaults.
bool HasShift(const RequantizeAttrs& a) {
  return a.Shift_in != a.Shift_out || (a.Shift_in != 0 && a.Shift_in != 1);
}

void DefineRequantize(OpDef& op) {
  op.Comment(
        "Output = round(Input * f + s), halves to the even number, cut off at the ends of the "
        "range: numbers made whole with Scale_in, as Scale_out would have made them. f = Scale_out "
        "/ Scale_in; s is Shift_out - floor(f * Shift_in), at least 0 and at most 255, and 0 for "
        "int8, "
        "where the shifts must be 0 or left out.")
      .Example(
          ">>> x = to_variable(np.array([21, -53], \"int8\"))\n"
          ">>> F.requantize(x, Scale_in=10.0, Scale_out=5.0).tolist()\n"
          "[10, -26]")
      .Input(kInput, "Input", "any shape; uint8 or int8")
      .Output(kOutput, "Output", "shape and type of Input")
      .Attr(&RequantizeAttrs::Scale_in, "Scale_in", "the factor behind Input, not 0")
      .Attr(&RequantizeAttrs::Scale_out, "Scale_out", "the factor behind Output, not 0")
      .Attr(&RequantizeAttrs::Shift_in, "Shift_in", "what stands for 0 in Input", AByte())
      .Attr(&RequantizeAttrs::Shift_out, "Shift_out", "what stands for 0 in Output", AByte())
      .Shape([](InferContext& ctx) {
        const auto& a = ctx.attrs<RequantizeAttrs>();
        CheckScale("Scale_in", a.Scale_in);
        CheckScale("Scale_out", a.Scale_out);
        ENFORCE(ctx.dtype(kInput) != DType::kInt8 || !HasShift(a), InvalidArgument,
                "Shift_in and Shift_out must be 0 for int8, got ", a.Shift_in, " and ",
                a.Shift_out);
        ctx.SetOutput(kOutput, ctx.dims(kInput), ctx.dtype(kInput));
      })
      .KeepsLayout()
      .ShareLoD(kInput)
      .InPlace(kInput, kOutput)
      .NoGrad();
}

template <class T>
struct RequantizeKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<RequantizeAttrs>();
    const Tensor& x = ctx.In(kInput);
    kernels::Map(x.data<T>(), ctx.Out(kOutput).mutable_data<T>(), x.numel(),
                 ToWhole<T>{FactorOf(a), std::is_signed_v<T> ? 0.0f : ShiftOf(a)}, 4);
  }
};

REGISTER_OPERATOR(requantize, DefineRequantize);
REGISTER_KERNELS(requantize, RequantizeKernel, uint8_t, int8_t);

}  // namespace
}  // namespace dygraph::quantize
