#include "operators/fused/residual_norm.h"

namespace dygraph::fused {
namespace {

constexpr int kX = 0, kY = 1, kScale = 2, kBias = 3, kOut = 0;

struct SkipLayerNormAttrs {
  double epsilon = 1e-5;
  int32_t begin_norm_axis = 1;
};

void DefineSkipLayernorm(OpDef& op) {
  op.Comment(
        "Out = layer_norm(X + Y, Scale, Bias): the end of a transformer's block. For inference: no "
        "gradient passes.")
      .Example(
          ">>> x, y = to_variable([[1.0, 2.0]]), to_variable([[0.0, 1.0]])\n"
          ">>> one, zero = to_variable([1.0, 1.0]), to_variable([0.0, 5.0])\n"
          ">>> np.round(F.skip_layernorm(x, y, one, zero).numpy(), 3).tolist()\n"
          "[[-1.0, 6.0]]")
      .Input(kX, "X", "any shape")
      .Input(kY, "Y", "shape of X")
      .Input(kScale, "Scale", "one number for each element of a row")
      .Input(kBias, "Bias", "one number for each element of a row")
      .Output(kOut, "Out", "shape of X")
      .Attr(&SkipLayerNormAttrs::epsilon, "epsilon", "added to the variance", AtLeast(0))
      .Attr(&SkipLayerNormAttrs::begin_norm_axis, "begin_norm_axis",
            "the first axis normalised over", AtLeast(0))
      .Shape([](InferContext& ctx) {
        const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
        bool same = x.rank() == y.rank();
        for (int i = 0; same && i < x.rank(); ++i) same = x[i] == y[i] || !BothKnown(x[i], y[i]);
        ENFORCE(same, InvalidArgument, "X and Y must have one shape, got ", x, " and ", y);
        const int64_t width = NormWidth(x, ctx.attrs<SkipLayerNormAttrs>().begin_norm_axis);
        CheckWidth(ctx, kScale, width);
        CheckWidth(ctx, kBias, width);
        ctx.SetOutput(kOut, x);
      })
      .ShareLoD(kX)
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct SkipLayernormKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<SkipLayerNormAttrs>();
    ResidualNorm(ctx, ctx.InValue(kX), ctx.InValue(kY), {kScale, kBias, kOut}, a.begin_norm_axis,
                 a.epsilon);
  }
};

REGISTER_OPERATOR(skip_layernorm, DefineSkipLayernorm);
REGISTER_KERNELS(skip_layernorm, SkipLayernormKernel, float, double);

}  // namespace
}  // namespace dygraph::fused
