#include "operators/create/filling.h"

namespace dygraph {
namespace {

constexpr int kInput = 0, kOut = 0;

struct FillLikeAttrs {
  std::vector<int32_t> shape;
  int32_t input_dim_idx = 0;
  int32_t output_dim_idx = 0;
  DType dtype = DType::kFloat32;
  double value = 0.0;
  std::string str_value;
  bool force_cpu = false;
};

void InferShape(InferContext& ctx) {
  const FillLikeAttrs& a = ctx.attrs<FillLikeAttrs>();
  const Dims& in = ctx.dims(kInput);
  Dims out(a.shape.begin(), a.shape.end());
  ENFORCE(!in.empty() && !out.empty(), InvalidArgument,
          "Input and shape must have axes, got Input ", in, " and shape ", out);
  int from = NormalizeAxis(a.input_dim_idx, in.rank(), "input_dim_idx");
  int to = NormalizeAxis(a.output_dim_idx, out.rank(), "output_dim_idx");
  out[to] = in[from];
  const Tensor& input = ctx.value(kInput).tensor();
  if (input.lod() && from == 0 && !input.lod_levels().empty())  // a batch of sequences
    out[to] = static_cast<int64_t>(input.lod_levels().back().size()) - 1;
  for (int64_t n : out) {
    ENFORCE(n >= 0 || !ctx.runtime(), InvalidArgument,
            "the sizes of shape must be at least 0 but at output_dim_idx, got ", out);
  }
  ctx.SetOutput(kOut, out, a.dtype);
}

void DefineFillLike(OpDef& op) {
  op.Comment(
        "Out = a tensor of the given shape, one value everywhere, its axis output_dim_idx as long "
        "as axis input_dim_idx of Input (the number of sequences, if those are rows of sequences).")
      .Example(
          ">>> x = to_variable([[1.0], [2.0], [3.0]])\n"
          ">>> F.fill_constant_batch_size_like(x, shape=[-1, 2], value=5.0).tolist()\n"
          "[[5.0, 5.0], [5.0, 5.0], [5.0, 5.0]]")
      .Input(kInput, "Input", "gives the size of the batch")
      .Output(kOut, "Out", "the shape asked for")
      .Attr(&FillLikeAttrs::shape, "shape", "the sizes; that of the batch is not read")
      .Attr(&FillLikeAttrs::input_dim_idx, "input_dim_idx", "axis of Input to take the size of")
      .Attr(&FillLikeAttrs::output_dim_idx, "output_dim_idx", "axis of Out to have that size")
      .Attr(&FillLikeAttrs::dtype, "dtype", "element type of Out")
      .Attr(&FillLikeAttrs::value, "value", "what to fill with")
      .Attr(&FillLikeAttrs::str_value, "str_value", "the same as text; wins over value")
      .Attr(&FillLikeAttrs::force_cpu, "force_cpu", "keep Out in host memory")
      .Shape(InferShape)
      .KernelDType(
          [](const Call& call) { return static_cast<const FillLikeAttrs*>(call.attrs)->dtype; })
      .MixedDTypes()
      .NoGrad();
}

template <class T>
struct FillLikeKernel {
  static void Compute(KernelContext& ctx) {
    const FillLikeAttrs& a = ctx.attrs<FillLikeAttrs>();
    Tensor& out = ctx.Out(kOut);
    kernels::Fill(out.mutable_data<T>(), out.numel(), FillValue<T>(a.value, a.str_value));
  }
};

REGISTER_OPERATOR(fill_constant_batch_size_like, DefineFillLike);
REGISTER_KERNELS(fill_constant_batch_size_like, FillLikeKernel, AllTypes);

}  // namespace
}  // namespace dygraph
