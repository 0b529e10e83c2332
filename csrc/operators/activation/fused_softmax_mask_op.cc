#include "kernels/broadcast.h"
#include "kernels/convert.h"
#include "kernels/softmax.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kMask = 1, kOut = 0;

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &mask = ctx.dims(kMask);
  ENFORCE(x.rank() > 0 && mask.rank() == x.rank(), InvalidArgument,
          "X must have axes and Mask as many, got shapes ", x, " and ", mask);
  for (int i = 0; i < x.rank(); ++i) {
    ENFORCE(!BothKnown(x[i], mask[i]) || mask[i] == x[i] || mask[i] == 1, InvalidArgument,
            "Mask must have the sizes of X or 1, got X ", x, " and Mask ", mask);
  }
  ctx.SetOutput(kOut, x);
}

void DefineFusedSoftmaxMask(OpDef& op) {
  op.Comment(
        "Out = softmax(X + Mask) along the last axis: attention whose mask is 0 where one may look "
        "and a large negative number elsewhere.")
      .Example(
          ">>> x, mask = to_variable([[1.0, 1.0, 1.0]]), to_variable([[0.0, 0.0, -1e9]])\n"
          ">>> F.fused_softmax_mask(x, mask).tolist()\n"
          "[[0.5, 0.5, 0.0]]")
      .Input(kX, "X", "[batch, heads, queries, keys], or any shape")
      .Input(kMask, "Mask", "[batch, 1, queries, keys]: the sizes of X or 1")
      .Output(kOut, "Out", "shape of X")
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        RecipeRef sum = g.Wants(kX) ? g.InputGrad(kX) : g.Temp();  // of X + Mask
        g.Call("softmax_grad", {g.Output(kOut), g.OutputGrad(kOut)}, {sum}).Attr("axis", -1);
        g.Call("elementwise_add_grad", {g.InputShape(kX), g.InputShape(kMask), sum},
               {{}, g.InputGrad(kMask)});
      });
}

template <class T>
struct FusedSoftmaxMaskKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &mask = ctx.In(kMask);
    T* out = ctx.Out(kOut).template mutable_data<T>();
    Dims strides = Strides(mask.dims());
    for (int i = 0; i < mask.rank(); ++i) strides[i] = mask.dim(i) == 1 ? 0 : strides[i];
    kernels::Broadcast(x.dims(), x.data<T>(), Strides(x.dims()), mask.data<T>(), strides, out,
                       [] DYGRAPH_FN(kernels::Wide<T> a, kernels::Wide<T> b) { return a + b; });
    int64_t n = x.dim(x.rank() - 1);
    if (x.numel() > 0) kernels::Softmax(out, {x.numel() / n, n, 1}, out);
  }
};

REGISTER_OPERATOR(fused_softmax_mask, DefineFusedSoftmaxMask);
REGISTER_KERNELS(fused_softmax_mask, FusedSoftmaxMaskKernel, float, double);
REGISTER_DEVICE_TYPES(fused_softmax_mask, FusedSoftmaxMaskKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph
