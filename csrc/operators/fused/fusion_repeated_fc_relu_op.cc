#include "operators/fused/fused.h"

namespace dygraph::fused {
namespace {

constexpr int kX = 0, kW = 1, kBias = 2, kReluOut = 0, kOut = 1;

void InferShape(InferContext& ctx) {
  const int count = ctx.InputCount(kW);
  ENFORCE(count > 1 && ctx.InputCount(kBias) == count, InvalidArgument,
          "W and Bias must hold equally many, at least two, got ", count, " and ",
          ctx.InputCount(kBias));
  const int wanted = ctx.OutputCount(kReluOut);
  ENFORCE(wanted == 0 || wanted == count - 1, InvalidArgument,
          "ReluOut must hold one for each W but the last, ", count - 1, ", got ", wanted);
  const Dims& x = ctx.dims(kX);
  ENFORCE(x.rank() >= 2, InvalidArgument, "X must have rows and columns, got shape ", x);
  int64_t width = 1;
  for (int i = 1; i < x.rank(); ++i) width = MulSizes(width, x[i]);
  for (int i = 0; i < count; ++i) {
    const Dims &w = ctx.dims(kW, i), &bias = ctx.dims(kBias, i);
    ENFORCE(w.rank() == 2 && (w[0] == width || !BothKnown(w[0], width)), InvalidArgument,
            "W must be a matrix with a row for each of the ", width, " columns before it, got ", w,
            " at ", i);
    width = w[1];
    ENFORCE(bias.HasUnknown() || width < 0 || Numel(bias) == width, InvalidArgument,
            "Bias must hold a number for each of the ", width, " columns of its W, got shape ",
            bias, " at ", i);
    if (i + 1 < count) ctx.SetOutputAt(kReluOut, i, {x[0], width});
  }
  ctx.SetOutput(kOut, {x[0], width});
}

void DefineFusionRepeatedFcRelu(OpDef& op) {
  op.Comment(
        "Out = relu(... relu(relu(X W[0] + Bias[0]) W[1] + Bias[1]) ...), X flattened to a matrix "
        "behind its first axis. For inference: no gradient passes.")
      .Example(
          ">>> x, w = to_variable([[1.0, 2.0]]), to_variable([[1.0, -1.0], [1.0, -1.0]])\n"
          ">>> b = to_variable([0.5, 0.5])\n"
          ">>> F.fusion_repeated_fc_relu(x, [w, w], [b, b]).tolist()\n"
          "[[4.0, 0.0]]")
      .Input(kX, "X", "[rows, ...]")
      .Input(kW, "W", "matrices, each as high as the one before is wide", kDuplicable)
      .Input(kBias, "Bias", "[n] or [1, n] for each", kDuplicable)
      .Output(kReluOut, "ReluOut", "the results but the last", kDuplicable | kIntermediate)
      .Output(kOut, "Out", "[rows, columns of the last W]")
      .OutputCount([](int, const Call& call) { return call.in.count(kW) - 1; })
      .Shape(InferShape)
      .ShareLoD(kX)
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct FusionRepeatedFcReluKernel {
  static void Compute(KernelContext& ctx) {
    const int count = ctx.InputCount(kW);
    std::vector<Value> own(count);
    const Value* from = &ctx.InValue(kX);
    for (int i = 0; i < count; ++i) {
      Value* to = &own[i];
      if (i + 1 == count) {
        to = &ctx.OutValue(kOut);
      } else if (ctx.HasOutput(kReluOut, i)) {
        to = &ctx.OutValue(kReluOut, i);
      }
      PartCall(ctx, "fc")
          .In(*from)
          .In(ctx.InValue(kW, i))
          .In(ctx.InValue(kBias, i))
          .Out(to)
          .Attr("activation_type", std::string("relu"))
          .Run();
      from = to;
    }
  }
};

REGISTER_OPERATOR(fusion_repeated_fc_relu, DefineFusionRepeatedFcRelu);
REGISTER_KERNELS(fusion_repeated_fc_relu, FusionRepeatedFcReluKernel, float, double);

}  // namespace
}  // namespace dygraph::fused
