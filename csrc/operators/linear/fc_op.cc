#include "op/op_registry.h"
#include "operators/linear/fc_product.h"

namespace dygraph {
namespace {

constexpr int kInput = 0, kW = 1, kBias = 2, kOut = 0;
constexpr int64_t kPadding = 4;  // rows and columns that padding_weights adds

struct FcAttrs {
  int32_t in_num_col_dims = 1;
  std::string activation_type;
  bool padding_weights = false;
};

void InferShape(InferContext& ctx) {
  const FcAttrs& a = ctx.attrs<FcAttrs>();
  const Dims &x = ctx.dims(kInput), &w = ctx.dims(kW);
  ENFORCE(a.in_num_col_dims < x.rank(), InvalidArgument,
          "Input must have more axes than in_num_col_dims, got Input ", x, " and ",
          a.in_num_col_dims);
  ENFORCE(w.rank() == 2, InvalidArgument, "W must be a matrix, got shape ", w);
  int64_t width = 1, pad = a.padding_weights ? kPadding : 0;
  for (int i = a.in_num_col_dims; i < x.rank(); ++i) width = MulSizes(width, x[i]);
  ENFORCE(w.HasUnknown() || (w[0] >= pad && w[1] >= pad), InvalidArgument,
          "W must have the four rows and columns of padding_weights, got shape ", w);
  ENFORCE(width == w[0] - pad || !BothKnown(width, w[0]), InvalidArgument, "the width of Input ", x,
          " flattened at ", a.in_num_col_dims, " must be the height of W ", w, ", got ", width);
  int64_t n = w[1] < 0 ? -1 : w[1] - pad;
  if (ctx.HasInput(kBias)) {
    const Dims& b = ctx.dims(kBias);
    ENFORCE(b.HasUnknown() || n < 0 || (!b.empty() && b.back() == n && Numel(b) == n),
            InvalidArgument, "Bias must have ", n, " elements in its last axis, got shape ", b);
  }
  Dims out(x.begin(), x.begin() + a.in_num_col_dims);
  out.push_back(n);
  ctx.SetOutput(kOut, out);
}

void DefineFc(OpDef& op) {
  op.Comment(
        "Out = activation(Input W + Bias), Input flattened to a matrix at in_num_col_dims. Made by "
        "programs for inference: no gradient passes. Layers use mul and elementwise_add.")
      .Example(
          ">>> x, w = to_variable([[1.0, 2.0]]), to_variable([[1.0, -1.0], [1.0, -1.0]])\n"
          ">>> F.fc(x, w, bias=to_variable([0.5, 0.5]), activation_type=\"relu\").tolist()\n"
          "[[3.5, 0.0]]")
      .Input(kInput, "Input", "more than in_num_col_dims axes")
      .Input(kW, "W", "[width of Input, n]", kWeight)
      .Input(kBias, "Bias", "[n] or [1, n]", kDispensable)
      .Output(kOut, "Out", "the first in_num_col_dims axes of Input, then n")
      .Attr(&FcAttrs::in_num_col_dims, "in_num_col_dims", "axes of Input that make rows",
            AtLeast(1))
      .Attr(&FcAttrs::activation_type, "activation_type", "relu, or empty", OneOf({"", "relu"}))
      .Attr(&FcAttrs::padding_weights, "padding_weights",
            "W has four rows and four columns more, which are not read")
      .Shape(InferShape)
      .ShareLoD(kInput)
      .NoGrad();
}

template <class T>
struct FcKernel {
  static void Compute(KernelContext& ctx) {
    const FcAttrs& a = ctx.attrs<FcAttrs>();
    const Tensor &x = ctx.In(kInput), &w = ctx.In(kW), *bias = ctx.InOrNull(kBias);
    Tensor& out = ctx.Out(kOut);
    if (out.numel() == 0) return;
    const int64_t n = out.dims().back();
    fc::Product<T>({out.numel() / n, n, Numel(x.dims(), a.in_num_col_dims, x.rank())}, x.data<T>(),
                   w, a.padding_weights ? nullptr : ctx.call().kept,
                   {bias ? bias->data<T>() : nullptr, a.activation_type == "relu"},
                   out.mutable_data<T>());
  }
};

REGISTER_OPERATOR(fc, DefineFc);
REGISTER_KERNELS(fc, FcKernel, float, double);
REGISTER_DEVICE_TYPES(fc, FcKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph
