#include "operators/create/written_list.h"

namespace dygraph {
namespace {

constexpr int kOut = 0;

struct FillAttrs {
  std::vector<float> value;
  std::vector<int32_t> shape;
  DType dtype = DType::kFloat32;
  bool force_cpu = false;
};

void InferShape(InferContext& ctx) {
  const FillAttrs& a = ctx.attrs<FillAttrs>();
  Dims out(a.shape.begin(), a.shape.end());
  ENFORCE(!out.HasUnknown(), InvalidArgument, "the sizes in shape must be at least 0, got ", out);
  ENFORCE(Numel(out) == static_cast<int64_t>(a.value.size()), InvalidArgument,
          "value must have an element for each of Out ", out, ", got ", a.value.size());
  ctx.SetOutput(kOut, out, a.dtype);
}

void DefineFill(OpDef& op) {
  op.Comment("Out = a tensor of the given shape with the given elements.")
      .Example(
          ">>> F.fill(value=[1, 2, 3, 4], shape=[2, 2]).tolist()\n"
          "[[1.0, 2.0], [3.0, 4.0]]")
      .Output(kOut, "Out", "the shape asked for")
      .Attr(&FillAttrs::value, "value", "the elements, last axis first")
      .Attr(&FillAttrs::shape, "shape", "the sizes")
      .Attr(&FillAttrs::dtype, "dtype", "element type of Out")
      .Attr(&FillAttrs::force_cpu, "force_cpu", "keep Out in host memory")
      .Shape(InferShape)
      .KernelDType(
          [](const Call& call) { return static_cast<const FillAttrs*>(call.attrs)->dtype; })
      .NoGrad();
}

template <class T>
struct FillKernel {
  static void Compute(KernelContext& ctx) {
    WriteList<T>(ctx, ctx.attrs<FillAttrs>().value, &ctx.Out(kOut));
  }
};

REGISTER_OPERATOR(fill, DefineFill);
REGISTER_KERNELS(fill, FillKernel, AllTypes);

}  // namespace
}  // namespace dygraph
