#include "operators/fused/residual_norm.h"

namespace dygraph::fused {
namespace {

constexpr int kX = 0, kW = 1, kY = 2, kBias0 = 3, kScale = 4, kBias1 = 5;
constexpr int kOut = 0, kMean = 1, kVariance = 2;

struct FcLayerNormAttrs {
  int32_t x_num_col_dims = 1;
  std::string activation_type;
  double epsilon = 1e-5;
  int32_t begin_norm_axis = 1;
};

void InferShape(InferContext& ctx) {
  const auto& a = ctx.attrs<FcLayerNormAttrs>();
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  ENFORCE(a.x_num_col_dims < x.rank(), InvalidArgument,
          "X must have more axes than x_num_col_dims ", a.x_num_col_dims, ", got shape ", x);
  int64_t width = 1;
  for (int i = a.x_num_col_dims; i < x.rank(); ++i) width = MulSizes(width, x[i]);
  CheckMatrix(ctx, kW, width, -1, "[width of X, n]");
  CheckWidth(ctx, kBias0, ctx.dims(kW)[1]);
  Dims out(x.begin(), x.begin() + a.x_num_col_dims);
  out.push_back(ctx.dims(kW)[1]);
  bool same = out.rank() == y.rank();
  for (int i = 0; same && i < out.rank(); ++i) same = out[i] == y[i] || !BothKnown(out[i], y[i]);
  ENFORCE(same, InvalidArgument, "Y must have the shape of the product, ", out, ", got ", y);
  const int64_t row = NormWidth(out, a.begin_norm_axis);
  CheckWidth(ctx, kScale, row);
  CheckWidth(ctx, kBias1, row);
  int64_t rows = 1;
  for (int i = 0; i < a.begin_norm_axis; ++i) rows = MulSizes(rows, out[i]);
  ctx.SetOutput(kOut, out);
  ctx.SetOutput(kMean, {rows});
  ctx.SetOutput(kVariance, {rows});
}

void DefineFusedFcElementwiseLayernorm(OpDef& op) {
  op.Comment(
        "Out = layer_norm(fc(X, W, Bias0) + Y, Scale, Bias1), X flattened to a matrix at "
        "x_num_col_dims. For inference: no gradient passes.")
      .Example(
          ">>> x, w = to_variable([[1.0, 2.0]]), to_variable([[1.0, 0.0], [0.0, 1.0]])\n"
          ">>> y = to_variable([[0.0, 1.0]])\n"
          ">>> np.round(F.fused_fc_elementwise_layernorm(x, w, y)[0].numpy(), 3).tolist()\n"
          "[[-1.0, 1.0]]")
      .Input(kX, "X", "more than x_num_col_dims axes")
      .Input(kW, "W", "[width of X, n]")
      .Input(kY, "Y", "shape of the product")
      .Input(kBias0, "Bias0", "[n]", kDispensable)
      .Input(kScale, "Scale", "one number for each element of a row", kDispensable)
      .Input(kBias1, "Bias1", "one number for each element of a row", kDispensable)
      .Output(kOut, "Out", "the first x_num_col_dims axes of X, then n")
      .Output(kMean, "Mean", "[rows]")
      .Output(kVariance, "Variance", "[rows], biased")
      .Attr(&FcLayerNormAttrs::x_num_col_dims, "x_num_col_dims", "axes of X that make rows",
            AtLeast(1))
      .Attr(&FcLayerNormAttrs::activation_type, "activation_type", "relu, or empty",
            OneOf({"", "relu"}))
      .Attr(&FcLayerNormAttrs::epsilon, "epsilon", "added to the variance", AtLeast(0))
      .Attr(&FcLayerNormAttrs::begin_norm_axis, "begin_norm_axis", "the first axis normalised over",
            AtLeast(0))
      .Shape(InferShape)
      .ShareLoD(kX)
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct FusedFcElementwiseLayernormKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<FcLayerNormAttrs>();
    Value product;
    PartCall(ctx, "fc")
        .In(ctx.InValue(kX))
        .In(ctx.InValue(kW))
        .In(InputOrNull(ctx, kBias0))
        .Out(&product)
        .Attr("in_num_col_dims", a.x_num_col_dims)
        .Attr("activation_type", a.activation_type)
        .Run();
    ResidualNorm(ctx, product, ctx.InValue(kY), {kScale, kBias1, kOut, kMean, kVariance},
                 a.begin_norm_axis, a.epsilon);
  }
};

REGISTER_OPERATOR(fused_fc_elementwise_layernorm, DefineFusedFcElementwiseLayernorm);
REGISTER_LOD_RULE(fused_fc_elementwise_layernorm, RowsOfFirstOutput);
REGISTER_KERNELS(fused_fc_elementwise_layernorm, FusedFcElementwiseLayernormKernel, float,
                    double);

}  // namespace
}  // namespace dygraph::fused
