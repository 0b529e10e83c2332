#include "kernels/elementwise.h"
#include "op/op_registry.h"

namespace dygraph::quantize {
namespace {

constexpr int kX = 0, kDict = 1, kOut = 0;
constexpr int kNumbers = 128;

void DefineDequantizeLog(OpDef& op) {
  op.Comment(
        "Out = Dict[X], or -Dict[X + 128] where X < 0: numbers stored as the place of their "
        "magnitude in a list, with a sign.")
      .Example(
          ">>> numbers = to_variable(np.arange(128, dtype=\"float32\") / 8)\n"
          ">>> F.dequantize_log(to_variable(np.array([2, -126], \"int8\")), numbers).tolist()\n"
          "[0.25, -0.25]")
      .Input(kX, "X", "any shape; int8")
      .Input(kDict, "Dict", "[128], float32")
      .Output(kOut, "Out", "shape of X, float32")
      .Shape([](InferContext& ctx) {
        const Dims& dict = ctx.dims(kDict);
        ENFORCE(dict.HasUnknown() || Numel(dict) == kNumbers, InvalidArgument,
                "Dict must hold 128 numbers, got shape ", dict);
        ENFORCE(ctx.dtype(kDict) == DType::kFloat32, Type, "Dict must be of float32, got ",
                ctx.dtype(kDict), ". Convert with astype('float32')");
        ctx.SetOutput(kOut, ctx.dims(kX), DType::kFloat32);
      })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KeepsLayout()
      .ShareLoD(kX)
      .NoGrad();
}

template <class T>
struct DequantizeLogKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const float* dict = ctx.In(kDict).data<float>();
    kernels::Map(
        x.data<T>(), ctx.Out(kOut).mutable_data<float>(), x.numel(),
        [=] DYGRAPH_FN(T v) { return v < 0 ? -dict[v + kNumbers] : dict[v]; }, 2);
  }
};

REGISTER_OPERATOR(dequantize_log, DefineDequantizeLog);
REGISTER_KERNELS(dequantize_log, DequantizeLogKernel, int8_t);

}  // namespace
}  // namespace dygraph::quantize
